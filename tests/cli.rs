//! The program as a user runs it: exit codes, messages, files.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

const SPARE: &str = env!("CARGO_BIN_EXE_spare");

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn spare(dir: &Path, args: &[&str]) -> Output {
    Command::new(SPARE)
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A run with one event; the picture is at `picture`.
fn run_with_picture(picture: &str) -> Value {
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

/// Runs prune on `run` and checks the rules of a refusal: exit code 2, one clear message, no panic, nothing written.
fn refused(dir: &TempDir, run: &str, args: &[&str], says: &[&str]) {
    let name = "run.json";
    fs::write(dir.path().join(name), run).unwrap();
    let before: Vec<_> = list(dir.path());
    let out = spare(
        dir.path(),
        &[&["prune", name, "-o", "out.json"], args].concat(),
    );
    let message = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{message}");
    assert!(!message.contains("panicked"), "{message}");
    for part in says {
        assert!(message.contains(part), "`{message}` lacks `{part}`");
    }
    assert_eq!(list(dir.path()), before, "{message}");
}

fn list(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    all.sort();
    all
}

#[test]
fn bad_runs_are_refused() {
    let dir = TempDir::new().unwrap();
    let cases: Vec<Value> = serde_json::from_str(include_str!("data/bad_runs.json")).unwrap();
    for case in cases {
        let says: Vec<&str> = case["says"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s.as_str().unwrap())
            .collect();
        refused(
            &dir,
            case["run"].as_str().unwrap(),
            &[],
            &[&says[..], &["run.json"]].concat(),
        );
    }
}

/// A PNG header that claims 100,000 x 100,000 pixels.
fn huge_png() -> Vec<u8> {
    fs::read(root("examples/board/img/000-1.png"))
        .map(|mut png| {
            png[16..20].copy_from_slice(&100_000u32.to_be_bytes());
            png[20..24].copy_from_slice(&100_000u32.to_be_bytes());
            let crc = crc32(&png[12..29]);
            png[29..33].copy_from_slice(&crc.to_be_bytes());
            png
        })
        .unwrap()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| {
            if c & 1 == 1 {
                (c >> 1) ^ 0xEDB8_8320
            } else {
                c >> 1
            }
        })
    })
}

#[test]
fn bad_pictures_are_refused() {
    let dir = TempDir::new().unwrap();
    let good = fs::read(root("examples/board/img/000-1.png")).unwrap();
    fs::write(dir.path().join("broken.png"), &good[..good.len() / 2]).unwrap();
    fs::write(dir.path().join("text.png"), "no picture").unwrap();
    fs::write(dir.path().join("empty.png"), "").unwrap();
    fs::write(dir.path().join("huge.png"), huge_png()).unwrap();
    let try_it = |address: &str, says: &[&str]| {
        refused(
            &dir,
            &run_with_picture(address).to_string(),
            &[],
            &[says, &["run.json", "/messages/0/content/0/image_url/url"]].concat(),
        );
    };
    try_it("missing.png", &["missing.png", "no such file"]);
    try_it("broken.png", &["broken.png"]);
    try_it("text.png", &["text.png"]);
    try_it("empty.png", &["empty.png"]);
    try_it("huge.png", &["huge.png", "100000"]);
    for elsewhere in [
        "http://example.org/a.png",
        "https://example.org/a.png",
        "a/../../b.png",
        "/etc/passwd",
    ] {
        try_it(elsewhere, &[elsewhere, "not opened", "a data URI"]);
    }
    try_it("data:image/png;base64,@@@@", &["base64"]);
    try_it("data:image/png,abc", &["base64"]);
    #[cfg(unix)]
    {
        let outside = TempDir::new().unwrap();
        fs::write(outside.path().join("x.png"), &good).unwrap();
        std::os::unix::fs::symlink(outside.path().join("x.png"), dir.path().join("link.png"))
            .unwrap();
        try_it("link.png", &["link.png", "leads out of"]);
    }
}

/// A copy of the board checkpoint, to be spoilt.
fn board() -> TempDir {
    let dir = TempDir::new().unwrap();
    for entry in fs::read_dir(root("models/pretrained/board")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    dir
}

/// Edits the safetensors file: header and data.
fn edit_weights(dir: &Path, edit: impl FnOnce(&mut Value, &mut Vec<u8>)) {
    let path = dir.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let mut data = bytes[8 + length..].to_vec();
    edit(&mut header, &mut data);
    let header = header.to_string();
    let out = [
        &(header.len() as u64).to_le_bytes()[..],
        header.as_bytes(),
        &data,
    ]
    .concat();
    fs::write(path, out).unwrap();
}

#[test]
fn bad_model_folders_are_refused() {
    let dir = TempDir::new().unwrap();
    fs::copy(
        root("examples/board/img/000-1.png"),
        dir.path().join("p.png"),
    )
    .unwrap();
    let run = run_with_picture("p.png").to_string();
    let with = |spoil: &dyn Fn(&Path), says: &[&str]| {
        let model = board();
        spoil(model.path());
        refused(
            &dir,
            &run,
            &["--model", model.path().to_str().unwrap()],
            says,
        );
    };
    let name = "model.language_model.layers.0.mlp.up_proj.weight";
    with(
        &|m| fs::remove_file(m.join("config.json")).unwrap(),
        &["config.json"],
    );
    with(
        &|m| fs::write(m.join("config.json"), "{").unwrap(),
        &["config.json"],
    );
    with(
        &|m| {
            fs::write(
                m.join("config.json"),
                r#"{"architectures": ["GPT2LMHeadModel"]}"#,
            )
            .unwrap()
        },
        &["GPT2LMHeadModel", "Qwen3VL"],
    );
    with(
        &|m| fs::remove_file(m.join("tokenizer.json")).unwrap(),
        &["tokenizer.json"],
    );
    with(
        &|m| fs::remove_file(m.join("model.safetensors")).unwrap(),
        &["model.safetensors"],
    );
    with(
        &|m| {
            let index = json!({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}});
            fs::rename(
                m.join("model.safetensors"),
                m.join("model-00001-of-00002.safetensors"),
            )
            .unwrap();
            fs::write(m.join("model.safetensors.index.json"), index.to_string()).unwrap();
        },
        &["model-00002-of-00002.safetensors"],
    );
    with(
        &|m| {
            edit_weights(m, |h, _| {
                let shape = h[name]["shape"].clone();
                h[name]["shape"] = json!([shape[1], shape[0]]);
            })
        },
        &[name, "192", "576"],
    );
    with(
        &|m| {
            edit_weights(m, |h, _| {
                let tensor = h.as_object_mut().unwrap().remove(name).unwrap();
                h["model.language_model.surprise"] = tensor;
            })
        },
        &[name, "model.language_model.surprise"],
    );
    with(
        &|m| {
            edit_weights(m, |h, data| {
                let at = h[name]["data_offsets"][0].as_u64().unwrap() as usize;
                data[at..at + 2].copy_from_slice(&0x7FC0u16.to_le_bytes());
            })
        },
        &[name, "NaN"],
    );
    with(
        &|m| {
            fs::write(
                m.join("chat_template.jinja"),
                "{{ raise_exception('only two turns') }}",
            )
            .unwrap()
        },
        &["only two turns"],
    );
    with(
        &|m| fs::write(m.join("chat_template.jinja"), "{% if %}").unwrap(),
        &["template"],
    );
    refused(&dir, &run, &["--model", "nowhere"], &["nowhere"]);
}

/// Needs neither a network nor the feature that downloads.
#[cfg(unix)]
#[test]
fn a_snapshot_in_the_cache_is_a_model() {
    let dir = TempDir::new().unwrap();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let repo = dir.path().join("hub/models--some-lab--board");
    let snapshot = repo.join("snapshots").join(commit);
    fs::create_dir_all(snapshot.parent().unwrap()).unwrap();
    fs::create_dir_all(repo.join("refs")).unwrap();
    fs::write(repo.join("refs/main"), commit).unwrap();
    std::os::unix::fs::symlink(root("models/pretrained/board"), &snapshot).unwrap();
    let spare = |args: &[&str]| {
        Command::new(SPARE)
            .current_dir(dir.path())
            .args(args)
            .envs([("HF_HOME", "."), ("HF_HUB_OFFLINE", "1")])
            .env_remove("HF_HUB_CACHE")
            .env_remove("HUGGINGFACE_HUB_CACHE")
            .output()
            .unwrap()
    };
    let doctor = spare(&["doctor", "--model", "some-lab/board"]);
    let out = text(&doctor.stdout);
    assert!(doctor.status.success(), "{}", text(&doctor.stderr));
    let card = format!("checkpoint: some-lab/board at commit {commit}\n");
    assert!(out.contains(&card), "{out}");
    let says = text(&doctor.stderr);
    assert_eq!(says, format!("spare: some-lab/board at commit {commit}\n"));
    let models = text(&spare(&["models"]).stdout);
    for part in ["in the cache ./hub", "some-lab/board", commit, "main"] {
        assert!(models.contains(part), "{models}");
    }
    for (model, parts) in [
        (
            "some-lab/other",
            ["some-lab/other@main", "./hub", "hf download"],
        ),
        (
            "../nowhere",
            ["../nowhere", "no folder", "owner/name[@revision]"],
        ),
    ] {
        let out = spare(&["doctor", "--model", model]);
        let says = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{says}");
        for part in parts {
            assert!(says.contains(part), "{says}");
        }
    }
}

#[test]
fn wrong_options_are_refused() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("other.json"), "keep me").unwrap();
    let run = run_with_picture("p.png").to_string();
    for (args, says) in [
        (&["--receipt", "run.json"][..], "--receipt"),
        (&["--receipt", "out.json"], "--receipt"),
        (&["--trigger", "fixed:0"], "fixed"),
        (&["--top-k", "0"], "--top-k"),
        (&["--min-nats", "-1"], "--min-nats"),
        (&["--summary", "@nowhere.txt"], "nowhere.txt"),
        (&["--summary", " "], "--summary"),
        (&["--threads", "0"], "--threads"),
    ] {
        refused(&dir, &run, args, &[says]);
    }
    let out = spare(dir.path(), &["prune", "run.json", "-o", "run.json"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(
        fs::read_to_string(dir.path().join("run.json")).unwrap(),
        run
    );
    let out = spare(dir.path(), &["prune", "nowhere.jsonl", "-o", "out.json"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("nowhere.jsonl"));
}

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
