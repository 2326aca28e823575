//! The bodies of the fuzz targets on their seeds and on damaged copies of them, without cargo-fuzz.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../fuzz/src/lib.rs"]
mod bodies;

use std::path::Path;

/// Calls `body` on each seed of `target`: whole, cut at many places, and with single bytes replaced.
fn on_seeds(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fuzz/seeds")
        .join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).expect("seeds are committed") {
        let data = std::fs::read(entry.expect("readable").path()).expect("readable");
        seeds += 1;
        body(&data);
        for at in (0..data.len()).step_by(1 + data.len() / 64) {
            body(&data[..at]);
            for byte in *b"\"\\0 <\n" {
                let mut other = data.clone();
                other[at] = byte;
                body(&other);
            }
        }
    }
    assert!(seeds >= 3, "{seeds} seeds in {}", folder.display());
}

#[test]
fn read_chat() {
    on_seeds("read_chat", bodies::read_chat);
}

#[test]
fn restore_receipt() {
    on_seeds("restore_receipt", bodies::restore_receipt);
}

#[test]
fn atoms_evidence() {
    on_seeds("atoms_evidence", bodies::atoms_evidence);
}

#[test]
fn json_pointer_edit() {
    on_seeds("json_pointer_edit", bodies::json_pointer_edit);
}

#[test]
fn read_chat_on_the_example_runs() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/board/runs.jsonl");
    let text = std::fs::read_to_string(file).expect("it is committed");
    for line in text.lines() {
        bodies::read_chat(line.as_bytes());
    }
}
