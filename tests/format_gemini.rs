//! Gemini contents: reading both spellings, thoughts out, signatures on their own parts, and what the provider refuses.
#![allow(clippy::unwrap_used)]

mod common;

use common::check::check;
use common::format::{data, every_way, frozen, places, violations};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::FORMATS;
use spare::trajectory::{Part, PictureSource, Role, SegmentKind, VisibleText, segments};

const SIGMA: &str = "Read so far: UN 1203.";

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Every part that is no thought, in order, content by content.
fn others(run: &Value) -> Vec<Vec<Value>> {
    let contents = run.get("contents").unwrap_or(run).as_array().unwrap();
    let plain = |c: &Value| {
        let parts = c["parts"].as_array().unwrap().iter();
        parts
            .filter(|p| p["thought"] != true || p.get("thoughtSignature").is_some())
            .cloned()
            .collect()
    };
    contents.iter().map(plain).collect()
}

#[test]
fn a_thought_leaves_and_signatures_stay_on_their_parts() {
    for name in ["open_turn", "snake_closed"] {
        let text = data(&format!("gemini/{name}.json"));
        assert_eq!(violations(&text), []);
        let sigma = (name == "open_turn").then_some(SIGMA);
        for pruned in every_way("gemini", &text, sigma) {
            assert_eq!(others(&parsed(&pruned.after)), others(&parsed(&text)));
            assert_ne!(pruned.after, text, "{name}");
        }
    }
    let text = data("gemini/snake_closed.json");
    let deleted = parsed(&check(&text, None, &|_| false).after);
    let parts = deleted["contents"][1]["parts"].as_array().unwrap();
    assert!(
        parts[0]["text"]
            .as_str()
            .unwrap()
            .starts_with("Evidence (1 of 1"),
        "{parts:?}"
    );
    assert_eq!(
        parts[0]["thought"], true,
        "evidence stands where the thought stood, and as what it stood there"
    );
}

#[test]
fn a_deleted_thought_takes_its_part_along() {
    let long = "I go from left to right over the whole shelf and count what I see, once more and then again, to be sure of it.";
    let call = json!({"functionCall": {"name": "f", "args": {}}});
    let step =
        |text: &str| json!({"role": "model", "parts": [{"text": text, "thought": true}, call]});
    let answer =
        json!({"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]});
    let run = json!({"contents": [{"role": "user", "parts": [{"text": "q"}]}, step(long), answer, step(long), answer,
        {"role": "model", "parts": [{"text": "a"}]}]});
    let pruned = check(&run.to_string(), Some("Nothing yet."), &|_| false);
    let after = parsed(&pruned.after);
    assert_eq!(after["contents"][1]["parts"], json!([call]));
    assert_eq!(
        after["contents"][3]["parts"].as_array().unwrap().len(),
        2,
        "the mark"
    );
}

#[test]
fn signed_parts_and_text_beside_them_are_frozen() {
    let text = data("gemini/open_turn.json");
    let (run, _) = read(&text);
    let all = segments(&run, VisibleText::Prune);
    let codes: Vec<_> = all
        .iter()
        .map(|s| (s.kind, s.frozen.map(|f| f.code())))
        .collect();
    assert_eq!(
        codes,
        [
            (SegmentKind::Field, None),
            (SegmentKind::Visible, Some("signed_part"))
        ]
    );
    let signed = json!({"contents": [{"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": true, "thoughtSignature": "s"}, {"text": "I look."}, {"functionCall": {"name": "f"}, "thoughtSignature": "t"}]}]});
    let (run, _) = read(&signed.to_string());
    let codes: Vec<_> = segments(&run, VisibleText::Prune)
        .iter()
        .map(|s| s.frozen.unwrap().code())
        .collect();
    assert_eq!(codes, ["signed_part", "text_beside_signature"]);
    let alone = json!({"contents": [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [{"text": "hm", "thought": true}]}, {"role": "user", "parts": [{"text": "q"}]}]});
    let pruned = check(&alone.to_string(), Some(SIGMA), &|_| false);
    assert_eq!(frozen(&pruned), ["message_would_be_empty"]);
    assert_eq!(places(&alone), [("thought_only", "/contents/1".to_owned())]);
}

#[test]
fn visible_text_is_reasoning_where_there_is_no_other() {
    for pruned in every_way(
        "gemini",
        &data("gemini/bare_visible.json"),
        Some("Nine bolts."),
    ) {
        assert_eq!(pruned.segments[0].kind, SegmentKind::Visible);
        assert!(
            parsed(&pruned.after)[1]["parts"][0]["text"]
                .as_str()
                .unwrap()
                .starts_with("Evidence"),
            "{}",
            pruned.after
        );
    }
}

#[test]
fn nothing_is_dropped_in_reading() {
    let (run, format) = read(&data("gemini/open_turn.json"));
    assert_eq!(format.name(), "gemini");
    let roles: Vec<Role> = run.messages.iter().map(|m| m.role).collect();
    use Role::{Assistant, System, Tool, User};
    assert_eq!(
        roles,
        [System, User, Assistant, Tool, Tool, Assistant, Tool]
    );
    assert_eq!(run.tools[0]["function"]["name"], "ocr");
    assert_eq!(run.tools[1], json!({"googleSearch": {}}));
    assert_eq!(run.messages[2].calls.len(), 2);
    assert_eq!(run.messages[3].text(), "UN 1203");
    assert_eq!(
        run.messages[4].text(),
        r#"{"output":"UN 1090","score":0.5}"#
    );
    assert_eq!(run.messages[4].pictures().count(), 1);
    assert_eq!(run.messages[6].answers.as_deref(), Some("k"));
    let (run, _) = read(&data("gemini/snake_closed.json"));
    assert!(
        matches!(&run.messages[0].parts[0], Part::Picture(p) if matches!(&p.source, PictureSource::DataUri(_)) && p.pointer == "/contents/0/parts/0/inline_data/data")
    );
    assert_eq!(
        run.messages[3].calls[0].string_argument("summary").unwrap(),
        "Lots 7714 (upper) and 7702."
    );
    let odd = json!([{"role": "model", "parts": [{"executableCode": {"code": "1"}}, {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://a"}}, {"file_data": {"mime_type": "image/png", "file_uri": "https://e.org/files/a"}}]}]);
    let (run, format) = read(&odd.to_string());
    assert_eq!(format.name(), "gemini");
    let [code, video, uploaded] = run.messages[0].parts.as_slice() else {
        unreachable!()
    };
    assert!(matches!((code, video), (Part::Other(_), Part::Other(_))));
    // Uploaded files always stand at a URL.
    assert!(
        matches!(uploaded, Part::Picture(p) if p.source == PictureSource::Unopened("https://e.org/files/a".into()))
    );
}

#[test]
fn other_formats_are_not_taken() {
    let telemetry = json!([{"role": "user", "parts": [{"type": "text", "content": "a"}]}, {"role": "assistant", "parts": []}]);
    let gemini = FORMATS.iter().find(|f| f.name() == "gemini").unwrap();
    assert!(!gemini.detect(&telemetry));
    assert!(!gemini.detect(&json!([])));
    assert!(!gemini.detect(&json!({"contents": "x"})));
    for name in ["open_turn", "snake_closed", "bare_visible"] {
        let value = parsed(&data(&format!("gemini/{name}.json")));
        let found: Vec<_> = FORMATS
            .iter()
            .filter(|f| f.detect(&value))
            .map(|f| f.name())
            .collect();
        assert_eq!(found[0], "gemini", "{name}: {found:?}");
    }
}

#[test]
fn bad_runs_say_where_and_what() {
    let gemini = FORMATS.iter().find(|f| f.name() == "gemini").unwrap();
    let part = |part: Value| json!({"contents": [{"role": "user", "parts": [part]}]});
    for (run, words) in [
        (json!(7), vec!["top level", "the number 7", "a Gemini run"]),
        (
            json!({"contents": {}}),
            vec!["/contents", "an object", "an array of contents"],
        ),
        (json!({"contents": []}), vec!["/contents", "empty list"]),
        (
            json!([{"role": "assistant", "parts": []}]),
            vec!["/0/role", "`assistant`", "user or model"],
        ),
        (
            json!([{"role": "user"}]),
            vec!["/0", "without `parts`", "`role`"],
        ),
        (
            json!([{"role": "user", "parts": "x"}]),
            vec!["/0/parts", "the string `x`", "an array of parts"],
        ),
        (
            part(json!("x")),
            vec!["/contents/0/parts/0", "the string `x`", "a part"],
        ),
        (
            part(json!({"text": 1})),
            vec!["/contents/0/parts/0/text", "the number 1", "a string"],
        ),
        (
            part(json!({"inlineData": {"mimeType": "image/png"}})),
            vec!["/contents/0/parts/0/inlineData", "`data`"],
        ),
        (
            part(json!({"functionCall": {"args": {}}})),
            vec!["/contents/0/parts/0/functionCall", "`name`"],
        ),
        (
            part(json!({"functionCall": {"name": "f", "args": 3}})),
            vec!["/functionCall/args", "the number 3"],
        ),
        (
            part(json!({"functionResponse": {"name": "f", "response": {}}})),
            vec!["/contents/0/parts/0", "call `f`"],
        ),
        (
            json!({"contents": [{"parts": [{"text": "a"}]}], "tools": 5}),
            vec!["/tools", "the number 5"],
        ),
    ] {
        let said = gemini.read(&run).unwrap_err().to_string();
        assert!(words.iter().all(|w| said.contains(w)), "{run}: {said}");
    }
}

fn turn(change: impl Fn(&mut Value)) -> Value {
    let call = |id: Value| json!({"functionCall": {"id": id, "name": "f", "args": {}}});
    let mut first = call(Value::Null);
    first["thoughtSignature"] = "s".into();
    let answer = |id: Value| json!({"functionResponse": {"id": id, "name": "f", "response": {}}});
    let mut run = json!({"contents": [
        {"role": "user", "parts": [{"text": "q"}]},
        {"role": "model", "parts": [{"text": "t", "thought": true}, first, call("b".into())]},
        {"role": "user", "parts": [answer("b".into()), answer(Value::Null)]},
        {"role": "model", "parts": [{"text": "end", "thoughtSignature": "e"}]}]});
    change(&mut run["contents"]);
    run
}

#[test]
fn each_rule_names_the_place() {
    let at = |path: &str| format!("/contents/{path}");
    assert_eq!(places(&turn(|_| ())), []);
    assert_eq!(
        places(&turn(|c| drop(
            c[2]["parts"].as_array_mut().unwrap().remove(1)
        ))),
        [("call_without_response", at("1/parts/1"))]
    );
    assert_eq!(
        places(&turn(|c| drop(
            c[2]["parts"].as_array_mut().unwrap().remove(0)
        ))),
        [("call_without_response", at("1/parts/2"))]
    );
    assert_eq!(
        places(&turn(|c| c.as_array_mut().unwrap().truncate(2))),
        [],
        "calls at the end wait"
    );
    let gemini = spare::formats::provider::PROVIDERS
        .iter()
        .find(|p| p.name() == "gemini")
        .unwrap();
    let orphan = gemini.check(&turn(|c| {
        drop(c[1]["parts"].as_array_mut().unwrap().remove(2))
    }));
    assert_eq!(
        (orphan[0].rule, orphan[0].path.as_str(), orphan[0].message),
        ("response_without_call", "/contents/2/parts/1", Some(2))
    );
    assert_eq!(
        places(&turn(|c| c[0]["parts"] = json!([]))),
        [("empty_content", at("0"))]
    );
    assert_eq!(
        places(&turn(
            |c| c[3]["parts"] = json!([{"text": "t", "thought": true}])
        )),
        [("thought_only", at("3"))]
    );
    assert_eq!(
        places(&turn(|c| c[3]["parts"][0]["inline_data"] = json!({}))),
        [("two_data_fields", at("3/parts/0"))]
    );
    assert_eq!(
        places(&turn(|c| c[0]["parts"][0] = json!({}))),
        [("empty_part", at("0/parts/0"))]
    );
    let unsigned = |c: &mut Value| {
        drop(
            c[1]["parts"][1]
                .as_object_mut()
                .unwrap()
                .remove("thoughtSignature"),
        )
    };
    assert_eq!(
        places(&turn(unsigned)),
        [("missing_signature", at("1/parts/1"))]
    );
    let closed = turn(|c| {
        unsigned(c);
        c.as_array_mut()
            .unwrap()
            .push(json!({"role": "user", "parts": [{"text": "next"}]}));
    });
    assert_eq!(places(&closed), [], "only the current turn is checked");
    let mut older = turn(unsigned);
    older["model"] = "gemini-2.5-pro".into();
    assert_eq!(places(&older), [], "that model does not ask for it");
    // Responses in contents of their own, one after the other.
    let apart = turn(|c| {
        let second = c[2]["parts"].as_array_mut().unwrap().remove(1);
        c.as_array_mut()
            .unwrap()
            .insert(3, json!({"role": "user", "parts": [second]}));
    });
    assert_eq!(places(&apart), []);
}

type Step = (String, Option<String>, Option<String>, bool, bool);

fn generated(turns: &[Vec<Step>], snake: bool) -> Value {
    let key = |camel: &str, under: &str| {
        if snake {
            under.to_owned()
        } else {
            camel.to_owned()
        }
    };
    let mut contents = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        contents.push(json!({"role": "user", "parts": [{"text": format!("question {index}")}]}));
        for (thought, more, said, signed, sign_text) in turn {
            let mut parts = vec![json!({"text": thought, "thought": true, "z": [1.50]})];
            parts.extend(more.as_ref().map(|t| json!({"text": t, "thought": true})));
            if let Some(text) = said {
                let mut part = json!({"text": text});
                if *sign_text {
                    part[key("thoughtSignature", "thought_signature")] = "st".into();
                }
                parts.push(part);
            }
            let mut call =
                json!({key("functionCall", "function_call"): {"name": "f", "args": {"n": 1}}});
            if *signed {
                call[key("thoughtSignature", "thought_signature")] = "sc".into();
            }
            parts.push(call);
            contents.push(json!({"role": "model", "parts": parts}));
            contents.push(json!({"role": "user", "parts": [{key("functionResponse", "function_response"): {"name": "f", "response": {"output": thought}}}]}));
        }
    }
    json!({"contents": contents, "z": {"b": 1, "a": 2}})
}

proptest! {
    #![proptest_config(common::runs(200))]

    #[test]
    fn any_run_keeps_its_rules(
        turns in prop::collection::vec(
            prop::collection::vec((text(), prop::option::of(text()), prop::option::of(text()), any::<bool>(), any::<bool>()), 1..4), 1..4),
        snake in any::<bool>(), mask in any::<u32>(), mut seed in any::<u64>(),
    ) {
        let value = generated(&turns, snake);
        let source = spell(&value, &mut seed);
        let pruned = check(&source, Some("State: nothing was found so far."), &|s| mask >> (s.index % 32) & 1 == 1);
        prop_assert_eq!(violations(&pruned.after).len(), violations(&source).len());
        prop_assert_eq!(others(&parsed(&pruned.after)), others(&value));
    }
}
