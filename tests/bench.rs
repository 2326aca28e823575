//! Published benchmarks in their own layouts: read, answered, graded, refused. The Parquet files: tests/golden/bench.py.
#![cfg(all(feature = "cli", feature = "embedded-model"))]
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::Path;

use program::{root, spare, text};
use serde_json::{Value, json};
use spare::eval::bench::{Answer, BenchTask, Kind};
use spare::trajectory::{Message, Part, PictureSource};
use tempfile::TempDir;

/// Files by their path; values that are no text are written as JSON.
fn folder(files: &[(&str, Value)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (path, content) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let content = content
            .as_str()
            .map_or_else(|| content.to_string(), str::to_owned);
        fs::write(path, content).unwrap();
    }
    dir
}

fn copy_picture(dir: &Path, path: &str) {
    let to = dir.join(path);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(root("examples/board/img/000-1.png"), to).unwrap();
}

fn addresses(task: &BenchTask) -> Vec<String> {
    let of = |part: &Part| match part {
        Part::Picture(picture) => match &picture.source {
            PictureSource::Path(path) => path.clone(),
            PictureSource::Bytes(bytes) => format!("{} bytes", bytes.len()),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    task.pictures.iter().map(of).collect()
}

fn said(parts: &[Part]) -> String {
    Message::user_parts(parts.to_vec()).text()
}

fn gta() -> Value {
    json!({
        "0": {
            "tools": [{"name": "OCR", "description": "Reads text.", "inputs": [
                {"type": "image", "name": "image", "description": null, "optional": false, "default": null}], "outputs": []},
                {"name": "Calculator", "description": "Computes.", "inputs": [
                {"type": "text", "name": "expression", "description": "Python", "optional": false},
                {"type": "int", "name": "digits", "description": null, "optional": true}], "outputs": []}],
            "files": [{"type": "image", "path": "image/image_1.png", "url": null}],
            "dialogs": [
                {"role": "user", "content": "How much do two of them cost?"},
                {"role": "assistant", "thought": "I read.", "tool_calls": [{"type": "function", "function": {"name": "OCR", "arguments": {"image": "image/image_1.png"}}}]},
                {"role": "tool", "name": "OCR", "content": {"type": "text", "content": "price 6"}},
                {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "Calculator", "arguments": {"expression": "2 * 6"}}}]},
                {"role": "tool", "name": "Calculator", "content": {"type": "text", "content": "12"}},
                {"role": "assistant", "content": "12 dollars"}],
            "gt_answer": {"whitelist": [["12", "twelve"]], "blacklist": null}
        },
        "1": {"tools": [], "files": [], "dialogs": [{"role": "user", "content": "Draw a cat."},
            {"role": "assistant", "tool_calls": [{"type": "function", "function": {"name": "TextToImage", "arguments": {"keywords": "cat"}}}]},
            {"role": "tool", "name": "TextToImage", "content": {"type": "image", "content": "image/cat.png"}}], "gt_answer": null},
        "2": {"tools": [], "files": [], "dialogs": [{"role": "user", "content": "What is it like?"}], "gt_answer": ["A red car."]}
    })
}

#[test]
fn gta_brings_its_tools_and_what_they_said() {
    let dir = folder(&[("dataset.json", gta())]);
    let tasks = Kind::Gta.load(dir.path()).unwrap();
    let ids: Vec<&str> = tasks.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(ids, ["0", "1", "2"]);
    let first = &tasks[0];
    assert_eq!(
        first.question,
        "How much do two of them cost?\nFiles: image/image_1.png"
    );
    assert_eq!(addresses(first), ["image/image_1.png"]);
    let calls: Vec<(&str, String)> = first
        .recorded
        .iter()
        .map(|r| (r.name.as_str(), said(&r.result)))
        .collect();
    assert_eq!(
        calls,
        [
            ("OCR", "price 6".to_owned()),
            ("Calculator", "12".to_owned())
        ]
    );
    let parameters = &first.tools[1]["function"]["parameters"];
    assert_eq!(parameters["properties"]["digits"]["type"], "integer");
    assert_eq!(parameters["required"], json!(["expression"]));
    let Answer::Phrases { all, none } = &first.answer else {
        panic!("{:?}", first.answer);
    };
    assert_eq!(
        (all, none),
        (
            &vec![vec!["12".to_owned(), "twelve".to_owned()]],
            &Vec::new()
        )
    );
    assert_eq!(tasks[1].answer, Answer::Ungraded);
    assert!(matches!(tasks[1].recorded[0].result[0], Part::Picture(_)));
    assert_eq!(tasks[2].answer, Answer::Texts(vec!["A red car.".into()]));
    // As it lies in the archive, one folder down.
    let nested = folder(&[("gta_dataset/dataset.json", gta())]);
    let tasks = Kind::Gta.load(nested.path()).unwrap();
    assert_eq!(addresses(&tasks[0]), ["gta_dataset/image/image_1.png"]);
}

fn vstar(label: &str) -> String {
    let line = |id: &str, label: &str| {
        let text = "What is the colour of the cup?\n(A) red\n(B) blue\nAnswer with the option's letter from the given choices directly.";
        json!({"image": format!("direct_attributes/sa_{id}.png"), "text": text, "category": "direct_attributes", "question_id": id, "label": label}).to_string()
    };
    format!("{}\n\n{}\n", line("1", "A"), line("2", label))
}

#[test]
fn vstar_has_options_in_its_text() {
    let dir = folder(&[("test_questions.jsonl", json!(vstar("B")))]);
    let tasks = Kind::VStar.load(dir.path()).unwrap();
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[1].id, "direct_attributes-2");
    assert_eq!(addresses(&tasks[1]), ["direct_attributes/sa_2.png"]);
    let options = ["red", "blue"].map(str::to_owned).to_vec();
    assert_eq!(
        tasks[1].answer,
        Answer::Choice {
            letter: 'B',
            options
        }
    );
}

#[test]
fn mnms_plans_are_python() {
    let line = |id: u64, plan: &str, alternatives: Option<&str>| {
        json!({"id": id, "user_request": format!("Please count the dogs in '{id}.png', and tell me."), "plan_str": plan,
            "code_str": "def solve(): ...", "alt_plans_str": alternatives})
        .to_string()
    };
    let plan = "[{'id': 0, 'name': 'object detection', 'args': {'image': '1.png'}}, {'id': 1, 'name': 'count', 'args': {'objects': '<node-0>.objects'}}]";
    let other = "[[{'id': 0, 'name': 'visual question answering', 'args': {'image': '1.png', 'question': \"how many's\"}}]]";
    let lines = format!("{}\n{}\n", line(1, plan, Some(other)), line(2, plan, None));
    let dir = folder(&[("test_human_verified_filtered.json", json!(lines))]);
    copy_picture(dir.path(), "data/1.png");
    let tasks = Kind::Mnms.load(dir.path()).unwrap();
    assert_eq!(tasks.len(), 2);
    assert_eq!(addresses(&tasks[0]), ["data/1.png"]);
    assert!(
        tasks[1].pictures.is_empty(),
        "a picture that is not there is not shown"
    );
    let names = |plan: &[&str]| plan.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    let both = vec![
        names(&["object_detection", "count"]),
        names(&["visual_question_answering"]),
    ];
    assert_eq!(tasks[0].answer, Answer::Plans(both));
    let tools: Vec<&str> = tasks[1]
        .tools
        .iter()
        .map(|t| t["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        tools,
        ["count", "object_detection", "visual_question_answering"]
    );
    // The same as one list.
    let list: Vec<Value> = lines
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let dir = folder(&[("test_human_verified_filtered.json", json!(list))]);
    assert_eq!(Kind::Mnms.load(dir.path()).unwrap().len(), 2);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_layouts() {
    let tasks = Kind::Jigsaw.load(&root("tests/data/bench/jigsaw")).unwrap();
    let ids: Vec<&str> = tasks.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(
        ids,
        ["val_Jigsaw_1", "val_Jigsaw_2"],
        "the test set has no answers"
    );
    assert_eq!(tasks[0].pictures.len(), 3);
    let Answer::Choice { letter, options } = &tasks[1].answer else {
        panic!("{:?}", tasks[1].answer);
    };
    assert_eq!((*letter, options.len()), ('B', 2));
    let tasks = Kind::VisualToolBench
        .load(&root("tests/data/bench/visualtoolbench"))
        .unwrap();
    let ids: Vec<&str> = tasks.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(ids, ["one", "two#1", "two#2"]);
    assert_eq!(tasks[0].recorded.len(), 1);
    assert_eq!(said(&tasks[0].recorded[0].result), "a sign");
    let counts: Vec<usize> = tasks.iter().map(|t| t.pictures.len()).collect();
    assert_eq!(counts, [1, 2, 1]);
    assert_eq!(
        (tasks[2].earlier.len(), tasks[2].earlier[0].answer.as_str()),
        (1, "2")
    );
    assert_eq!(tasks[2].answer, Answer::Says("3".into()));
    let first = Kind::VisualToolBench
        .load(&root("tests/data/bench/visualtoolbench-first"))
        .unwrap();
    assert_eq!((first.len(), first[0].pictures.len()), (1, 2));
    assert_eq!(first[0].answer, Answer::Says("red".into()));
}

/// A benchmark, the files of its folder, and what the error says.
type Case<'a> = (Kind, &'a [(&'a str, Value)], &'a [&'a str]);

#[test]
fn what_is_no_such_folder_is_named() {
    let cases: [Case<'_>; 9] = [
        (Kind::Gta, &[], &["dataset.json"]),
        (
            Kind::Gta,
            &[("dataset.json", json!([1]))],
            &["dataset.json", "[1]", "an object of tasks"],
        ),
        (
            Kind::Gta,
            &[("dataset.json", json!("{"))],
            &["dataset.json", "not JSON"],
        ),
        (
            Kind::Gta,
            &[(
                "dataset.json",
                json!({"5": {"tools": [], "files": [], "dialogs": []}}),
            )],
            &["/5/dialogs/0", "found nothing"],
        ),
        (
            Kind::Gta,
            &[(
                "dataset.json",
                json!({"5": {"tools": [], "files": [], "dialogs": [{"role": "user", "content": "a"}], "gt_answer": 3}}),
            )],
            &["/5/gt_answer", "found 3", "whitelist"],
        ),
        (
            Kind::VStar,
            &[("test_questions.jsonl", json!(vstar("E")))],
            &["test_questions.jsonl, line 3", "/label", "`E`"],
        ),
        (
            Kind::VStar,
            &[("test_questions.jsonl", json!(""))],
            &["no task"],
        ),
        (
            Kind::Mnms,
            &[(
                "test_human_verified_filtered.json",
                json!("{\"id\": 1, \"user_request\": \"a\", \"plan_str\": \"print(1)\"}"),
            )],
            &["line 1", "/plan_str", "a plan"],
        ),
        (
            Kind::Jigsaw,
            &[("README.md", json!("x"))],
            &["a Parquet file"],
        ),
    ];
    for (kind, files, says) in cases {
        let dir = folder(files);
        let error = kind.load(dir.path()).unwrap_err().to_string();
        for part in says {
            assert!(error.contains(part), "{kind:?}: {part} in {error}");
        }
    }
    let torn = folder(&[("data/a.parquet", json!("no parquet"))]);
    let error = Kind::VisualToolBench
        .load(torn.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("a.parquet"), "{error}");
}

/// The whole way with the small board model: it knows none of these tools, so what is held here is the way and not the score.
#[test]
fn the_command_plays_grades_and_writes() {
    let dir = folder(&[("f/test_questions.jsonl", json!(vstar("B")))]);
    for id in ["1", "2"] {
        copy_picture(dir.path(), &format!("f/direct_attributes/sa_{id}.png"));
    }
    let check = spare(
        dir.path(),
        &["eval", "bench", "--kind", "vstar", "f", "--check"],
    );
    assert!(
        text(&check.stdout).contains("vstar: 2 tasks, 2 of them graded, 2 pictures"),
        "{}",
        text(&check.stderr)
    );
    let args = [
        "eval",
        "bench",
        "--kind",
        "vstar",
        "f",
        "--model",
        "board",
        "--turns",
        "3",
        "--max-tokens",
        "60",
        "-o",
        "out",
    ];
    let done = spare(dir.path(), &args);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let table = text(&done.stdout);
    for part in [
        "2 runs",
        "full",
        "paper",
        "default",
        "calls:",
        "0 tasks not graded",
    ] {
        assert!(table.contains(part), "{part} in {table}");
    }
    let lines = fs::read_to_string(dir.path().join("out/outcomes.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 6);
    for file in [
        "bench.csv",
        "bench.json",
        "accuracy.svg",
        "accuracy.png",
        "accuracy.csv",
        "accuracy.json",
    ] {
        assert!(dir.path().join("out").join(file).exists(), "{file}");
    }
    let wrong = spare(
        dir.path(),
        &[
            "eval",
            "bench",
            "--kind",
            "vstar",
            "f",
            "--model",
            "board",
            "--methods",
            "none",
        ],
    );
    assert!(
        text(&wrong.stderr).contains("--methods: found `none`"),
        "{}",
        text(&wrong.stderr)
    );
}

#[test]
fn recorded_runs_answer_for_tools_that_cannot_run_here() {
    let mut dataset = gta();
    dataset["0"]["dialogs"].as_array_mut().unwrap().truncate(1);
    let call = json!([{"id": "a", "type": "function", "function": {"name": "OCR", "arguments": "{\"image\": \"image/image_1.png\"}"}}]);
    let run = json!({"messages": [{"role": "user", "content": "How much do two of them cost? Here is the picture."},
        {"role": "assistant", "content": "", "tool_calls": call}, {"role": "tool", "tool_call_id": "a", "content": "price 6"}]});
    let stranger = json!({"messages": [{"role": "user", "content": "Something else"}]});
    let dir = folder(&[
        ("f/dataset.json", dataset),
        ("runs.jsonl", json!(format!("{run}\n{stranger}\n"))),
    ]);
    let args = [
        "eval",
        "bench",
        "--kind",
        "gta",
        "f",
        "--check",
        "--recorded",
        "runs.jsonl",
    ];
    let done = spare(dir.path(), &args);
    assert!(
        text(&done.stderr).contains("1 of 2 runs belong to a task"),
        "{}",
        text(&done.stderr)
    );
    // The picture that the second task's record draws, and the recorded one.
    assert!(
        text(&done.stdout).contains("2 recorded calls"),
        "{}",
        text(&done.stdout)
    );
}
