//! `spare check` as a user runs it, and what it says of bad inputs: exact messages. Needs no model.
#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

const SPARE: &str = env!("CARGO_BIN_EXE_spare");

fn check(dir: &Path, args: &[&str]) -> Output {
    Command::new(SPARE)
        .current_dir(dir)
        .arg("check")
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Each message names the file, the line or record, the place in the JSON, what was found and what was expected.
/// `SPARE_BLESS=1` writes what the program says now.
#[test]
fn bad_inputs_are_refused_in_these_words() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/bad_inputs.json");
    let mut cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let bless = std::env::var_os("SPARE_BLESS").is_some();
    assert!(cases.len() >= 30);
    for case in &mut cases {
        let dir = TempDir::new().unwrap();
        let file = case["file"].as_str().unwrap().to_owned();
        let bytes = match case["base64"].as_str() {
            Some(base64) => STANDARD.decode(base64).unwrap(),
            None => case["text"].as_str().unwrap().as_bytes().to_vec(),
        };
        fs::write(dir.path().join(&file), bytes).unwrap();
        let mut args = vec![file.as_str()];
        let more = case["args"].as_array().cloned().unwrap_or_default();
        args.extend(more.iter().map(|a| a.as_str().unwrap()));
        let out = check(dir.path(), &args);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{}: {said}", case["name"]);
        if bless {
            case["says"] = said.trim_end().into();
        } else {
            assert_eq!(
                said.trim_end(),
                case["says"].as_str().unwrap(),
                "{}",
                case["name"]
            );
        }
    }
    if bless {
        let text = serde_json::to_string_pretty(&cases).unwrap();
        fs::write(path, text + "\n").unwrap();
    }
}

#[test]
fn unknown_names_are_refused_before_anything_is_read() {
    let dir = TempDir::new().unwrap();
    for (option, says) in [
        ("--format", "one of openai-chat"),
        ("--provider", "strict or one of"),
    ] {
        let out = check(dir.path(), &["nowhere.json", option, "acme"]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        for part in [option, "`acme`", "expected"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(says.split(' ').all(|word| said.contains(word)), "{said}");
    }
}

/// Parts without `type` are what Qwen-Agent writes: only who says that the run is OpenAI chat is refused.
#[test]
fn parts_without_type_are_a_run_of_qwen_agent() {
    let dir = TempDir::new().unwrap();
    let run = json!([{"role": "user", "content": [{"image": "a.png"}, {"text": "a"}]}, {"role": "assistant", "content": [{"text": "b"}]}]);
    fs::write(dir.path().join("a.json"), run.to_string()).unwrap();
    let out = check(dir.path(), &["a.json"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(
        text(&out.stdout),
        "1 x qwen-agent: rules of qwen-agent\n0 violations\n"
    );
}

fn good(id: &str) -> String {
    json!({"id": id, "messages": [{"role": "user", "content": "one\u{2028}two"}, {"role": "assistant", "content": "<think>a</think>A"}]}).to_string()
}

/// A result whose call was cut off, as truncation of a history leaves it.
fn orphan() -> String {
    json!({"messages": [{"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "c7", "content": "b"}]}).to_string()
}

/// What crashes and other programs leave in a file of lines: a byte order mark, CRLF, blank lines, NUL padding, bad lines, a torn tail.
fn as_the_world_has_it() -> Vec<u8> {
    let mut out = format!("\u{feff}{}\r\n\r\n", good("t1")).into_bytes();
    out.extend(format!("{}\r\n", good("t2").replace("\\u2028", "\u{2028}")).bytes());
    out.extend(b"{\"messages\": [{\"role\": \"user\", \"content\": \"x\"},]}\r\n");
    out.extend(format!("{{\"messages\": [{{\"role\": \"us{}\r\n", good("t5")).bytes());
    out.extend([0; 16]);
    out.extend(format!("\n\0\0{}\n", orphan()).bytes());
    out.extend(b"{\"id\": \"t6\", \"messages\": [{\"role\": \"user\", \"content\": \"torn ta");
    out
}

#[test]
fn a_broken_rule_is_named_with_its_place() {
    let dir = TempDir::new().unwrap();
    fs::write(
        dir.path().join("a.jsonl"),
        format!("{}\n{}\n", good("a"), orphan()),
    )
    .unwrap();
    let out = check(dir.path(), &["a.jsonl"]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    let page = text(&out.stdout);
    let found: Vec<&str> = page
        .lines()
        .filter(|l| l.contains("result_without_call"))
        .collect();
    assert_eq!(found.len(), 1, "{page}");
    for part in ["a.jsonl, line 2: ", "message 1: /messages/1", "`c7`"] {
        assert!(found[0].contains(part), "{page}");
    }
    assert!(page.ends_with("1 violations\n"), "{page}");

    let out = check(dir.path(), &["a.jsonl", "--json"]);
    assert_eq!(out.status.code(), Some(1));
    let line: Value = serde_json::from_slice(&out.stdout).unwrap();
    for (key, value) in [
        ("schema", json!(1)),
        ("file", json!("a.jsonl")),
        ("line", json!(2)),
        ("record", json!(1)),
        ("rule", json!("result_without_call")),
        ("message", json!(1)),
        ("path", json!("/messages/1/tool_call_id")),
    ] {
        assert_eq!(line[key], value, "{line}");
    }

    fs::write(dir.path().join("b.json"), good("a")).unwrap();
    let out = check(dir.path(), &["b.json"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stdout));
}

#[test]
fn strict_stops_at_the_first_bad_line_and_tolerant_names_each() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("a.jsonl"), as_the_world_has_it()).unwrap();
    let out = check(dir.path(), &["a.jsonl"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).starts_with("spare: a.jsonl, line 4: not JSON: "));

    let out = check(dir.path(), &["a.jsonl", "--tolerant"]);
    assert_eq!(
        out.status.code(),
        Some(1),
        "the record behind the bad ones is read"
    );
    let bad: Vec<String> = text(&out.stderr)
        .lines()
        .map(|line| line.split(": ").nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(
        bad,
        ["a.jsonl, line 4", "a.jsonl, line 5", "a.jsonl, line 8"]
    );
    let page = text(&out.stdout);
    assert!(page.contains("a.jsonl, line 7: "), "{page}");
    assert!(
        page.contains("3 x openai-chat") && page.contains("3 x could not be read"),
        "{page}"
    );
}

#[test]
fn compressed_files_arrays_and_streams_are_read() {
    let dir = TempDir::new().unwrap();
    let lines = format!("{}\n{}\n", good("a"), orphan());
    let file = |name: &str| fs::File::create(dir.path().join(name)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file("a.jsonl.gz"), flate2::Compression::fast());
    gzip.write_all(lines.as_bytes()).unwrap();
    gzip.finish().unwrap();
    // Two members, as `cat a.gz b.gz` makes them.
    let twice = fs::read(dir.path().join("a.jsonl.gz")).unwrap().repeat(2);
    fs::write(dir.path().join("two.jsonl.gz"), twice).unwrap();
    zstd::stream::copy_encode(lines.as_bytes(), file("a.jsonl.zst"), 1).unwrap();
    fs::write(
        dir.path().join("a.json"),
        format!("[\n {},\n {}\n]\n", good("a"), orphan()),
    )
    .unwrap();
    fs::write(dir.path().join("lines"), &lines).unwrap();
    for (name, place, count) in [
        ("a.jsonl.gz", "a.jsonl.gz, line 2: ", 1),
        ("two.jsonl.gz", "two.jsonl.gz, line 4: ", 2),
        ("a.jsonl.zst", "a.jsonl.zst, line 2: ", 1),
        ("a.json", "a.json, record 1 (line 3): ", 1),
        ("lines", "lines, line 2: ", 1),
    ] {
        let out = check(dir.path(), &[name]);
        let page = text(&out.stdout);
        assert_eq!(
            out.status.code(),
            Some(1),
            "{name}: {page}{}",
            text(&out.stderr)
        );
        assert!(page.contains(place), "{page}");
        assert!(page.ends_with(&format!("{count} violations\n")), "{page}");
    }
    let shell = format!("{SPARE} check - < lines");
    let out = Command::new("sh")
        .current_dir(dir.path())
        .args(["-c", &shell])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stdout).contains("-, line 2: "),
        "{}",
        text(&out.stdout)
    );
}

/// A session log is one run whose last line a crash tore.
#[test]
fn a_session_log_is_one_run() {
    let dir = TempDir::new().unwrap();
    let message = r#"{"role": "user", "content": "a"}"#;
    let log = format!("{message}\n{message}\n\0\0\0\n{message}\n");
    fs::write(dir.path().join("a.jsonl"), &log).unwrap();
    let out = check(dir.path(), &["a.jsonl"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(
        text(&out.stdout).starts_with("1 x openai-chat"),
        "{}",
        text(&out.stdout)
    );
    fs::write(dir.path().join("a.jsonl"), log + "{\"role\": \"as").unwrap();
    assert_eq!(check(dir.path(), &["a.jsonl"]).status.code(), Some(2));
    let out = check(dir.path(), &["a.jsonl", "--tolerant"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(
        text(&out.stderr).contains("a.jsonl, line 5: torn"),
        "{}",
        text(&out.stderr)
    );
}
