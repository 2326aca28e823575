//! A history of tens of thousands of calls is read and checked in time that grows with its length, not with its square. No model.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spare::formats::check;

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
    for (number, (name, shape)) in shapes.into_iter().enumerate() {
        let time = |turns: usize| -> Duration {
            let run = shape(turns);
            let once = || {
                let start = Instant::now();
                let checked = check(&run, None, None).unwrap();
                assert_eq!(checked.format, name, "shape {number}");
                start.elapsed()
            };
            (0..2).map(|_| once()).min().unwrap()
        };
        // Sixteen times as long: 16 where it is linear, up to 50 once a run outgrows the caches of a busy machine, and 135 to 180 where
        // each call was held against all before it.
        let (short, long) = (time(2_000), time(32_000));
        assert!(
            long < 80 * short.max(Duration::from_millis(1)),
            "{name} (shape {number}): {short:?} for 2,000 turns, {long:?} for 32,000"
        );
    }
}
