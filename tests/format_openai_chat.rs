//! What people put into chat messages besides the standard: reasoning in details, pictures in every guise, legacy function calls.
#![allow(clippy::unwrap_used)]

mod common;

use common::check::check;
use common::format::every_way;
use common::prune::{Pruned, read};
use common::{LONG, spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::openai_chat;
use spare::trajectory::{Frozen, Part, PictureSource, VisibleText, segments};

const DEEPSEEK: &str = include_str!("data/formats/openai_chat/deepseek.json");
const OPENROUTER: &str = include_str!("data/formats/openai_chat/openrouter.json");
const SIGNED: &str = include_str!("data/formats/openai_chat/signed.json");
const LEGACY: &str = include_str!("data/formats/openai_chat/legacy.json");

fn each_way(source: &str, sigma: Option<&str>, then: impl Fn(&Value, &Pruned)) {
    for pruned in every_way("openai-chat", source, sigma) {
        then(&serde_json::from_str(&pruned.after).unwrap(), &pruned);
    }
}

#[test]
fn the_reasoning_key_of_a_tool_call_stays_a_string() {
    for sigma in [None, Some("14 crates.")] {
        each_way(DEEPSEEK, sigma, |now, pruned| {
            assert!(pruned.plans()[0].changes());
            assert!(now["messages"][1]["reasoning_content"].is_string());
            assert!(now["messages"][3]["reasoning_content"].is_string());
            assert_eq!(now["messages"][3]["content"], Value::Null);
            assert_eq!(now["messages"][5]["reasoning_content"], "");
        });
    }
}

#[test]
fn plain_details_change_with_their_copy() {
    let (run, _) = read(OPENROUTER);
    let found = segments(&run, VisibleText::Auto);
    assert_eq!(
        found
            .iter()
            .map(|s| (s.places.len(), s.frozen))
            .collect::<Vec<_>>(),
        [(2, None), (4, None)]
    );
    each_way(OPENROUTER, Some("14 crates."), |now, _| {
        for message in [1, 3] {
            let message = &now["messages"][message];
            let details = message["reasoning_details"].as_array().unwrap();
            let texts: String = details
                .iter()
                .map(|d| d["text"].as_str().unwrap())
                .collect();
            assert_eq!(message["reasoning"], texts.as_str());
            assert_eq!(details[0]["index"], 0);
        }
    });
    // Without a copy beside them.
    let mut value: Value = serde_json::from_str(OPENROUTER).unwrap();
    value["messages"][3]
        .as_object_mut()
        .unwrap()
        .remove("reasoning");
    each_way(&value.to_string(), Some("14 crates."), |_, pruned| {
        assert_eq!(pruned.segments.len(), 2)
    });
}

#[test]
fn signed_encrypted_and_unequal_details_are_frozen() {
    let (run, _) = read(SIGNED);
    let found = segments(&run, VisibleText::Auto);
    assert_eq!(
        found
            .iter()
            .map(|s| s.frozen.map(Frozen::code))
            .collect::<Vec<_>>(),
        [Some("reasoning_details"); 2]
    );
    assert_eq!(check(SIGNED, Some("14 crates."), &|_| false).after, SIGNED);
    let with = |details: Value| {
        json!([{"role": "assistant", "content": "a", "reasoning": "x", "reasoning_details": details}]).to_string()
    };
    for (details, code) in [
        (
            json!([{"type": "reasoning.text", "text": "y"}]),
            Some("copies_disagree"),
        ),
        (
            json!([{"type": "reasoning.summary", "summary": "x"}]),
            Some("reasoning_details"),
        ),
        (
            json!([{"type": "reasoning.server_tool_call", "text": "x"}]),
            Some("reasoning_details"),
        ),
        (json!(["x"]), Some("reasoning_details")),
        (
            json!([{"type": "reasoning.text", "text": "x", "signature": ""}]),
            None,
        ),
        (json!([]), None),
        (Value::Null, None),
    ] {
        let (run, _) = read(&with(details.clone()));
        let found = segments(&run, VisibleText::Auto);
        assert_eq!(found[0].frozen.map(Frozen::code), code, "{details}");
    }
}

#[test]
fn pictures_in_every_guise() {
    let (run, _) = read(LEGACY);
    let sources: Vec<&PictureSource> = run.messages[0].pictures().map(|p| &p.source).collect();
    let is_png = |source: &PictureSource| matches!(source, PictureSource::DataUri(uri) if uri.starts_with("data:image/png;base64,iVBOR"));
    assert!(is_png(sources[0]) && is_png(sources[1]));
    assert_eq!(sources[2], &PictureSource::Path("a/b.png".into()));
    let pointers: Vec<&str> = run.messages[0]
        .pictures()
        .map(|p| p.pointer.as_str())
        .collect();
    assert_eq!(
        pointers,
        [
            "/0/content/1/image_url",
            "/0/content/2/source/data",
            "/0/content/3/image"
        ]
    );
    // A bare placeholder and a file are carried.
    assert_eq!(
        run.messages[0]
            .parts
            .iter()
            .filter(|p| matches!(p, Part::Other(_)))
            .count(),
        2
    );
}

#[test]
fn legacy_function_calls_pair_by_name() {
    each_way(LEGACY, None, |now, pruned| {
        assert_eq!(pruned.plans().len(), 1);
        assert!(pruned.plans()[0].changes());
        assert_eq!(now[2]["content"], "EXIT");
        assert_eq!(now[1]["name"], "reader");
    });
    let mut value: Value = serde_json::from_str(LEGACY).unwrap();
    value[2]["name"] = "zoom".into();
    let error = openai_chat::read(&value.to_string())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/2: found a result for call `zoom`"),
        "{error}"
    );
}

/// What the generated runs reason.
fn reasoning() -> impl Strategy<Value = String> {
    text().prop_map(|t| t.replace("think>", "thing>"))
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn details_in_pieces(
        texts in prop::collection::vec(prop::collection::vec(reasoning(), 1..4), 1..4),
        field in any::<bool>(),
        chosen in prop_oneof![Just(0u8), any::<u8>()],
        mut seed in any::<u64>(),
    ) {
        let mut messages = vec![json!({"role": "user", "content": texts.concat().concat()})];
        for (n, pieces) in texts.into_iter().enumerate() {
            let mut pieces = pieces;
            pieces.push(LONG.to_owned());
            let details: Vec<Value> = pieces.iter().map(|p| json!({"type": "reasoning.text", "text": p, "index": n})).collect();
            let call = json!([{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
            let mut message = json!({"role": "assistant", "content": "", "tool_calls": call, "reasoning_details": details});
            if field {
                message["reasoning"] = pieces.concat().into();
            }
            messages.extend([message, json!({"role": "tool", "tool_call_id": "c", "content": pieces[0]})]);
        }
        messages.push(json!({"role": "assistant", "content": "Done."}));
        let source = spell(&json!({"messages": messages}), &mut seed);
        let pruned = check(&source, Some("All is done."), &|s| chosen >> (s.index % 8) & 1 == 1);
        if chosen == 0 {
            prop_assert!(pruned.plans()[0].changes());
        }
        let now: Value = serde_json::from_str(&pruned.after).unwrap();
        for message in now["messages"].as_array().unwrap().iter().filter(|m| field && m.get("reasoning").is_some()) {
            let details = message["reasoning_details"].as_array().unwrap();
            let text: String = details.iter().map(|d| d["text"].as_str().unwrap()).collect();
            prop_assert_eq!(message["reasoning"].as_str().unwrap(), text);
        }
    }
}
