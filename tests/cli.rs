//! The program as a user runs it: exit codes, messages, files.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used)]

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::process::Command;

use program::{SPARE, list, root, run_with_picture, spare, text};
use serde_json::{Value, json};
use tempfile::TempDir;

#[test]
fn a_run_with_nothing_to_do_comes_back_unchanged_and_says_so() {
    let dir = TempDir::new().unwrap();
    // Spelt oddly on purpose; the picture does not exist and is never opened.
    let no_reasoning = "{ \"messages\" :[{\"role\":\"user\",\"content\":\"\\u0041\"},\r\n{\"content\":\"b\",\"role\":\"assistant\"}]}";
    let mut no_event = run_with_picture("missing.png");
    no_event["messages"].as_array_mut().unwrap().truncate(3);
    for (run, says) in [
        (no_reasoning.to_owned(), "no reasoning"),
        (no_event.to_string(), "no summary call"),
    ] {
        fs::write(dir.path().join("run.json"), &run).unwrap();
        let out = spare(dir.path(), &["prune", "run.json", "-o", "out.json"]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert_eq!(
            fs::read_to_string(dir.path().join("out.json")).unwrap(),
            run
        );
        assert!(text(&out.stdout).contains(says), "{}", text(&out.stdout));
    }
}

fn examples() -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("img")).unwrap();
    for entry in fs::read_dir(root("examples/board/img")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(
            &path,
            dir.path().join("img").join(path.file_name().unwrap()),
        )
        .unwrap();
    }
    fs::copy(
        root("examples/board/runs.jsonl"),
        dir.path().join("runs.jsonl"),
    )
    .unwrap();
    dir
}

#[test]
fn prune_restore_and_prune_again() {
    let dir = examples();
    let path = |name: &str| dir.path().join(name);
    let original = fs::read(path("runs.jsonl")).unwrap();
    for rule in [
        &["--rule", "default"][..],
        &["--rule", "paper", "--no-keep-atoms"],
    ] {
        let out = spare(
            dir.path(),
            &[&["prune", "runs.jsonl", "-o", "out.jsonl", "--json"], rule].concat(),
        );
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let lines: Vec<Value> = text(&out.stdout)
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        assert_eq!(lines.len(), 12);
        for (record, line) in lines.iter().enumerate() {
            assert_eq!(line["record"], record);
            assert_eq!(line["tokens"]["pushed"], line["tokens"]["predicted"]);
        }
        let pruned = fs::read(path("out.jsonl")).unwrap();
        assert_ne!(pruned, original);

        // A receipt stays small although the run has pictures.
        let receipts = fs::read_to_string(path("out.jsonl.receipt.jsonl")).unwrap();
        for line in receipts.lines() {
            let receipt: Value = serde_json::from_str(line).unwrap();
            let removed: usize = receipt["replaced"]
                .as_array()
                .unwrap()
                .iter()
                .map(|r| r["old"].as_str().unwrap().len())
                .sum();
            assert!(
                line.len() < 2 * removed + 4096,
                "{} bytes for {removed}",
                line.len()
            );
        }

        let out = spare(
            dir.path(),
            &[
                "restore",
                "out.jsonl",
                "--receipt",
                "out.jsonl.receipt.jsonl",
                "-o",
                "back.jsonl",
            ],
        );
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert_eq!(fs::read(path("back.jsonl")).unwrap(), original);
        let out = spare(
            dir.path(),
            &[
                "restore",
                "out.jsonl",
                "--receipt",
                "out.jsonl.receipt.jsonl",
            ],
        );
        assert_eq!(out.stdout, original);

        let out = spare(
            dir.path(),
            &[&["prune", "out.jsonl", "-o", "again.jsonl"], rule].concat(),
        );
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert_eq!(fs::read(path("again.jsonl")).unwrap(), pruned);
    }
    // A text that the receipt was not written for.
    let out = spare(
        dir.path(),
        &[
            "restore",
            "runs.jsonl",
            "--receipt",
            "out.jsonl.receipt.jsonl",
            "-o",
            "no.jsonl",
        ],
    );
    assert_eq!(out.status.code(), Some(2));
    assert!(!path("no.jsonl").exists());
}

#[test]
fn a_bad_record_among_good_ones_leaves_no_output() {
    let dir = examples();
    let runs = fs::read_to_string(dir.path().join("runs.jsonl")).unwrap();
    let mut lines: Vec<&str> = runs.lines().take(2).collect();
    lines.push("{\"messages\": 3}");
    fs::write(dir.path().join("bad.jsonl"), lines.join("\n")).unwrap();
    let before = list(dir.path());
    let out = spare(dir.path(), &["prune", "bad.jsonl", "-o", "out.jsonl"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        text(&out.stderr).contains("line 3"),
        "{}",
        text(&out.stderr)
    );
    assert_eq!(list(dir.path()), before);
}

#[test]
fn standard_input_and_output_carry_a_run() {
    let dir = examples();
    let runs = fs::read_to_string(dir.path().join("runs.jsonl")).unwrap();
    let first = format!("\u{feff}{}\r\n\r\n", runs.lines().next().unwrap());
    fs::write(dir.path().join("one"), &first).unwrap();
    let shell = format!(
        "{SPARE} prune - --images-from . --receipt r.jsonl -q < one > two && {SPARE} restore - --receipt r.jsonl < two"
    );
    let out = Command::new("sh")
        .current_dir(dir.path())
        .args(["-c", &shell])
        .output()
        .unwrap();
    assert_eq!(text(&out.stderr), "");
    assert_eq!(out.stdout, first.as_bytes());
    assert_ne!(fs::read(dir.path().join("two")).unwrap(), first.as_bytes());
}

#[test]
fn paths_stay_relative_to_the_input_and_prune_says_so_once() {
    let dir = examples();
    fs::create_dir(dir.path().join("elsewhere")).unwrap();
    let out = spare(
        dir.path(),
        &["prune", "runs.jsonl", "-o", "elsewhere/out.jsonl"],
    );
    assert_eq!(
        text(&out.stdout)
            .matches("relative to the folder of the input")
            .count(),
        1
    );
    let out = spare(dir.path(), &["prune", "runs.jsonl", "--dry-run"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(text(&out.stdout).contains("went"), "{}", text(&out.stdout));
    assert!(!dir.path().join("runs.jsonl.receipt.jsonl").exists());
}

#[test]
fn explain_and_doctor_print() {
    let dir = examples();
    let out = spare(dir.path(), &["explain", "runs.jsonl", "--color", "never"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let page = text(&out.stdout);
    for part in [
        "event 0 before message 4",
        "segment 0 (message 2): ",
        "summary: Question: ",
        "no event stands behind it",
    ] {
        assert!(page.contains(part), "{page}");
    }
    let out = spare(dir.path(), &["doctor"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    for part in [
        "threads: ",
        "cpu features: ",
        "checkpoint: board",
        "weights sha256 ",
    ] {
        assert!(text(&out.stdout).contains(part), "{}", text(&out.stdout));
    }
}

/// OUT holds whole records or does not exist, whenever the program dies.
#[test]
fn a_killed_prune_leaves_no_torn_output() {
    let dir = examples();
    let out = spare(
        dir.path(),
        &["prune", "runs.jsonl", "-o", "whole.jsonl", "-q"],
    );
    assert_eq!(out.status.code(), Some(0));
    let whole = fs::read(dir.path().join("whole.jsonl")).unwrap();
    let mut finished = 0;
    for delay in [1, 20, 60, 120, 200, 300, 450, 700, 1_000] {
        let mut child = Command::new(SPARE)
            .current_dir(dir.path())
            .args(["prune", "runs.jsonl", "-o", "out.jsonl", "-q"])
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay));
        let _ = child.kill();
        child.wait().unwrap();
        if let Ok(found) = fs::read(dir.path().join("out.jsonl")) {
            assert_eq!(found, whole);
            assert!(dir.path().join("out.jsonl.receipt.jsonl").exists());
            finished += 1;
            fs::remove_file(dir.path().join("out.jsonl")).unwrap();
        }
    }
    assert!(finished < 9, "no run was cut short");
}

#[test]
fn score_prints_one_object_an_event_with_whole_contexts() {
    let dir = examples();
    let out = spare(dir.path(), &["score", "runs.jsonl", "--json", "--contexts"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let lines: Vec<Value> = text(&out.stdout)
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines.len(), 12);
    let runs = fs::read_to_string(dir.path().join("runs.jsonl")).unwrap();
    let runs: Vec<Value> = runs
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let mut largest = 0f64;
    for line in &lines {
        assert_eq!((&line["schema"], &line["event"]), (&json!(1), &json!(0)));
        let mut event = Vec::new();
        for segment in line["segments"].as_array().unwrap() {
            let run = &runs[line["record"].as_u64().unwrap() as usize];
            let place = run
                .pointer(segment["path"].as_str().unwrap())
                .unwrap()
                .as_str()
                .unwrap();
            assert_eq!(
                (segment["start"].as_u64(), segment["end"].as_u64()),
                (Some(0), Some(place.len() as u64))
            );
            let list = |key: &str| segment[key].as_array().unwrap().clone();
            let n = list("token_ids").len();
            for key in ["d_topk", "d_full", "d_norm", "logp", "logq"] {
                assert_eq!(list(key).len(), n, "{key}");
            }
            assert_eq!(
                list("student_ids")[list("student_ids").len() - n..],
                list("token_ids")
            );
            assert_eq!(
                list("teacher_ids")[list("teacher_ids").len() - n..],
                list("token_ids")
            );
            event.extend(list("d_norm").iter().map(|v| v.as_f64().unwrap()));
        }
        assert!(event.iter().all(|d| (0.0..=1.0).contains(d)));
        largest = largest.max(event.iter().copied().fold(0.0, f64::max));
    }
    assert!(largest > 0.999);
}

/// The board model does not know the request: its lines are not believed, and rules over the text stand in.
#[test]
fn evidence_and_summaries_from_the_model_are_checked() {
    let dir = examples();
    for option in ["--evidence", "--summary"] {
        let out = spare(
            dir.path(),
            &["prune", "runs.jsonl", "-o", "out.jsonl", option, "generate"],
        );
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let receipts = fs::read_to_string(dir.path().join("out.jsonl.receipt.jsonl")).unwrap();
        for line in receipts.lines() {
            let receipt: Value = serde_json::from_str(line).unwrap();
            let event = &receipt["events"][0];
            assert_eq!(event["atoms"]["lost"], json!([]), "{line}");
            if option == "--summary" && event["skipped"].is_null() {
                assert_eq!(event["summary"]["source"], "generated");
            }
        }
        let out = spare(
            dir.path(),
            &[
                "restore",
                "out.jsonl",
                "--receipt",
                "out.jsonl.receipt.jsonl",
            ],
        );
        assert_eq!(out.stdout, fs::read(dir.path().join("runs.jsonl")).unwrap());
    }
}
