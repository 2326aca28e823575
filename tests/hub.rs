//! `--model owner/name` as a user runs it: downloaded from a small hub, then from the cache alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../models/tests/hub/server.rs"]
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use server::{Fault, Files, Hub};
use tempfile::TempDir;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The board's checkpoint on a hub.
fn hub() -> Hub {
    let read = |name| fs::read(root("models/pretrained/board").join(name)).unwrap();
    let names = [
        ("README.md", false),
        ("chat_template.jinja", false),
        ("config.json", false),
        ("generation_config.json", false),
        ("model.safetensors", true),
        ("preprocessor_config.json", false),
        ("tokenizer.json", true),
        ("tokenizer_config.json", false),
    ];
    let files: Files = names.map(|(name, large)| (name, read(name), large)).into();
    let hub = Hub::start();
    hub.commit("some-lab/board", "main", COMMIT, files);
    hub
}

fn spare(dir: &TempDir, endpoint: &str, offline: &str, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_spare"))
        .current_dir(dir.path())
        .args(args)
        .env_clear()
        .env("HF_HOME", dir.path().join("hf"))
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HUB_OFFLINE", offline)
        .env("HF_TOKEN", "hf_secret\n")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn prune(dir: &TempDir, endpoint: &str, offline: &str, model: &str) -> (String, String) {
    let run = root("examples/board/runs.jsonl");
    let run = run.to_str().unwrap();
    let args = ["prune", run, "-o", "out.jsonl", "--model", model];
    let out = spare(dir, endpoint, offline, &args);
    let says = text(&out.stderr);
    assert!(out.status.success(), "{says}");
    let read = |name| fs::read_to_string(dir.path().join(name)).unwrap();
    let receipt: Value =
        serde_json::from_str(read("out.jsonl.receipt.jsonl").lines().next().unwrap()).unwrap();
    let source = match model {
        "board" => (Value::from("board"), Value::Null),
        _ => ("some-lab/board".into(), COMMIT.into()),
    };
    let card = &receipt["model"];
    assert_eq!((card["name"].clone(), card["revision"].clone()), source);
    (read("out.jsonl"), says)
}

#[test]
fn a_model_of_the_hub_does_what_the_same_files_do() {
    let (hub, dir) = (hub(), TempDir::new().unwrap());
    let endpoint = hub.endpoint();
    let (expected, says) = prune(&dir, &endpoint, "0", "board");
    assert!(!says.contains("commit"), "{says}");
    let (found, says) = prune(&dir, &endpoint, "0", "some-lab/board");
    assert_eq!(found, expected);
    assert!(
        says.contains(&format!("spare: some-lab/board at commit {COMMIT}")),
        "{says}"
    );
    // No bar where nobody looks.
    assert!(!says.contains('\r'), "{says}");
    let of_hub = |r: &server::Request| {
        r.headers
            .get("authorization")
            .is_some_and(|t| t == "Bearer hf_secret")
    };
    let log = hub.log();
    assert!(log.iter().filter(|r| !r.content).all(of_hub));
    assert!(!log.iter().filter(|r| r.content).any(of_hub));

    let (found, _) = prune(&dir, &endpoint, "1", "some-lab/board@main");
    assert_eq!((found, hub.log().len()), (expected, 0));
    let doctor = spare(
        &dir,
        &endpoint,
        "1",
        &["doctor", "--model", "some-lab/board"],
    );
    assert!(
        text(&doctor.stdout).contains(&format!("checkpoint: some-lab/board at commit {COMMIT}"))
    );
    let models = spare(&dir, &endpoint, "0", &["models"]);
    let listed = text(&models.stdout);
    let line = format!("  some-lab/board  {COMMIT}  main  ");
    let line = listed
        .lines()
        .find(|l| l.starts_with(&line))
        .expect(&listed);
    assert!(line.ends_with("Qwen3VLForConditionalGeneration"), "{line}");

    drop(hub);
    let (_, says) = prune(&dir, &endpoint, "0", "some-lab/board");
    assert!(
        says.contains("going on with the snapshot in the cache"),
        "{says}"
    );
}

#[test]
fn a_refusal_is_one_message_and_exit_code_2() {
    let (hub, dir) = (hub(), TempDir::new().unwrap());
    let headers = vec![("x-error-code", "GatedRepo".to_owned())];
    hub.fault("HEAD", "/config.json", 9, Fault::Status(403, headers, ""));
    let args = ["doctor", "--model", "some-lab/board"];
    let out = spare(&dir, &hub.endpoint(), "0", &args);
    let says = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{says}");
    for part in [
        "some-lab/board",
        "config.json",
        "403",
        "licence",
        "/some-lab/board",
    ] {
        assert!(says.contains(part), "{says}");
    }
    assert!(
        !says.contains("hf_secret") && !says.contains("panicked"),
        "{says}"
    );
}
