//! `spare read`: preview, ask, verify, raw, and a hook that approves nothing.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn spare(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_spare"))
        .arg("read")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

fn json(args: &[&str]) -> serde_json::Value {
    let output = spare(args, "");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn long_notes(folder: &Path) -> PathBuf {
    let path = folder.join("notes.md");
    let filler = "A gardener walked past the museum in winter and said nothing.\n\n".repeat(2_000);
    std::fs::write(
        &path,
        format!("{filler}The gauge of the Harbour is 4711.\n\n{filler}"),
    )
    .unwrap();
    path
}

#[test]
fn a_question_is_answered_with_an_anchor_that_verifies() {
    let folder = tempfile::tempdir().unwrap();
    let path = long_notes(folder.path());
    let path = path.to_str().unwrap();
    let preview = json(&["preview", path, "--json"]);
    assert_eq!(preview["files"][0]["kind"], "text");
    let pack = json(&[
        "ask",
        path,
        "What is the gauge of the Harbour?",
        "What is the depth of the Canal?",
        "--json",
    ]);
    assert_eq!(
        (
            pack["needs"][0]["status"].as_str(),
            pack["needs"][1]["status"].as_str()
        ),
        (Some("supported"), Some("absent"))
    );
    let anchor = pack["untrusted_spans"][0]["anchor"].as_str().unwrap();
    assert_eq!(
        spare(
            &["verify", path, anchor, "the gauge of the harbour is 4711"],
            ""
        )
        .status
        .code(),
        Some(0)
    );
    assert_eq!(
        spare(
            &["verify", path, anchor, "the gauge of the harbour is 4712"],
            ""
        )
        .status
        .code(),
        Some(1)
    );
    assert_eq!(
        String::from_utf8(spare(&["raw", path, anchor], "").stdout).unwrap(),
        "The gauge of the Harbour is 4711.\n"
    );
    let refused = spare(&["raw", path, "nonsense"], "");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("PATH:LINE-LINE@BYTE-BYTE#CONTENT"));
}

#[test]
fn the_hook_refuses_whole_reads_of_large_files_and_is_silent_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = long_notes(folder.path());
    std::fs::write(folder.path().join("small.md"), "The port is 80.").unwrap();
    let event = |tool: &str, input: serde_json::Value| {
        serde_json::json!({"hook_event_name": "PreToolUse", "tool_name": tool, "cwd": folder.path(), "tool_input": input}).to_string()
    };
    let answer = |event: &str| {
        let output = spare(&["hook"], event);
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = answer(&event("Read", serde_json::json!({"file_path": path})));
    assert!(
        refused.contains("\"permissionDecision\":\"deny\"") && refused.contains("spare read ask")
    );
    for silent in [
        event("Read", serde_json::json!({"file_path": path, "offset": 5})),
        event("Read", serde_json::json!({"file_path": "small.md"})),
        event("Read", serde_json::json!({"file_path": "missing.md"})),
        event("Bash", serde_json::json!({"command": "cat notes.md"})),
        "not an event".to_owned(),
    ] {
        assert_eq!(answer(&silent), "", "{silent}");
    }
}
