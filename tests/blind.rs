//! A model without a vision tower: refused where there are pictures, unless it is to read `[image]` instead; then every receipt says so.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "common/program.rs"]
mod program;

use std::path::PathBuf;

use program::{root, spare, text};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A Llama of two layers with random weights, in the words of llama.cpp.
fn model() -> PathBuf {
    root("models/tests/golden/gguf/llama/text-f16.gguf")
}

/// The picture is no picture: whoever looks at it fails.
fn run() -> Value {
    let call = |id: &str, name: &str, arguments: Value| {
        let function = json!({"name": name, "arguments": arguments.to_string()});
        json!([{"id": id, "type": "function", "function": function}])
    };
    json!({"messages": [
        {"role": "user", "content": [
            {"type": "text", "text": "What does the sign say?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        ]},
        {"role": "assistant", "content": "I look at the sign. It may say 4711, I zoom in to be sure of it.",
         "tool_calls": call("a", "crop", json!({"bbox": [1, 2, 3, 4]}))},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
        {"role": "assistant", "content": "I note the state.",
         "tool_calls": call("b", "summarize_the_task", json!({"summary": "Question: what the sign says. Found: 4711."}))},
        {"role": "tool", "tool_call_id": "b", "content": "noted"},
        {"role": "assistant", "content": "It says 4711."},
    ]})
}

fn scratch() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("run.json"), run().to_string()).unwrap();
    // A second run, without anything to decide.
    let idle = json!({"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]});
    let lines = format!("{}\n{idle}\n", run());
    std::fs::write(dir.path().join("runs.jsonl"), lines).unwrap();
    dir
}

#[test]
fn pictures_are_refused_with_the_way_out() {
    let dir = scratch();
    let model = model();
    let out = spare(
        dir.path(),
        &[
            "prune",
            "run.json",
            "-o",
            "out.json",
            "--model",
            model.to_str().unwrap(),
        ],
    );
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{error}");
    assert!(
        error.contains("/messages/0/content/1")
            && error.contains("LlamaForCausalLM has no vision tower (--pictures placeholder"),
        "{error}"
    );
    assert!(!dir.path().join("out.json").exists());
}

#[test]
fn placeholders_are_read_and_every_receipt_says_blind() {
    let dir = scratch();
    let model = model();
    let args = [
        "prune",
        "runs.jsonl",
        "-o",
        "out.jsonl",
        "--pictures",
        "placeholder",
        "--model",
        model.to_str().unwrap(),
    ];
    let out = spare(dir.path(), &args);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let receipts = std::fs::read_to_string(dir.path().join("out.jsonl.receipt.jsonl")).unwrap();
    let receipts: Vec<Value> = receipts
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(receipts.len(), 2);
    assert!(
        receipts.iter().all(|r| r["blind"] == json!(true)),
        "{receipts:?}"
    );
    assert_eq!(receipts[0]["model"]["resizer"], json!("none"));
    assert_eq!(receipts[0]["model"]["dtype"], json!("f32"));
    assert!(
        !receipts[0]["events"][0]["segments"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    // The picture itself stays in the history, and the way back is open.
    let after = std::fs::read_to_string(dir.path().join("out.jsonl")).unwrap();
    assert!(after.contains("data:image/png;base64,AAAA"));
    let back = spare(
        dir.path(),
        &[
            "restore",
            "out.jsonl",
            "--receipt",
            "out.jsonl.receipt.jsonl",
        ],
    );
    assert_eq!(
        text(&back.stdout),
        std::fs::read_to_string(dir.path().join("runs.jsonl")).unwrap()
    );
}

/// A model that sees can be made to read placeholders too.
#[test]
fn a_seeing_model_can_be_blindfolded() {
    let dir = scratch();
    let seen = spare(dir.path(), &["prune", "run.json", "-o", "out.json"]);
    assert_eq!(seen.status.code(), Some(2), "the picture is no picture");
    let out = spare(
        dir.path(),
        &[
            "prune",
            "run.json",
            "-o",
            "out.json",
            "--pictures",
            "placeholder",
        ],
    );
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let receipt: Value = serde_json::from_str(
        &std::fs::read_to_string(dir.path().join("out.json.receipt.jsonl")).unwrap(),
    )
    .unwrap();
    assert_eq!(receipt["blind"], json!(true));
}

/// Where the template shows no calls the model is asked for the summary; a random one rambles, which is said and changes nothing.
#[test]
fn a_summary_is_asked_for_where_the_template_shows_no_calls() {
    let dir = scratch();
    let model = model();
    let args = [
        "prune",
        "run.json",
        "-o",
        "out.json",
        "--json",
        "--pictures",
        "placeholder",
        "--summary",
        "generate",
        "--model",
        model.to_str().unwrap(),
    ];
    let out = spare(dir.path(), &args);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let receipt: Value = serde_json::from_str(
        &std::fs::read_to_string(dir.path().join("out.json.receipt.jsonl")).unwrap(),
    )
    .unwrap();
    for event in receipt["events"].as_array().unwrap() {
        let summary = &event["summary"]["source"];
        let skipped = event["skipped"].as_str().unwrap_or_default();
        assert!(
            *summary == json!("generated") || skipped.contains("generated summary"),
            "{event}"
        );
    }
}

#[test]
fn doctor_describes_files_and_says_what_is_missing() {
    let dir = scratch();
    let model = model();
    let out = spare(dir.path(), &["doctor", model.to_str().unwrap()]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{said}");
    for line in [
        "family: LlamaForCausalLM",
        "parameters: 37792",
        "--dtype q4_k",
        "no vision tower",
        "nothing is missing",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    // A folder that lacks a tensor and its tokenizer.
    let golden = model.parent().unwrap();
    std::fs::copy(golden.join("config.json"), dir.path().join("config.json")).unwrap();
    std::fs::write(
        dir.path().join("model.safetensors"),
        b"\x02\0\0\0\0\0\0\0{}",
    )
    .unwrap();
    let out = spare(dir.path(), &["doctor", "."]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(
        said.contains("wrong: model.embed_tokens.weight: found nothing"),
        "{said}"
    );
    assert!(said.contains("found no tokenizer.json"), "{said}");
}

#[test]
fn devices_and_towers_that_are_not_there_are_refused() {
    let dir = scratch();
    let refuse = |args: &[&str], says: &str| {
        let args = [&["prune", "run.json", "-o", "out.json"], args].concat();
        let out = spare(dir.path(), &args);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{error}");
        assert!(error.contains(says), "{error}");
    };
    let model = model();
    let model = model.to_str().unwrap();
    if cfg!(not(feature = "cuda")) {
        refuse(
            &["--model", model, "--device", "cuda:1"],
            "found a build without the feature `cuda`",
        );
    }
    refuse(
        &["--dtype", "q5_1"],
        "expected one of auto, f32, bf16, f16, q8_0, q4_k",
    );
    refuse(&["--device", "tpu"], "expected auto, cpu or cuda:N");
    refuse(
        &["--mmproj", "tower.gguf"],
        "--mmproj: found `tower.gguf` beside a model that is no file",
    );
    refuse(&["--model", model, "--mmproj", model], "");
}
