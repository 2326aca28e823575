//! The program as a process.
#![allow(dead_code, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

pub const SPARE: &str = env!("CARGO_BIN_EXE_spare");

/// A path of the repository.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub fn spare(dir: &Path, args: &[&str]) -> Output {
    Command::new(SPARE)
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What lies in a folder, in order.
pub fn list(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    all.sort();
    all
}

/// A run with one event; the picture is at `picture`.
pub fn run_with_picture(picture: &str) -> Value {
    let call = |id: &str, name: &str, arguments: &str| json!([{"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]);
    json!({"messages": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": picture}}, {"type": "text", "text": "Which digit?"}]},
        {"role": "assistant", "content": "", "reasoning_content": "The digit is a 9 I think, but I should look closer before I trust it.", "tool_calls": call("a", "crop", "{\"cell\": [1, 2]}")},
        {"role": "tool", "tool_call_id": "a", "content": "done"},
        {"role": "assistant", "content": "", "reasoning_content": "I note it.", "tool_calls": call("b", "summarize_the_task", "{\"summary\": \"Done: crop. Evidence: 9. Open: nothing.\"}")},
        {"role": "tool", "tool_call_id": "b", "content": "noted"},
        {"role": "assistant", "content": "9"}
    ]})
}
