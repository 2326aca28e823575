//! Planning stays near linear in the length of a run. The bound is ten times what it takes and half of what it took without an index.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Instant;

use common::prune::{Said, Settings, prune, tokens};
use serde_json::json;
use spare::plan::PlanOptions;

/// A run of `turns` whose reasoning and results are full of values.
fn dense(turns: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "q"})];
    for turn in 0..turns {
        let reasoning: String = (0..20)
            .map(|i| turn * 1000 + i)
            .map(|v| format!("The sign at [{v}, 450, 469, {}] reads \"Hop {v} Inn\" and it might be AX-{v}-Q, near the wall that I saw. ", v * 7))
            .collect();
        let result: String = (0..100)
            .map(|i| 1_000_000 + turn * 1000 + i)
            .map(|v| format!("{{\"box\": [{v}, 1, 2, 3], \"text\": \"line {v} of the page\", \"score\": 0.9}},\n"))
            .collect();
        let id = format!("c{turn}");
        messages.push(json!({"role": "assistant", "content": "", "reasoning": reasoning, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "zoom", "arguments": "{\"cell\": [1, 2], \"x\": \"caf\\u00e9\"}"}}]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
    }
    json!({ "messages": messages }).to_string()
}

#[test]
fn a_megabyte_full_of_values_is_planned_in_seconds() {
    let text = dense(100);
    for keep_atoms in [true, false] {
        let settings = Settings {
            given: Some("seen".into()),
            plan: PlanOptions {
                keep_atoms,
                ..PlanOptions::default()
            },
            ..Settings::default()
        };
        let start = Instant::now();
        let out = prune(&text, &settings, |s| {
            let every = (0..tokens(&s.text).len()).step_by(50);
            Said::Shown(s.index % 2 == 0, every.collect())
        });
        let seconds = start.elapsed().as_secs();
        assert!(seconds < 5, "{seconds} s for {} bytes", text.len());
        assert_eq!(out.events[0].plan.survival.only_in_reasoning, 3 * 20 * 100);
    }
}
