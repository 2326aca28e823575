//! Faults that users of other tools reported, each as the smallest run that shows its kind, with what must come of it. `tests/data/cases/cases.json`
//! says per case which reports it stands for (see the issue numbers of the project's list) and what must hold in every way that pruning can go.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::format::{every_way, frozen, rules};
use common::prune::{Pruned, read};
use serde_json::Value;
use spare::formats::{parse, repair};
use spare::plan::{Receipt, TextHash, restore};
use spare::trajectory::{VisibleText, segments};
use unicode_segmentation::UnicodeSegmentation;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases")
}

fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join("cases.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The case's input: the file, or what it holds in base64.
fn input(case: &Value) -> Vec<u8> {
    let bytes = std::fs::read(folder().join(case["file"].as_str().unwrap())).unwrap();
    let root = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
    match root["base64"].as_str() {
        Some(base64) => STANDARD.decode(base64).unwrap(),
        None => bytes,
    }
}

fn list<'a>(case: &'a Value, key: &str) -> Vec<&'a str> {
    let items = case[key].as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap()).collect()
}

/// Every string of a value.
fn strings(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Value::Object(fields) => fields.values().for_each(|item| strings(item, out)),
        _ => {}
    }
}

/// What the case itself says of one way.
fn holds(case: &Value, text: &str, pruned: &Pruned) {
    let name = case["file"].as_str().unwrap();
    let (before, after) = (parse(text).unwrap(), parse(&pruned.after).unwrap());
    for pointer in list(case, "same") {
        assert_eq!(
            before.pointer(pointer).unwrap(),
            after.pointer(pointer).unwrap(),
            "{name}: {pointer}"
        );
    }
    for pointer in list(case, "strings") {
        assert!(
            after.pointer(pointer).is_some_and(Value::is_string),
            "{name}: {pointer}"
        );
    }
    for (pointer, value) in case["is"].as_object().into_iter().flatten() {
        assert_eq!(after.pointer(pointer), Some(value), "{name}: {pointer}");
    }
    let mut found = Vec::new();
    strings(&after, &mut found);
    // Boxes stand in calls too, where they are no strings.
    found.push(after.to_string());
    for wanted in list(case, "holds") {
        let stands = |w: &str| found.iter().any(|text| text.contains(w));
        assert!(
            wanted.split('|').any(stands),
            "{name}: no {wanted} in\n{}",
            pruned.after
        );
    }
    for unwanted in list(case, "lacks") {
        assert!(
            !found.iter().any(|text| text.contains(unwanted)),
            "{name}: {unwanted} in\n{}",
            pruned.after
        );
    }
    for piece in list(case, "verbatim") {
        let count = |text: &str| text.matches(piece).count();
        assert_eq!(count(text), count(&pruned.after), "{name}: {piece}");
        assert!(count(text) > 0, "{name}: {piece}");
    }
    for (token, count) in case["count"].as_object().into_iter().flatten() {
        let found = pruned.after.matches(token.as_str()).count() as u64;
        assert_eq!(Some(found), count.as_u64(), "{name}: {token}");
    }
    if case["graphemes"] == true {
        let sigma = case["sigma"].as_str().unwrap_or_default();
        let whole: HashSet<&str> = text.graphemes(true).chain(sigma.graphemes(true)).collect();
        let mut cut = pruned.after.graphemes(true);
        assert!(
            cut.all(|g| g.is_ascii() || whole.contains(g)),
            "{}",
            pruned.after
        );
    }
}

#[test]
fn every_case_has_its_outcome() {
    let cases = cases();
    let mut ran = 0;
    for case in cases.iter().filter(|case| case["format"].is_string()) {
        let name = case["file"].as_str().unwrap();
        let text = String::from_utf8(input(case)).unwrap();
        let mut mends = Vec::new();
        let mended = match case["repair"].is_array() {
            true => {
                assert!(parse(&text).is_err(), "{name}");
                let (mended, done) = repair(&text, None, None).unwrap();
                mends = done;
                mended
            }
            false => text.clone(),
        };
        let said: Vec<&str> = mends.iter().map(|mend| mend.what.as_str()).collect();
        let wanted = list(case, "repair");
        assert_eq!(said.len(), wanted.len(), "{name}: {said:?}");
        assert!(said.iter().zip(&wanted).all(|(s, w)| s.contains(w)));
        if !mends.is_empty() {
            let receipt = Receipt {
                schema: 1,
                before: TextHash::of(&text),
                after: TextHash::of(&mended),
                mends,
                ..Receipt::default()
            };
            assert_eq!(restore(&mended, &receipt).unwrap(), text);
        }
        assert_eq!(rules(&mended), list(case, "violations"), "{name}");
        let (run, _) = read(&mended);
        let found = segments(&run, VisibleText::Auto);
        let reasoning = list(case, "reasoning");
        assert!(
            reasoning.is_empty() || reasoning.len() == found.len(),
            "{name}"
        );
        let begins = found.iter().zip(reasoning);
        for (segment, begin) in begins {
            assert!(segment.text.starts_with(begin), "{name}: {}", segment.text);
        }
        if let Some(pictures) = case["pictures"].as_u64() {
            let all = run.messages.iter().flat_map(|m| m.pictures());
            assert_eq!(all.count() as u64, pictures, "{name}");
        }
        let ways = every_way(
            case["format"].as_str().unwrap(),
            &mended,
            case["sigma"].as_str(),
        );
        for (way, pruned) in ways.iter().enumerate() {
            holds(case, &mended, pruned);
            assert_eq!(frozen(pruned), list(case, "frozen"), "{name}");
            if let Value::Array(rules_then) = &case["after"][way] {
                assert_eq!(rules(&pruned.after).len(), rules_then.len(), "{name}");
            }
        }
        match case["changes"].as_bool() {
            Some(false) => assert!(ways.iter().all(|p| p.after == mended), "{name}"),
            Some(true) => assert!(ways.iter().any(|p| p.after != mended), "{name}"),
            None => {}
        }
        ran += 1;
    }
    assert_eq!(ran, 16, "one of the sixteen is of lines, one of two runs");
}

/// The cases as a user of `spare check` meets them.
#[cfg(feature = "cli")]
#[test]
fn the_program_says_so() {
    let mut ran = 0;
    for case in cases() {
        let name = case["file"].as_str().unwrap();
        let dir = tempfile::TempDir::new().unwrap();
        let lines = name.contains("lines");
        let file = if lines { "case.jsonl" } else { "case.json" };
        std::fs::write(dir.path().join(file), input(&case)).unwrap();
        let check = |args: &[&str]| {
            std::process::Command::new(env!("CARGO_BIN_EXE_spare"))
                .current_dir(dir.path())
                .args([&["check", file], args].concat())
                .output()
                .unwrap()
        };
        let runs = case["cli"].as_array().cloned().unwrap_or_default();
        for run in &runs {
            let out = check(&list(run, "args"));
            let said = String::from_utf8(out.stderr).unwrap();
            let printed = String::from_utf8(out.stdout).unwrap();
            let code = run["code"].as_i64().map(|code| code as i32);
            assert_eq!(out.status.code(), code, "{name}: {said}{printed}");
            for part in list(run, "says") {
                assert!(said.contains(part), "{name}: `{said}` lacks `{part}`");
            }
            for part in list(run, "lacks") {
                assert!(!said.contains(part), "{name}: `{said}` has `{part}`");
            }
            for part in list(run, "prints") {
                assert!(printed.contains(part), "{name}: `{printed}` lacks `{part}`");
            }
        }
        if runs.is_empty() {
            let broken = list(&case, "violations");
            let out = check(&[]);
            let printed = String::from_utf8(out.stdout).unwrap();
            assert_eq!(
                out.status.code(),
                Some(i32::from(!broken.is_empty())),
                "{name}: {printed}"
            );
            assert!(broken.iter().all(|rule| printed.contains(rule)));
        }
        ran += 1;
    }
    assert_eq!(ran, 17);
}
