//! LangChain messages: three ways to dump them, three places of a call, copies of a reasoning.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::format::{data, error, every_way, files, rules, violations};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::trajectory::{Frozen, Part, VisibleText, segments};

const FORMAT: &str = "langchain";
const SIGMA: &str = "Question: which jar is it? Evidence: label KX-407. Open: nothing.";

fn file(name: &str) -> String {
    data(&format!("{FORMAT}/{name}"))
}

#[test]
fn every_shape_is_pruned_and_restored() {
    for (name, text) in files(FORMAT) {
        assert_eq!(rules(&text), [""; 0], "{name}");
        for sigma in [None, Some(SIGMA)] {
            for pruned in every_way(FORMAT, &text, sigma) {
                // Where all but one short thought is signed, a mark would cost more than it saves.
                assert!(pruned.after != text || name == "signed.json", "{name}");
            }
        }
    }
}

#[test]
fn all_dumps_of_a_run_are_read_alike() {
    let [plain, wrapped, dumped] =
        ["plain.json", "wrapped.json", "constructor.json"].map(|name| read(&file(name)).0);
    for other in [&wrapped, &dumped] {
        assert_eq!(other.messages.len(), plain.messages.len());
        for (a, b) in plain.messages.iter().zip(&other.messages) {
            assert_eq!(
                (a.role, &a.calls, &a.answers, a.text(), a.reasoning_text()),
                (b.role, &b.calls, &b.answers, b.text(), b.reasoning_text())
            );
        }
    }
    assert_eq!(plain.messages.iter().flat_map(|m| m.pictures()).count(), 2);
    let names: Vec<_> = plain
        .messages
        .iter()
        .flat_map(|m| &m.calls)
        .map(|c| c.name.as_str())
        .collect();
    // A call in three places is one; a call in `additional_kwargs` alone counts too.
    assert_eq!(names, ["zoom", "zoom", "summarize_the_task"]);
    assert_eq!(plain.messages[3].reasoning[0].places.len(), 2);
}

#[test]
fn signed_blocks_are_frozen() {
    let run = file("signed.json");
    let pruned = every_way(FORMAT, &run, None).remove(0);
    let codes: Vec<_> = pruned
        .segments
        .iter()
        .map(|s| s.frozen.map(|f| f.code()))
        .collect();
    let signed = Some("signed_reasoning");
    assert_eq!(codes, [signed, signed, signed, None, signed]);
    let (run, _) = read(&run);
    assert_eq!(run.messages[2].pictures().count(), 1);
    assert!(
        run.messages[1]
            .parts
            .iter()
            .all(|p| !matches!(p, Part::Other(_)))
    );
}

#[test]
fn copies_that_differ_are_frozen() {
    let run = |kwargs: Value| {
        let text = json!([{"type": "human", "content": "q"}, {"type": "ai", "content": "a", "additional_kwargs": kwargs}]).to_string();
        segments(&read(&text).0, VisibleText::Auto)
            .into_iter()
            .map(|s| s.frozen)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        run(json!({"reasoning": "x", "reasoning_content": "y"})),
        [Some(Frozen::CopiesDisagree); 2]
    );
    assert_eq!(
        run(json!({"reasoning": "x", "reasoning_content": "x"})),
        [None]
    );
    assert_eq!(
        run(json!({"reasoning": "x", "reasoning_details": [{"type": "reasoning.text"}]})),
        [Some(Frozen::ReasoningDetails)]
    );
    assert_eq!(
        run(json!({"reasoning": {"id": "rs", "summary": [{"text": "x"}]}})),
        [None]
    );
    let bound = run(
        json!({"reasoning": {"id": "rs", "summary": [{"text": "x"}], "encrypted_content": "e"}}),
    );
    assert_eq!(bound[0].unwrap().code(), "signed_reasoning");
}

#[test]
fn each_rule_is_told_with_message_and_path() {
    let sound = || {
        json!({"messages": [{"type": "human", "content": "q"}, {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "c"}],
        "additional_kwargs": {"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}}, {"type": "tool", "content": "r", "tool_call_id": "c"}, {"type": "ai", "content": "a"}]})
    };
    assert_eq!(rules(&sound().to_string()), [""; 0]);
    type Break = fn(&mut Value);
    let call = "/messages/1";
    let cases: [(&str, usize, String, Break); 7] = [
        (
            "call_copies_disagree",
            1,
            format!("{call}/additional_kwargs"),
            |m| m[1]["additional_kwargs"]["tool_calls"][0]["id"] = "d".into(),
        ),
        ("call_without_result", 1, call.into(), |m| {
            drop(m.as_array_mut().unwrap().remove(2))
        }),
        ("result_without_call", 2, "/messages/2".into(), |m| {
            m[2]["tool_call_id"] = "d".into()
        }),
        ("result_without_call", 3, "/messages/3".into(), |m| {
            let again = m[2].clone();
            m.as_array_mut().unwrap().insert(3, again)
        }),
        ("duplicate_call_id", 1, call.into(), |m| {
            let again = m[1]["tool_calls"][0].clone();
            m[1]["tool_calls"].as_array_mut().unwrap().push(again)
        }),
        ("empty_message", 3, "/messages/3/content".into(), |m| {
            m[3]["content"] = "".into()
        }),
        ("empty_text_block", 3, "/messages/3/content/0".into(), |m| {
            m[3]["content"] = json!([{"type": "text", "text": ""}, "a"])
        }),
    ];
    for (rule, message, path, change) in cases {
        let mut run = sound();
        change(&mut run["messages"]);
        let found = violations(&run.to_string());
        let one = found.iter().find(|v| v.rule == rule && v.path == path);
        let one = one.unwrap_or_else(|| panic!("{rule} at {path} is not in {found:?}"));
        assert_eq!((one.provider, one.message), (FORMAT, Some(message)));
    }
    // A call that LangChain could not parse stands apart; the raw copies hold both.
    let mut run = sound();
    run["messages"][1]["invalid_tool_calls"] =
        json!([{"name": "g", "args": "{", "id": "bad", "error": null}]);
    run["messages"][1]["additional_kwargs"]["tool_calls"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "bad", "function": {"name": "g", "arguments": "{"}}));
    assert_eq!(rules(&run.to_string()), ["call_without_result"]);
}

#[test]
fn errors_name_the_place() {
    let orphan = json!([{"type": "tool", "content": "r", "tool_call_id": "c9"}]);
    assert!(error(FORMAT, &orphan).contains("/0: found a result for call `c9`"));
    let odd = json!({"messages": [{"type": "ai", "content": 5}]});
    assert!(
        error(FORMAT, &odd).contains("/messages/0/content: found the number 5, expected a string")
    );
    assert!(error(FORMAT, &json!([7])).contains("/0: found the number 7"));
    assert!(error(FORMAT, &json!({})).contains("expected a LangChain run"));
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn generated_runs_hold_every_invariant(
        dump in 0usize..3,
        turns in prop::collection::vec((0usize..4, text(), "[a-z ]{60,90}"), 1..5),
        mut seed in any::<u64>(),
    ) {
        let mut messages = vec![json!({"type": "human", "content": "q"})];
        for (number, (place, odd, long)) in turns.iter().enumerate() {
            let thought = format!("{long} {odd}");
            let id = format!("c{number}");
            let mut ai = json!({"type": "ai", "content": [], "additional_kwargs": {"z": 1.50}, "tool_calls": [{"name": "f", "args": {"a": 1}, "id": id}]});
            match place {
                0 => ai["additional_kwargs"]["reasoning_content"] = thought.clone().into(),
                1 => ai["content"] = json!([{"type": "reasoning", "reasoning": thought}, {"type": "tool_use", "id": id, "name": "f", "input": {"a": 1}}]),
                2 => {
                    ai["content"] = json!([{"type": "thinking", "thinking": thought}, "So."]);
                    ai["additional_kwargs"]["reasoning"] = thought.clone().into();
                }
                _ => ai["content"] = json!([{"type": "thinking", "thinking": thought, "signature": "s"}, "So."]),
            }
            messages.push(ai);
            messages.push(json!({"type": "tool", "content": [thought], "tool_call_id": id}));
        }
        messages.push(json!({"type": "ai", "content": "Done."}));
        let dumped: Vec<Value> = messages.iter().map(|m| match dump {
            0 => m.clone(),
            1 => json!({"type": m["type"], "data": m}),
            _ => json!({"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "X"], "kwargs": m}),
        }).collect();
        let source = spell(&json!({"messages": dumped}), &mut seed);
        for pruned in every_way(FORMAT, &source, Some("All is noted.")) {
            prop_assert_eq!(pruned.segments.len(), turns.len());
            let after: Value = serde_json::from_str(&pruned.after).unwrap();
            let after = after["messages"].as_array().unwrap();
            prop_assert_eq!(after.len(), dumped.len());
            for (index, (place, ..)) in turns.iter().enumerate() {
                let at = |list: &[Value], key: &str| list[2 * index + 1].pointer(&format!("{}/{key}", ["", "/data", "/kwargs"][dump])).cloned();
                for key in ["tool_calls", "additional_kwargs/z", "content/1"] {
                    prop_assert_eq!(at(&dumped, key), at(after, key));
                }
                if *place == 3 {
                    prop_assert_eq!(&dumped[2 * index + 1], &after[2 * index + 1]);
                }
                if *place == 2 {
                    prop_assert_eq!(at(after, "content/0/thinking"), at(after, "additional_kwargs/reasoning"));
                }
                prop_assert_eq!(&dumped[2 * index + 2], &after[2 * index + 2]);
            }
        }
    }
}
