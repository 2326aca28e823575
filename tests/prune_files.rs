//! prune and restore on files as the world has them: damaged, compressed, interrupted.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const SPARE: &str = env!("CARGO_BIN_EXE_spare");

fn spare(dir: &Path, args: &[&str]) -> Output {
    Command::new(SPARE)
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap()
}

fn ok(dir: &Path, args: &[&str]) -> String {
    let out = spare(dir, args);
    assert_eq!(
        out.status.code(),
        Some(0),
        "{args:?}: {}",
        text(&out.stderr)
    );
    text(&out.stderr)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder with the example's pictures, and the first lines of its runs.
fn examples(count: usize) -> (TempDir, Vec<String>) {
    let dir = TempDir::new().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/board");
    fs::create_dir(dir.path().join("img")).unwrap();
    for entry in fs::read_dir(from.join("img")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(
            &path,
            dir.path().join("img").join(path.file_name().unwrap()),
        )
        .unwrap();
    }
    let runs = fs::read_to_string(from.join("runs.jsonl")).unwrap();
    (dir, runs.lines().take(count).map(str::to_owned).collect())
}

fn list(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    all.sort();
    all
}

fn receipts(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Good records as they are pruned alone, for comparison.
fn pruned_alone(dir: &Path, runs: &[String]) -> Vec<String> {
    fs::write(dir.join("plain.jsonl"), runs.join("\n")).unwrap();
    ok(
        dir,
        &["prune", "plain.jsonl", "-o", "plain.out.jsonl", "-q"],
    );
    let out = fs::read_to_string(dir.join("plain.out.jsonl")).unwrap();
    out.lines().map(str::to_owned).collect()
}

#[test]
fn tolerant_loses_no_good_record_and_restore_takes_everything_back() {
    let (dir, runs) = examples(3);
    let path = |name: &str| dir.path().join(name);
    let alone = pruned_alone(dir.path(), &runs);
    let file = |runs: &[String]| {
        let mut out = format!("\u{feff}{}\r\n\r\n", runs[0]).into_bytes();
        out.extend(b"{\"messages\": [{\"role\": \"user\"},]}\r\n");
        out.extend(b"{\"messages\": [{\"role\": \"user\", \"content\": \"\xff\"}]}\n");
        out.extend([0; 9]);
        out.extend(format!("\n\0\0{}\0\n", runs[1]).bytes());
        out.extend(b"{\"messages\": [{\"ro{\"messages\": []}\n");
        out.extend(format!("{}\n{{\"id\": \"torn", runs[2]).bytes());
        out
    };
    fs::write(path("a.jsonl"), file(&runs)).unwrap();
    let before = list(dir.path());
    let strict = spare(dir.path(), &["prune", "a.jsonl", "-o", "b.jsonl"]);
    assert_eq!(strict.status.code(), Some(2));
    assert!(
        text(&strict.stderr).contains("a.jsonl, line 3: "),
        "{}",
        text(&strict.stderr)
    );
    assert_eq!(list(dir.path()), before, "strict writes nothing");

    let said = ok(
        dir.path(),
        &["prune", "a.jsonl", "-o", "b.jsonl", "--tolerant", "--json"],
    );
    for place in [
        "line 3: ",
        "line 4: ",
        "line 5: 9 NUL bytes",
        "line 7: ",
        "line 9: ",
    ] {
        assert!(said.contains(&format!("a.jsonl, {place}")), "{said}");
    }
    assert!(said.contains("4 x could not be read"), "{said}");
    assert!(fs::read(path("b.jsonl")).unwrap() == file(&alone));
    let bad: Vec<bool> = receipts(&path("b.jsonl.receipt.jsonl"))
        .iter()
        .map(|r| r.get("error").is_some())
        .collect();
    assert_eq!(bad, [false, true, true, false, true, false, true]);
    ok(
        dir.path(),
        &[
            "restore",
            "b.jsonl",
            "--receipt",
            "b.jsonl.receipt.jsonl",
            "-o",
            "c.jsonl",
        ],
    );
    assert!(fs::read(path("c.jsonl")).unwrap() == file(&runs));
}

#[test]
fn arrays_and_compressed_files_come_back() {
    let (dir, runs) = examples(2);
    let path = |name: &str| dir.path().join(name);
    let alone = pruned_alone(dir.path(), &runs);
    let array = |runs: &[String]| format!("[ {} ,\n\n {}\n]\n", runs[0], runs[1]);
    fs::write(path("a.json"), array(&runs)).unwrap();
    ok(dir.path(), &["prune", "a.json", "-o", "b.json", "-q"]);
    assert_eq!(fs::read_to_string(path("b.json")).unwrap(), array(&alone));
    ok(
        dir.path(),
        &[
            "restore",
            "b.json",
            "--receipt",
            "b.json.receipt.jsonl",
            "-o",
            "c.json",
        ],
    );
    assert_eq!(fs::read_to_string(path("c.json")).unwrap(), array(&runs));

    let lines = runs.join("\n");
    let file = |name: &str| fs::File::create(path(name)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file("a.jsonl.gz"), flate2::Compression::best());
    gzip.write_all(lines.as_bytes()).unwrap();
    gzip.finish().unwrap();
    zstd::stream::copy_encode(lines.as_bytes(), file("a.jsonl.zst"), 1).unwrap();
    for (from, to) in [("a.jsonl.gz", "b.jsonl.zst"), ("a.jsonl.zst", "b.jsonl.gz")] {
        ok(dir.path(), &["prune", from, "-o", to, "-q"]);
        let mut out = String::new();
        if to.ends_with("gz") {
            flate2::read::GzDecoder::new(fs::File::open(path(to)).unwrap())
                .read_to_string(&mut out)
                .unwrap();
        } else {
            zstd::Decoder::new(fs::File::open(path(to)).unwrap())
                .unwrap()
                .read_to_string(&mut out)
                .unwrap();
        }
        assert_eq!(out, alone.join("\n"));
        let receipt = format!("{to}.receipt.jsonl");
        ok(
            dir.path(),
            &["restore", to, "--receipt", &receipt, "-o", "back.jsonl"],
        );
        assert_eq!(fs::read_to_string(path("back.jsonl")).unwrap(), lines);
    }
}

#[test]
fn repair_mends_half_a_character_and_restore_takes_it_back() {
    let (dir, mut runs) = examples(1);
    let broken = runs[0].replacen("\"content\": \"", "\"content\": \"\\ud83d ", 1);
    assert_ne!(broken, runs[0]);
    runs[0] = broken.clone();
    fs::write(dir.path().join("a.json"), &broken).unwrap();
    let refused = spare(dir.path(), &["prune", "a.json", "-o", "b.json"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = ok(dir.path(), &["prune", "a.json", "-o", "b.json", "--repair"]);
    assert!(
        said.contains("a.json: mended: byte ") && said.contains("U+FFFD"),
        "{said}"
    );
    assert!(
        fs::read_to_string(dir.path().join("b.json"))
            .unwrap()
            .contains("\\ufffd ")
    );
    assert_eq!(
        receipts(&dir.path().join("b.json.receipt.jsonl"))[0]["mends"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    ok(
        dir.path(),
        &[
            "restore",
            "b.json",
            "--receipt",
            "b.json.receipt.jsonl",
            "-o",
            "c.json",
        ],
    );
    assert_eq!(
        fs::read_to_string(dir.path().join("c.json")).unwrap(),
        broken
    );
}

/// Killed at many moments, with both partial files also cut short as a crash of the machine leaves them.
#[test]
fn a_resumed_prune_gives_the_same_bytes() {
    let (dir, runs) = examples(12);
    let path = |name: &str| dir.path().join(name);
    fs::write(
        path("a.jsonl"),
        format!("\u{feff}{}\r\n\0\0\n", runs.join("\r\n\r\n")),
    )
    .unwrap();
    ok(
        dir.path(),
        &["prune", "a.jsonl", "-o", "whole.jsonl.gz", "-q"],
    );
    let whole = fs::read(path("whole.jsonl.gz")).unwrap();
    let whole_receipts = fs::read(path("whole.jsonl.gz.receipt.jsonl")).unwrap();
    let args = ["prune", "a.jsonl", "-o", "out.jsonl.gz", "--resume"];
    let (out, receipt) = (
        path(".out.jsonl.gz.partial"),
        path(".out.jsonl.gz.receipt.jsonl.partial"),
    );
    let mut partly = 0;
    for (round, cut) in [(1, 0), (2, 0), (4, 1), (6, 300), (9, 5_000)] {
        // Wait for some receipts rather than for some time: machines differ.
        let mut child = Command::new(SPARE)
            .current_dir(dir.path())
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while child.try_wait().unwrap().is_none() {
            let done = fs::read(&receipt).map_or(0, |r| r.iter().filter(|b| **b == b'\n').count());
            if done >= round {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let _ = child.kill();
        child.wait().unwrap();
        assert!(!path("out.jsonl.gz").exists());
        let torn = if round % 2 == 0 { &out } else { &receipt };
        if let Ok(file) = fs::OpenOptions::new().write(true).open(torn) {
            let length = file.metadata().unwrap().len();
            partly += usize::from(length > 0);
            file.set_len(length.saturating_sub(cut)).unwrap();
        }
    }
    assert!(partly > 2, "it was interrupted with something done");

    // Other options and another input are refused by name; what was done stays.
    let kept = fs::read(&out).unwrap();
    let refused = spare(dir.path(), &[&args[..], &["--nats", "1"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("--rule"),
        "{}",
        text(&refused.stderr)
    );
    let original = fs::read(path("a.jsonl")).unwrap();
    fs::write(
        path("a.jsonl"),
        text(&original).replacen("Which", "What", 1),
    )
    .unwrap();
    let refused = spare(dir.path(), &args);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(
        said.contains("a.jsonl, line 1: ") && said.contains("the input has changed"),
        "{said}"
    );
    assert_eq!(fs::read(&out).unwrap(), kept);
    fs::write(path("a.jsonl"), original).unwrap();

    let said = spare(dir.path(), &args);
    assert_eq!(said.status.code(), Some(0), "{}", text(&said.stderr));
    assert!(
        text(&said.stdout).contains("records were done before"),
        "{}",
        text(&said.stdout)
    );
    assert!(fs::read(path("out.jsonl.gz")).unwrap() == whole);
    assert_eq!(
        fs::read(path("out.jsonl.gz.receipt.jsonl")).unwrap(),
        whole_receipts
    );
    let left: Vec<_> = list(dir.path())
        .into_iter()
        .filter(|p| p.file_name().unwrap().to_string_lossy().starts_with('.'))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}
