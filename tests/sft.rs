//! `spare sft`: pairs from runs of every format, and a summariser that learns from them.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use program::{list, root, run_with_picture, spare, text};
use serde_json::{Value, json};
use spare::formats::{format_of, parse};
use spare::replay::PictureRoot;
use spare::summary::SummaryTool;
use spare::train::sft::Pair;
use spare::trajectory::{Message, Part, Trajectory};
use spare::{Engine, WeightDtype};
use tempfile::TempDir;

const BOARD: &str = "models/pretrained/board";

fn board_runs() -> PathBuf {
    root("examples/board/runs.jsonl")
}

/// Pairs of the first `runs` example runs, collected into a folder of their own.
fn pairs(runs: usize) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("runs")).unwrap();
    let all = fs::read_to_string(board_runs()).unwrap();
    let first: Vec<&str> = all.lines().take(runs).collect();
    fs::write(dir.path().join("runs/runs.jsonl"), first.join("\n")).unwrap();
    for picture in list(&root("examples/board/img")) {
        let to = dir.path().join("runs/img");
        fs::create_dir_all(&to).unwrap();
        fs::copy(&picture, to.join(picture.file_name().unwrap())).unwrap();
    }
    let args = ["sft", "--collect", "runs/runs.jsonl", "-o", "pairs.jsonl"];
    let out = spare(dir.path(), &args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    dir
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_pair_is_the_history_before_the_call_and_its_argument() {
    let dir = pairs(12);
    let found = lines(&dir.path().join("pairs.jsonl"));
    let runs = lines(&board_runs());
    let mut of_runs = 0;
    for run in &runs {
        let messages = run["messages"].as_array().unwrap();
        for (at, message) in messages.iter().enumerate() {
            let function = &message["tool_calls"][0]["function"];
            if function["name"] != "summarize_the_task" {
                continue;
            }
            let pair = &found[of_runs];
            of_runs += 1;
            assert_eq!(pair["id"], run["id"]);
            assert_eq!(pair["tools"], run["tools"]);
            let arguments: Value =
                serde_json::from_str(function["arguments"].as_str().unwrap()).unwrap();
            assert_eq!(pair["summary"], arguments["summary"]);
            assert_eq!(
                pair["turn"]["reasoning_content"],
                message["reasoning_content"]
            );
            let history = pair["messages"].as_array().unwrap();
            assert_eq!(history.len(), at);
            for (own, run) in history.iter().zip(messages) {
                assert_eq!(own["reasoning_content"], run["reasoning_content"]);
                assert_eq!(own["tool_calls"], run["tool_calls"]);
                assert_eq!(own["role"], run["role"]);
            }
        }
    }
    assert_eq!(found.len(), of_runs);
    assert!(of_runs >= 10, "{of_runs} pairs");
    // Pictures are the runs' own bytes, under the names that the pairs give them.
    let url = found[0]["messages"][1]["content"][0]["image_url"]["url"]
        .as_str()
        .unwrap();
    let own = fs::read(dir.path().join(url)).unwrap();
    assert_eq!(own, fs::read(root("examples/board/img/000-0.png")).unwrap());
}

/// What a model is shown of a history does not depend on the format that the history came in, nor on the way through a file of pairs.
#[test]
fn histories_of_every_format_come_back_as_they_were() {
    let (mut formats, mut wrong) = (Vec::new(), Vec::new());
    for folder in list(&root("tests/data/formats")) {
        for file in list(&folder) {
            let value = parse(&fs::read_to_string(&file).unwrap()).unwrap();
            let Ok(run) = format_of(&value, None).unwrap().read(&value) else {
                continue;
            };
            let pictures = run.messages.iter().flat_map(Message::pictures);
            let addresses: Vec<String> = pictures
                .enumerate()
                .map(|(i, _)| format!("img/{i}.png"))
                .collect();
            let pair = Pair {
                id: run.id.clone(),
                source: "a".into(),
                event: 0,
                tool: SummaryTool::default(),
                history: Trajectory { ..run },
                thought: Some("thought".into()),
                said: "said".into(),
                summary: "\"Done\": ü".into(),
                pictures: PictureRoot::new("."),
            };
            let json = pair.to_json(&addresses);
            let read = Pair::read(&parse(&json.to_string()).unwrap(), &pair.pictures, "b");
            let parts = pair.history.messages.iter().flat_map(|m| &m.parts);
            if parts.clone().any(|part| matches!(part, Part::Other(_))) {
                assert!(read.is_err(), "{}", file.display());
                continue;
            }
            let again = match read {
                Ok(again) => again,
                Err(error) => {
                    wrong.push(format!("{}: {error}", file.display()));
                    continue;
                }
            };
            let (a, b) = (&pair.history, &again.history);
            assert_eq!(
                a.template_messages(usize::MAX),
                b.template_messages(usize::MAX),
                "{}",
                file.display()
            );
            assert_eq!(
                (&a.tools, &pair.id, &pair.source),
                (&b.tools, &again.id, &again.source)
            );
            assert_eq!(
                (&pair.thought, &pair.said, &pair.summary),
                (&again.thought, &again.said, &again.summary)
            );
            formats.push(folder.clone());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    formats.dedup();
    assert!(formats.len() >= 12, "{} formats", formats.len());
}

#[test]
fn it_learns_stops_and_goes_on_as_if_it_had_not_stopped() {
    let dir = pairs(4);
    let model = root(BOARD);
    let model = model.to_str().unwrap();
    let train = |out: &str, more: &[&str]| {
        let args = [
            "sft",
            "--runs",
            "pairs.jsonl",
            "--model",
            model,
            "--out",
            out,
        ];
        let settings = [
            "--epochs",
            "4",
            "--batch",
            "3",
            "--rate",
            "3e-4",
            "--warmup",
            "2",
            "--held-out",
            "30",
        ];
        let done = spare(dir.path(), &[&args[..], &settings[..], more].concat());
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stderr)
    };
    let said = train("whole", &[]);
    assert!(said.contains("held out:"), "{said}");
    train("parts", &["--limit", "2"]);
    train("parts", &[]);
    let curve = |out: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(dir.path().join(out).join("loss.csv")).unwrap();
        let rows = text.lines().skip(1);
        rows.map(|row| row.split(',').map(str::to_owned).collect())
            .collect()
    };
    let (whole, parts) = (curve("whole"), curve("parts"));
    assert!(whole.len() >= 4, "{whole:?}");
    assert_eq!(whole.len(), parts.len());
    for (a, b) in whole.iter().zip(&parts) {
        // step, epoch, loss, rate, norm, tokens; seconds differ
        assert_eq!(a[..6], b[..6]);
    }
    let loss = |row: &Vec<String>| row[2].parse::<f64>().unwrap();
    let first = loss(&whole[0]);
    let last = loss(whole.last().unwrap());
    assert!(last < first, "{first} {last}");
    for file in [
        "whole/checkpoint/model.safetensors",
        "whole/loss.csv",
        "whole/sft.json",
    ] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
    let bytes =
        |out: &str| fs::read(dir.path().join(out).join("checkpoint/model.safetensors")).unwrap();
    assert!(bytes("whole") == bytes("parts"));
    assert!(bytes("whole") != fs::read(root(BOARD).join("model.safetensors")).unwrap());
    Engine::load(&dir.path().join("whole/checkpoint"), WeightDtype::Auto).unwrap();
    // The same folder with other settings is refused.
    let other = [
        "sft",
        "--runs",
        "pairs.jsonl",
        "--model",
        model,
        "--out",
        "whole",
    ];
    let refused = spare(dir.path(), &other);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("sft.json with other settings"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn adapters_are_written_for_peft_and_merged() {
    let dir = pairs(2);
    let model = root(BOARD);
    let args = [
        "sft",
        "--runs",
        "runs/runs.jsonl",
        "--model",
        model.to_str().unwrap(),
        "-o",
        "out",
    ];
    let more = [
        "--weights",
        "lora",
        "--rank",
        "2",
        "--targets",
        "q_proj,v_proj",
        "--epochs",
        "2",
        "--batch",
        "2",
        "--held-out",
        "0",
    ];
    let done = spare(dir.path(), &[&args[..], &more[..]].concat());
    assert!(done.status.success(), "{}", text(&done.stderr));
    let card: Value = serde_json::from_str(
        &fs::read_to_string(dir.path().join("out/adapter/adapter_config.json")).unwrap(),
    )
    .unwrap();
    assert_eq!((&card["r"], &card["lora_alpha"]), (&json!(2), &json!(4.0)));
    assert!(
        dir.path()
            .join("out/adapter/adapter_model.safetensors")
            .exists()
    );
    Engine::load(&dir.path().join("out/checkpoint"), WeightDtype::Auto).unwrap();
    assert!(
        fs::read(dir.path().join("out/checkpoint/model.safetensors")).unwrap()
            != fs::read(model.join("model.safetensors")).unwrap()
    );
}

#[test]
fn bad_input_is_named_with_file_line_found_and_expected() {
    let dir = TempDir::new().unwrap();
    let model = root(BOARD);
    let model = model.to_str().unwrap();
    let good =
        json!({"messages": [{"role": "user", "content": "Which?"}], "summary": "Done: nothing."});
    let mut bad_summary = good.clone();
    bad_summary["summary"] = json!(7);
    let mut empty = good.clone();
    empty["summary"] = json!(" ");
    let mut no_role = good.clone();
    no_role["messages"][0] = json!({"content": "x"});
    let mut bad_tool = good.clone();
    bad_tool["tool"] = json!(".x");
    let missing = run_with_picture("missing.png");
    let cases: [(&str, Vec<String>, &[&str]); 7] = [
        (
            "a number",
            vec![good.to_string(), bad_summary.to_string()],
            &[
                "r.jsonl, line 2",
                "/summary",
                "the number 7",
                "expected a string",
            ],
        ),
        (
            "empty",
            vec![good.to_string(), String::new(), empty.to_string()],
            &["r.jsonl, line 3", "/summary", "the text of a summary"],
        ),
        (
            "no role",
            vec![no_role.to_string(), good.to_string()],
            &["r.jsonl, line 1", "role"],
        ),
        (
            "bad tool",
            vec![good.to_string(), bad_tool.to_string()],
            &["line 2", "/tool", "NAME or NAME.ARG"],
        ),
        (
            "not JSON",
            vec![good.to_string(), "{\"messages\": [".into()],
            &["r.jsonl, line 2", "not JSON"],
        ),
        (
            "no picture",
            vec![good.to_string(), missing.to_string()],
            &["r.jsonl, line 2", "missing.png"],
        ),
        (
            "no summary",
            vec![json!({"messages": [{"role": "user", "content": "a"}]}).to_string(); 2],
            &["r.jsonl without a summary", "summarize_the_task"],
        ),
    ];
    for (name, lines, says) in cases {
        fs::write(dir.path().join("r.jsonl"), lines.join("\n")).unwrap();
        for args in [
            &["sft", "--runs", "r.jsonl", "--model", model, "--out", "out"][..],
            &["sft", "--collect", "r.jsonl", "--out", "pairs.jsonl"],
        ] {
            let done = spare(dir.path(), args);
            assert_eq!(done.status.code(), Some(2), "{name} {}", text(&done.stderr));
            for part in says {
                assert!(
                    text(&done.stderr).contains(part),
                    "{name}: {part} in {}",
                    text(&done.stderr)
                );
            }
        }
        assert_eq!(list(dir.path()).len(), 1, "nothing is left behind: {name}");
    }
    fs::write(dir.path().join("r.jsonl"), good.to_string()).unwrap();
    for (more, says) in [
        (["--rate", "0"], "--rate: found 0"),
        (["--epochs", "0"], "--epochs: found 0"),
        (["--held-out", "95"], "--held-out: found 95"),
    ] {
        let args = ["sft", "--runs", "r.jsonl", "--model", model, "--out", "out"];
        let done = spare(dir.path(), &[&args[..], &more[..]].concat());
        assert_eq!(done.status.code(), Some(2));
        assert!(text(&done.stderr).contains(says), "{}", text(&done.stderr));
    }
    let done = spare(
        dir.path(),
        &[
            "sft", "--runs", "r.jsonl", "--model", "board", "--out", "out",
        ],
    );
    assert!(
        text(&done.stderr).contains("--model: found `board`"),
        "{}",
        text(&done.stderr)
    );
}
