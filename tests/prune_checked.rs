//! prune holds its own output to the rules of the provider: what would be refused is not written, what can be mended is mended and named.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used)]

#[path = "common/program.rs"]
mod program;

use std::fs;

use program::{list, spare, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Every value of normalised divergence lies below this, so the summary covers all and all goes.
const EVERYTHING: [&str; 4] = ["--rule", "paper", "--tau", "2"];

/// A run in text alone whose turns think and call, and say nothing.
fn run() -> Value {
    let turn = |id: &str, name: &str, arguments: &str, thought: &str| {
        [
            json!({"role": "assistant", "content": "", "reasoning_content": thought,
                "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": "done"}),
        ]
    };
    let long = "The digit is small and I cannot read it at this size, so I should look closer before I trust it.";
    let mut messages = vec![json!({"role": "user", "content": "Which digit?"})];
    messages.extend(turn("a", "crop", "{\"cell\": [1, 2]}", long));
    messages.extend(turn("b", "crop", "{\"cell\": [0, 1]}", long));
    let summary =
        "{\"summary\": \"Question: which digit? Done: crop. Evidence: none. Open: nothing.\"}";
    messages.extend(turn("c", "summarize_the_task", summary, "I note it."));
    messages.push(json!({"role": "assistant", "content": "9"}));
    json!({"messages": messages})
}

fn write(dir: &TempDir, name: &str, text: &str) {
    fs::write(dir.path().join(name), text).unwrap();
}

fn read(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).unwrap()
}

/// The rules of qwen-agent know no `tool_calls`: to them a turn without its reasoning is empty, and nothing protects it.
#[test]
fn a_history_that_would_break_more_rules_is_not_written() {
    let dir = TempDir::new().unwrap();
    let text_of_run = run().to_string();
    write(&dir, "run.json", &text_of_run);
    let prune = |more: &[&str]| {
        let args = [
            &["prune", "run.json", "-o", "out.json"],
            &EVERYTHING[..],
            more,
        ]
        .concat();
        spare(dir.path(), &args)
    };
    let before = list(dir.path());
    let out = prune(&["--provider", "qwen-agent"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}{}", text(&out.stdout));
    for part in [
        "run.json: ",
        "the pruned history would break rules that the run does not break",
        "qwen-agent, empty_message, message 1: /messages/1/content: found an assistant message without text",
    ] {
        assert!(said.contains(part), "`{said}` lacks `{part}`");
    }
    assert_eq!(list(dir.path()), before, "nothing is written");
    // The rules of its own format allow it.
    let out = prune(&[]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let pruned: Value = serde_json::from_str(&read(&dir, "out.json")).unwrap();
    assert_eq!(pruned["messages"][1]["reasoning_content"], "");
    let checked = |provider: &str| {
        let out = spare(dir.path(), &["check", "out.json", "--provider", provider]);
        (out.status.code(), text(&out.stdout))
    };
    assert_eq!(checked("strict").0, Some(0), "{}", checked("strict").1);
    assert_eq!(checked("qwen-agent").0, Some(1), "check says so too");
}

#[test]
fn tolerant_carries_a_record_that_would_become_worse() {
    let dir = TempDir::new().unwrap();
    let mut harmless = run();
    for message in harmless["messages"].as_array_mut().unwrap() {
        if message["content"] == "" {
            message["content"] = "Next.".into();
        }
    }
    write(&dir, "runs.jsonl", &format!("{}\n{harmless}\n", run()));
    let options = ["--provider", "qwen-agent", "--tolerant"];
    let args = [
        &["prune", "runs.jsonl", "-o", "out.jsonl"],
        &EVERYTHING[..],
        &options,
    ]
    .concat();
    let out = spare(dir.path(), &args);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert!(
        said.contains("runs.jsonl, line 1: ") && said.contains("carried through unchanged"),
        "{said}"
    );
    let (before, after) = (read(&dir, "runs.jsonl"), read(&dir, "out.jsonl"));
    let pairs: Vec<(&str, &str)> = before.lines().zip(after.lines()).collect();
    assert_eq!(pairs.len(), 2);
    assert_eq!(pairs[0].0, pairs[0].1);
    assert!(pairs[1].1.len() < pairs[1].0.len());
    let receipts = read(&dir, "out.jsonl.receipt.jsonl");
    let first: Value = serde_json::from_str(receipts.lines().next().unwrap()).unwrap();
    assert!(
        first["error"].as_str().unwrap().contains("empty_message"),
        "{first}"
    );
    let back = spare(
        dir.path(),
        &[
            "restore",
            "out.jsonl",
            "--receipt",
            "out.jsonl.receipt.jsonl",
        ],
    );
    assert_eq!(text(&back.stdout), before);
}

#[test]
fn an_empty_block_is_mended_on_request_and_comes_back() {
    let dir = TempDir::new().unwrap();
    let mut run = run();
    run["messages"][7]["content"] =
        json!([{"type": "text", "text": ""}, {"type": "text", "text": "9"}]);
    let broken = run.to_string();
    let check = |name: &str| {
        let out = spare(dir.path(), &["check", name]);
        (out.status.code(), text(&out.stdout))
    };
    write(&dir, "run.json", &broken);
    let (code, page) = check("run.json");
    assert_eq!(code, Some(1));
    assert!(page.contains("empty_text_part"), "{page}");
    // Without the option it stays: the run was no better before.
    for (option, mends) in [(&[][..], 0), (&["--repair"][..], 1)] {
        let args = [
            &["prune", "run.json", "-o", "out.json"],
            &EVERYTHING[..],
            option,
        ]
        .concat();
        let out = spare(dir.path(), &args);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(0), "{said}");
        let named = "run.json: mended: /messages/7/content/0: took out the empty text block";
        assert_eq!(said.contains(named), mends == 1, "{said}");
        let receipt: Value = serde_json::from_str(&read(&dir, "out.json.receipt.jsonl")).unwrap();
        let listed = receipt["mends"].as_array().map_or(0, Vec::len);
        assert_eq!(listed, mends, "{receipt}");
        assert_eq!(check("out.json").0, Some(1 - mends as i32));
        let pruned: Value = serde_json::from_str(&read(&dir, "out.json")).unwrap();
        assert_eq!(
            pruned["messages"][7]["content"].as_array().unwrap().len(),
            2 - mends
        );
        assert_eq!(pruned["messages"][1]["reasoning_content"], "");
        let back = spare(
            dir.path(),
            &["restore", "out.json", "--receipt", "out.json.receipt.jsonl"],
        );
        assert_eq!(text(&back.stdout), broken);
    }
}
