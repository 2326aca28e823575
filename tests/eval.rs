//! `spare eval`: from seeds to a table.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used)]

#[path = "common/program.rs"]
mod program;

use std::fs;

use program::{spare, text};
use serde_json::Value;
use tempfile::TempDir;

const RULES: [&str; 11] = [
    "default",
    "  with bare pass",
    "  nothing seen",
    "paper",
    "paper full",
    "paper nats",
    "floor + atoms",
    "mean",
    "signed",
    "residual",
    "stated",
];

fn boards(runs: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let made = spare(
        dir.path(),
        &["eval", "runs", "board", "-n", runs, "-o", "b"],
    );
    assert!(made.status.success(), "{}", text(&made.stderr));
    dir
}

#[test]
fn rules_side_by_side_and_again_from_what_was_stored() {
    let dir = boards("2");
    let args = [
        "eval",
        "rules",
        "b/runs.jsonl",
        "--yardstick",
        "1",
        "-o",
        "out",
    ];
    let first = spare(dir.path(), &args);
    assert!(first.status.success(), "{}", text(&first.stderr));
    let table = text(&first.stdout);
    for part in RULES.iter().chain(&["removed, all", "yardstick: "]) {
        assert!(table.contains(part), "{part} in {table}");
    }
    let json: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("out/rules.json")).unwrap())
            .unwrap();
    let names: Vec<&str> = json["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["rule"].as_str().unwrap())
        .collect();
    assert_eq!(names, RULES);
    let csv = fs::read_to_string(dir.path().join("out/rules.csv")).unwrap();
    let columns: Vec<usize> = csv.lines().map(|l| l.split(',').count()).collect();
    assert_eq!(columns, vec![columns[0]; RULES.len() + 1]);
    let svg = fs::read_to_string(dir.path().join("out/rules.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // A torn last line, as an interruption leaves it: measured again, and the same table.
    let store = dir.path().join("b/runs.jsonl.scores.jsonl");
    let stored = fs::read_to_string(&store).unwrap();
    fs::write(&store, &stored[..stored.len() - 40]).unwrap();
    let again = spare(dir.path(), &args);
    assert_eq!(table, text(&again.stdout), "{}", text(&again.stderr));
}

#[test]
fn failures_are_named() {
    let dir = boards("8");
    let args = ["eval", "rules", "b/runs.jsonl", "--failures", "paper"];
    let found = spare(dir.path(), &args);
    assert!(found.status.success(), "{}", text(&found.stderr));
    assert!(
        text(&found.stdout).contains("stale kept"),
        "{}",
        text(&found.stdout)
    );
    let wrong = spare(
        dir.path(),
        &["eval", "rules", "b/runs.jsonl", "--failures", "none"],
    );
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        text(&wrong.stderr).contains("expected the name of a rule"),
        "{}",
        text(&wrong.stderr)
    );
}

#[test]
fn runs_without_labels_are_refused() {
    let dir = TempDir::new().unwrap();
    fs::write(
        dir.path().join("run.jsonl"),
        "{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}\n",
    )
    .unwrap();
    let found = spare(dir.path(), &["eval", "rules", "run.jsonl"]);
    assert_eq!(found.status.code(), Some(2));
    assert!(
        text(&found.stderr).contains("expected runs with labels"),
        "{}",
        text(&found.stderr)
    );
}

#[test]
fn a_statement_that_is_left_out_is_missed() {
    let dir = boards("2");
    let found = spare(
        dir.path(),
        &["eval", "omissions", "b/runs.jsonl", "--rule", "stated"],
    );
    assert!(found.status.success(), "{}", text(&found.stderr));
    let table = text(&found.stdout);
    assert!(
        table.contains("run 0: ") && table.contains("run 1: "),
        "{table}"
    );
    assert!(table.contains("without \""), "{table}");
    assert!(table.contains("-> evidence"), "{table}");
}

#[test]
fn a_setting_belongs_to_its_rule() {
    let dir = boards("1");
    for (args, says) in [
        (["--tau", "0.3"].as_slice(), "--rule paper or mean"),
        (
            &["--rule", "residual", "--kappa", "2"],
            "--rule paper or signed",
        ),
        (
            &["--rule", "paper", "--nats", "1"],
            "--rule default, residual or signed",
        ),
        (&["--rule", "signed", "--min-nats", "1"], "--rule paper"),
        (&["--nats", "-1"], "0 or more"),
        (&["--rule", "paper", "--tau", "nan"], "a number"),
    ] {
        let out = spare(
            dir.path(),
            &[&["prune", "b/runs.jsonl", "--dry-run"], args].concat(),
        );
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(
            text(&out.stderr).contains(says),
            "{args:?}: {}",
            text(&out.stderr)
        );
    }
}
