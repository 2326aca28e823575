//! The bodies of the fuzz targets on their seeds and on damaged copies of them, without cargo-fuzz.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../fuzz/src/lib.rs"]
mod bodies;

use std::path::{Path, PathBuf};

/// Calls `body` on a seed: whole, cut at many places, and with single bytes replaced.
fn on(data: &[u8], body: fn(&[u8])) {
    body(data);
    for at in (0..data.len()).step_by(1 + data.len() / 64) {
        body(&data[..at]);
        for byte in *b"\"\\0 <\n" {
            let mut other = data.to_vec();
            other[at] = byte;
            body(&other);
        }
    }
}

/// Files of a folder and those below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).expect("seeds are committed") {
        let path = entry.expect("readable").path();
        match path.is_dir() {
            true => out.extend(files(&path)),
            false => out.push(path),
        }
    }
    out
}

/// Calls `body` on each seed of `target`.
fn on_seeds(target: &str, body: fn(&[u8])) {
    let seeds = files(&root("fuzz/seeds").join(target));
    assert!(seeds.len() >= 3, "{} seeds of {target}", seeds.len());
    for seed in seeds {
        on(&std::fs::read(seed).expect("readable"), body);
    }
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[cfg(feature = "cli")]
#[test]
fn extract() {
    on_seeds("extract", bodies::extract);
}

#[test]
fn read_run() {
    on_seeds("read_run", bodies::read_run);
}

/// Runs of every format are seeds too.
#[test]
fn read_run_of_every_format() {
    for file in files(&root("tests/data/formats")) {
        let data = std::fs::read(&file).expect("readable");
        bodies::read_run(&data);
        bodies::mend(&data);
        bodies::records(&data);
    }
    let runs = std::fs::read_to_string(root("examples/board/runs.jsonl")).expect("readable");
    for line in runs.lines() {
        bodies::read_run(line.as_bytes());
    }
}

#[test]
fn python_call() {
    on_seeds("python_call", bodies::python_call);
}

#[test]
fn records() {
    on_seeds("records", bodies::records);
}

#[test]
fn repair() {
    on_seeds("repair", bodies::mend);
}

#[cfg(feature = "cli")]
#[test]
fn compressed() {
    let seeds = files(&root("fuzz/seeds/compressed"));
    assert!(seeds.len() >= 3);
    for seed in seeds {
        bodies::compressed(&std::fs::read(seed).expect("readable"));
    }
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
