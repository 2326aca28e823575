//! What README shows is what the program prints.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

#[test]
fn the_explained_run_is_printed_word_for_word() {
    let readme = include_str!("../README.md");
    let (_, rest) = readme
        .split_once("$ spare explain examples/board/runs.jsonl\n")
        .expect("README shows the command");
    let (sample, _) = rest.split_once("```").expect("the block ends");
    let out = Command::new(env!("CARGO_BIN_EXE_spare"))
        .args(["explain", "examples/board/runs.jsonl", "--color", "never"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let printed = String::from_utf8(out.stdout).unwrap();
    assert!(sample.lines().count() > 10);
    assert!(
        printed.contains(sample.trim_end()),
        "README:\n{sample}\nprinted:\n{printed}"
    );
}
