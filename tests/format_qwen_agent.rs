//! Qwen-Agent messages: a row of lone messages is one turn.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::format::{data, error, every_way, files, rules, violations};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats;
use spare::trajectory::{Part, PictureSource};

const FORMAT: &str = "qwen-agent";
const SIGMA: &str = "Question: which jar is it? Evidence: label KX-407. Open: nothing.";

#[test]
fn every_shape_is_pruned_and_restored() {
    for (name, text) in files(FORMAT) {
        for sigma in [None, Some(SIGMA)] {
            let ways = every_way(FORMAT, &text, sigma);
            assert_ne!(ways[1].after, text, "{name}");
            assert_ne!(ways[0].after, text, "{name}");
        }
    }
}

fn file(name: &str) -> String {
    data(&format!("{FORMAT}/{name}"))
}

#[test]
fn a_row_is_one_turn_and_results_find_their_calls() {
    let (run, _) = read(&file("rows.json"));
    let roles: Vec<&str> = run.messages.iter().map(|m| m.role.name()).collect();
    assert_eq!(
        roles.join(" "),
        "system user assistant tool assistant tool tool assistant tool assistant"
    );
    let turn = &run.messages[4];
    assert_eq!(
        (turn.reasoning.len(), turn.text().as_str(), turn.calls.len()),
        (1, "I take both shelves.", 2)
    );
    let answers: Vec<_> = run
        .messages
        .iter()
        .filter_map(|m| m.answers.as_deref())
        .collect();
    assert_eq!(answers, ["1", "2", "3", "4"]);
    assert!(
        matches!(&run.messages[1].parts[0], Part::Picture(p) if p.source == PictureSource::Path("img/shelf.png".into()))
    );
    assert!(
        matches!(&run.messages[1].parts[1], Part::Picture(p) if matches!(&p.source, PictureSource::Unopened(_)))
    );
    assert!(
        run.messages[7].calls[0]
            .string_argument("summary")
            .is_some()
    );
    // One number for all calls, as Qwen-Agent gives by default.
    let (run, _) = read(&file("visible.json"));
    assert_eq!(
        run.messages
            .iter()
            .filter(|m| m.answers.as_deref() == Some("1"))
            .count(),
        3
    );
    assert_eq!(run.tools[0]["function"]["name"], "ocr");
}

#[test]
fn no_message_is_dropped_or_left_empty() {
    for (_, text) in files(FORMAT) {
        for pruned in every_way(FORMAT, &text, Some(SIGMA)) {
            let list = |text: &str| {
                let value: Value = serde_json::from_str(text).unwrap();
                value
                    .get("messages")
                    .unwrap_or(&value)
                    .as_array()
                    .unwrap()
                    .clone()
            };
            let after = list(&pruned.after);
            assert_eq!(after.len(), list(&text).len());
            for message in after {
                let empty =
                    |v: Option<&Value>| v.is_none_or(|v| v == "" || *v == json!([{"text": ""}]));
                assert!(
                    !empty(message.get("content"))
                        || !empty(message.get("reasoning_content"))
                        || message.get("function_call").is_some(),
                    "{message}"
                );
            }
        }
    }
}

#[test]
fn each_rule_is_told_with_message_and_path() {
    let sound = || {
        json!([{"role": "system", "content": "s"}, {"role": "user", "content": [{"text": "q"}]}, {"role": "assistant", "content": "", "reasoning_content": "r"},
            {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}, "extra": {"function_id": "1"}},
            {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}, "extra": {"function_id": "2"}},
            {"role": "function", "name": "f", "content": "r", "extra": {"function_id": "1"}},
            {"role": "function", "name": "f", "content": "r", "extra": {"function_id": "2"}},
            {"role": "assistant", "content": "a"}])
    };
    for (_, text) in files(FORMAT)
        .into_iter()
        .chain([(String::new(), sound().to_string())])
    {
        assert_eq!(rules(&text), [""; 0]);
    }
    type Break = fn(&mut Vec<Value>);
    let cases: [(&str, usize, &str, Break); 7] = [
        ("system_first", 5, "/7/role", |m| {
            m[7]["role"] = "system".into()
        }),
        ("user_first", 0, "/0/role", |m| drop(m.drain(..2))),
        ("result_without_call", 5, "/7", |m| {
            m.insert(7, m[6].clone())
        }),
        ("result_order", 3, "/5/extra/function_id", |m| m.swap(5, 6)),
        ("result_order", 3, "/5/name", |m| m[5]["name"] = "g".into()),
        ("call_without_result", 2, "/4/function_call", |m| {
            drop(m.remove(6))
        }),
        ("empty_message", 5, "/7/content", |m| {
            m[7]["content"] = " ".into()
        }),
    ];
    for (rule, message, path, change) in cases {
        let mut history = sound();
        change(history.as_array_mut().unwrap());
        let found = violations(&history.to_string());
        let one = found.iter().find(|v| v.rule == rule && v.path == path);
        let one = one.unwrap_or_else(|| panic!("{rule} at {path} is not in {found:?}"));
        assert_eq!(
            (one.provider, one.message),
            (FORMAT, Some(message)),
            "{rule}"
        );
    }
}

#[test]
fn a_chat_of_another_format_is_not_taken() {
    for other in [
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a", "reasoning_content": "r"}]),
        json!([{"role": "user", "content": [{"type": "text", "text": "q"}]}, {"role": "assistant", "content": "a"}]),
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": ""}}]),
    ] {
        assert_eq!(
            formats::format_of(&other, None).unwrap().name(),
            "openai-chat",
            "{other}"
        );
    }
}

#[test]
fn errors_name_the_place() {
    let says = |message: Value, words: &[&str]| {
        let error = error(FORMAT, &json!([message]));
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    says(
        json!({"role": "function", "name": "f", "content": "r"}),
        &["/0", "no id"],
    );
    says(
        json!({"role": "tool", "content": "r"}),
        &["/0/role", "tool", "function"],
    );
    says(json!({"role": "user", "content": 5}), &["/0/content", "5"]);
    says(
        json!({"role": "user", "content": [{"text": 5}]}),
        &["/0/content/0/text", "5", "string"],
    );
    says(
        json!({"role": "assistant", "content": "", "function_call": {}}),
        &["/0/function_call", "name"],
    );
    says(
        json!({"role": "assistant", "content": "", "reasoning_content": 1}),
        &["/0/reasoning_content", "1"],
    );
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn generated_runs_hold_every_invariant(
        turns in prop::collection::vec((any::<bool>(), any::<bool>(), text(), "[a-z ]{60,90}"), 1..5),
        mut seed in any::<u64>(),
    ) {
        let mut messages = vec![json!({"role": "user", "content": [{"image": "a.png"}, {"text": "q"}]})];
        for (lone, said, odd, long) in &turns {
            let thought = format!("{long} {odd}");
            let mut call = json!({"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{"}, "extra": {"function_id": "1", "n": 1.50}});
            if *lone {
                messages.push(json!({"role": "assistant", "content": "", "reasoning_content": thought}));
            } else {
                call["reasoning_content"] = thought.clone().into();
            }
            if *said && *lone {
                messages.push(json!({"role": "assistant", "content": "So."}));
            }
            messages.push(call);
            messages.push(json!({"role": "function", "name": "f", "content": [{"text": thought}], "extra": {"function_id": "1"}}));
        }
        messages.push(json!({"role": "assistant", "content": "Done."}));
        let source = spell(&Value::Array(messages.clone()), &mut seed);
        for pruned in every_way(FORMAT, &source, Some("All is noted.")) {
            prop_assert_eq!(pruned.segments.len(), turns.len());
            let after: Vec<Value> = serde_json::from_str(&pruned.after).unwrap();
            prop_assert_eq!(after.len(), messages.len());
            for (mut before, mut after) in messages.iter().cloned().zip(after) {
                for message in [&mut before, &mut after] {
                    message.as_object_mut().unwrap().insert("reasoning_content".into(), Value::Null);
                }
                prop_assert_eq!(before, after);
            }
        }
    }
}
