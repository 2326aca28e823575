//! A history of many calls is read and checked with work that grows with its length, not with its square. The work is counted in instructions,
//! by valgrind, so that a busy machine changes nothing. No model.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used)]

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::Path;
use std::process::Command;

use program::SPARE;
use rayon::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

fn many(first: Value, turns: usize, turn: impl Fn(usize) -> [Value; 2]) -> Vec<Value> {
    std::iter::once(first)
        .chain((0..turns).flat_map(turn))
        .collect()
}

fn chat(turns: usize) -> Value {
    json!({"messages": many(json!({"role": "user", "content": "q"}), turns, |i| [
        json!({"role": "assistant", "content": "", "reasoning_content": "I look.", "tool_calls":
            [{"id": format!("c{i}"), "type": "function", "function": {"name": "zoom", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": format!("c{i}"), "content": "done"})])})
}

/// Calls before there were ids: a result names its function.
fn functions(turns: usize) -> Value {
    json!({"messages": many(json!({"role": "user", "content": "q"}), turns, |i| [
        json!({"role": "assistant", "content": null, "function_call": {"name": format!("f{i}"), "arguments": "{}"}}),
        json!({"role": "function", "name": format!("f{i}"), "content": "done"})])})
}

fn anthropic(turns: usize) -> Value {
    json!({"max_tokens": 9, "system": "s", "messages": many(json!({"role": "user", "content": "q"}), turns, |i| [
        json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "I look.", "signature": "s"},
            {"type": "tool_use", "id": format!("c{i}"), "name": "zoom", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{i}"), "content": "done"}]})])})
}

fn gemini(turns: usize) -> Value {
    json!({"contents": many(json!({"role": "user", "parts": [{"text": "q"}]}), turns, |i| [
        json!({"role": "model", "parts": [{"text": "I look.", "thought": true}, {"functionCall": {"name": format!("f{i}"), "args": {}}}]}),
        json!({"role": "user", "parts": [{"functionResponse": {"name": format!("f{i}"), "response": {"r": "done"}}}]})])})
}

fn langchain(turns: usize) -> Value {
    json!({"messages": many(json!({"type": "human", "data": {"content": "q"}}), turns, |i| [
        json!({"type": "ai", "data": {"content": "I look.", "tool_calls": [{"name": "zoom", "args": {}, "id": format!("c{i}")}]}}),
        json!({"type": "tool", "data": {"content": "done", "tool_call_id": format!("c{i}")}})])})
}

fn responses(turns: usize) -> Value {
    json!({"input": many(json!({"role": "user", "content": "q"}), turns, |i| [
        json!({"type": "function_call", "call_id": format!("c{i}"), "name": "zoom", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": format!("c{i}"), "output": "done"})])})
}

fn qwen_agent(turns: usize) -> Value {
    Value::Array(many(
        json!({"role": "user", "content": [{"text": "q"}]}),
        turns,
        |_| {
            [
                json!({"role": "assistant", "content": "", "function_call": {"name": "zoom", "arguments": "{}"}}),
                json!({"role": "function", "name": "zoom", "content": "done"}),
            ]
        },
    ))
}

fn react(turns: usize) -> Value {
    Value::Array(many(json!({"role": "user", "content": "q"}), turns, |i| {
        [
            json!({"role": "assistant", "content": format!("THOUGHT {i}: I look.\nACTION {i}:\n```python\nzoom({i})\n```")}),
            json!({"role": "user", "content": "OBSERVATION: done"}),
        ]
    }))
}

fn share_gpt(turns: usize) -> Value {
    json!({"images": vec!["a.png"; turns], "conversations": many(json!({"from": "human", "value": "q"}), turns, |_| [
        json!({"from": "gpt", "value": "<think>I look.</think>Next."}),
        json!({"from": "human", "value": "<image>"})])})
}

fn smolagents(turns: usize) -> Value {
    Value::Array(many(
        json!({"task": "q", "task_images": null}),
        turns,
        |i| {
            [
                json!({"plan": "1. Look.", "model_output_message": {"role": "assistant", "content": "1. Look."}}),
                json!({"step_number": i, "model_output": format!("Thought: I look.\n<code>\nzoom({i})\n</code>"),
            "code_action": format!("zoom({i})"), "observations": "done"}),
            ]
        },
    ))
}

fn atif(turns: usize) -> Value {
    let step = |i: usize| {
        json!({"step_id": i, "source": "agent", "message": "m", "reasoning_content": "I look.",
            "tool_calls": [{"tool_call_id": format!("c{i}"), "function_name": "zoom", "arguments": {}}],
            "observation": {"results": [{"source_call_id": format!("c{i}"), "content": "done"}]}})
    };
    json!({"schema_version": "ATIF-v1.7", "session_id": "s", "agent": {"name": "a", "version": "1"},
        "steps": many(json!({"step_id": 0, "source": "user", "message": "q"}), turns, |i| [step(2 * i + 1), step(2 * i + 2)])})
}

/// Instructions of `spare check` on one run; None where there is no valgrind.
fn instructions(dir: &Path, run: &Value, format: &str) -> Option<f64> {
    fs::write(dir.join("run.json"), run.to_string()).unwrap();
    let out = Command::new("valgrind")
        .current_dir(dir)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", SPARE])
        .args(["check", "run.json"])
        .output()
        .ok()?;
    let printed = program::text(&out.stdout);
    assert!(printed.contains(&format!("1 x {format}:")), "{printed}");
    let said = program::text(&out.stderr);
    let count = said.rsplit_once("Collected :").unwrap().1;
    Some(count.split_whitespace().next()?.parse().unwrap())
}

#[test]
fn reading_and_checking_are_linear() {
    type Shape = (&'static str, fn(usize) -> Value);
    let shapes: [Shape; 11] = [
        ("openai-chat", chat),
        ("openai-chat", functions),
        ("anthropic", anthropic),
        ("gemini", gemini),
        ("langchain", langchain),
        ("openai-responses", responses),
        ("qwen-agent", qwen_agent),
        ("react", react),
        ("sharegpt", share_gpt),
        ("smolagents", smolagents),
        ("atif", atif),
    ];
    shapes
        .into_par_iter()
        .enumerate()
        .for_each(|(number, (name, shape))| {
            let dir = TempDir::new().unwrap();
            let count = |turns: usize| instructions(dir.path(), &shape(turns), name);
            let counted = [200, 400, 2_200].map(count);
            let [Some(none), Some(short), Some(long)] = counted else {
                assert!(
                    std::env::var_os("SPARE_REQUIRE_FETCHED").is_none(),
                    "no valgrind"
                );
                println!("skipped: no valgrind to count instructions with");
                return;
            };
            // What the program does for any file cancels out: 10 where each turn costs the same, 11 and more where each call is held against
            // all before it.
            let ratio = (long - none) / (short - none);
            println!("{name} (shape {number}): {ratio:.2}");
            assert!(ratio < 10.5, "{name} (shape {number}): {ratio:.2}");
        });
}
