//! What the program refuses: bad runs, pictures, models and options, each with one clear message and nothing written.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used)]

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::Path;
use std::process::Command;

use program::{SPARE, list, root, run_with_picture, spare, text};
use serde_json::{Value, json};
use tempfile::TempDir;

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
            [
                "../nowhere",
                "neither there nor a repository",
                "owner/name[@revision]",
            ],
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
