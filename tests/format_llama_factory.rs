//! LLaMA-Factory v1 rows: typed parts, and fifty real conversations.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::path::Path;

use common::format::{error, every_way, files, rules};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::trajectory::{SegmentKind, VisibleText, segments};

const FORMAT: &str = "llama-factory";
const SIGMA: &str = "Question: which jar is it? Evidence: label KX-407. Open: nothing.";

#[test]
fn every_shape_is_pruned_and_restored() {
    for (name, text) in files(FORMAT) {
        for sigma in [None, Some(SIGMA)] {
            assert_eq!(rules(&text), [""; 0]);
            let ways = every_way(FORMAT, &text, sigma);
            assert!(ways.iter().all(|p| p.after != text), "{name}");
            let after: Value = serde_json::from_str(&ways[0].after).unwrap();
            let parts = after["messages"][4]["content"].as_array().unwrap();
            // A part with more fields than its type and value stays.
            assert_eq!((parts.len(), &parts[0]["note"]), (4, &json!(1)));
        }
    }
}

#[test]
fn parts_become_reasoning_calls_and_pictures() {
    let (run, _) = read(&files(FORMAT)[0].1);
    let names: Vec<_> = run
        .messages
        .iter()
        .flat_map(|m| &m.calls)
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names, ["zoom", "ocr", "ocr", "summarize_the_task"]);
    assert_eq!(run.messages.iter().flat_map(|m| m.pictures()).count(), 2);
    assert_eq!(run.messages.iter().flat_map(|m| &m.reasoning).count(), 4);
}

#[test]
fn an_empty_answer_is_told() {
    let row = json!({"messages": [{"role": "user", "content": [{"type": "text", "value": "q"}]}, {"role": "assistant", "content": [{"type": "reasoning", "value": "r"}]}]});
    assert_eq!(rules(&row.to_string()), ["empty_message"]);
    let codes: Vec<_> = segments(&read(&row.to_string()).0, VisibleText::Auto)
        .iter()
        .map(|s| s.frozen.unwrap().code())
        .collect();
    assert_eq!(codes, ["message_would_be_empty"]);
}

#[test]
fn a_closing_tag_in_an_answer_beside_reasoning_is_a_word() {
    let row = |parts: Value| {
        let row = json!({"messages": [{"role": "assistant", "content": parts}]}).to_string();
        let all = segments(&read(&row).0, VisibleText::Auto);
        all.into_iter()
            .map(|s| (s.kind, s.text))
            .collect::<Vec<_>>()
    };
    let text = json!({"type": "text", "value": "I cannot.</think> Sorry."});
    let reasoning = json!({"type": "reasoning", "value": "hm"});
    assert_eq!(
        row(json!([reasoning, text])),
        [(SegmentKind::Field, "hm".into())]
    );
    assert_eq!(
        row(json!([text])),
        [(SegmentKind::Think, "I cannot.".into())]
    );
}

#[test]
fn errors_name_the_place() {
    let says = |part: Value, words: &[&str]| {
        let error = error(
            FORMAT,
            &json!({"messages": [{"role": "assistant", "content": [part]}]}),
        );
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    says(
        json!({"type": "tool_call", "value": "zoom"}),
        &["/messages/0/content/0/value", "zoom", "name"],
    );
    says(
        json!({"type": "text", "value": 5}),
        &["/messages/0/content/0/value", "5", "string"],
    );
    says(json!({"value": "x"}), &["/messages/0/content/0", "type"]);
    assert!(
        error(FORMAT, &json!({"messages": [{"role": "x", "content": []}]}))
            .contains("/messages/0/role")
    );
    assert!(
        error(
            FORMAT,
            &json!({"messages": [{"role": "user", "content": "x"}]})
        )
        .contains("/messages/0/content")
    );
}

#[test]
fn fifty_real_conversations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../shared/trajectories/llama-factory/reason_tool_use_demo_50.jsonl");
    let Ok(lines) = std::fs::read_to_string(&path) else {
        println!("skipped: {} is absent", path.display());
        return;
    };
    let (mut reasoning, mut calls, mut pruned) = (0, 0, 0);
    for line in lines.lines() {
        let (run, _) = read(line);
        let all = segments(&run, VisibleText::Auto);
        let other = all.iter().find(|s| s.kind != SegmentKind::Field);
        assert!(other.is_none(), "{other:?}");
        reasoning += all.len();
        calls += run.messages.iter().map(|m| m.calls.len()).sum::<usize>();
        for (index, way) in every_way(FORMAT, line, Some("Noted: nothing."))
            .iter()
            .enumerate()
        {
            pruned += usize::from(way.after != line);
            if index == 1 && way.after != line {
                let after: Value = serde_json::from_str(&way.after).unwrap();
                println!("{:.900}\n", after["messages"].to_string());
            }
        }
    }
    assert_eq!((reasoning, calls), (112, 68));
    println!("{reasoning} reasoning parts, {calls} calls, {pruned} of 150 prunings changed a row");
    assert!(pruned > 50);
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn generated_rows_hold_every_invariant(
        turns in prop::collection::vec((any::<bool>(), any::<bool>(), text(), "[a-z ]{60,90}"), 1..5),
        mut seed in any::<u64>(),
    ) {
        let mut messages = vec![json!({"role": "user", "content": [{"type": "image_url", "value": "a.png"}]})];
        for (said, noted, odd, long) in &turns {
            let mut parts = vec![json!({"type": "reasoning", "value": format!("{long} {odd}")})];
            if *noted {
                parts[0]["note"] = json!(1.50);
            }
            if *said {
                parts.push(json!({"type": "text", "value": "So."}));
            }
            parts.push(json!({"type": "tool_call", "value": "{\"name\": \"f\"}"}));
            messages.push(json!({"role": "assistant", "content": parts, "loss_weight": 1.0}));
            messages.push(json!({"role": "tool", "content": [{"type": "text", "value": odd}]}));
        }
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "value": "Done."}]}));
        let source = spell(&json!({"messages": messages}), &mut seed);
        for pruned in every_way(FORMAT, &source, Some("All is noted.")) {
            prop_assert_eq!(pruned.segments.len(), turns.len());
            let after: Value = serde_json::from_str(&pruned.after).unwrap();
            let rest = |m: &Value| {
                let parts = m["content"].as_array().unwrap().iter();
                parts.filter(|p| p["type"] != "reasoning").cloned().collect::<Vec<_>>()
            };
            for (before, after) in messages.iter().zip(after["messages"].as_array().unwrap()) {
                prop_assert_eq!(rest(before), rest(after));
            }
        }
    }
}
