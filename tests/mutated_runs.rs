//! A run with one value exchanged, added or taken out: every format reads it or says why not, every rule is asked, and nothing panics.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::{FORMATS, parse, provider::PROVIDERS};
use spare::trajectory::{VisibleText, segments};

fn files(folder: &Path, out: &mut Vec<String>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files(&path, out),
            false => out.extend(std::fs::read_to_string(path).ok()),
        }
    }
}

fn runs() -> Vec<Value> {
    let mut texts = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats"),
        &mut texts,
    );
    let runs: Vec<Value> = texts.iter().filter_map(|t| parse(t).ok()).collect();
    assert!(runs.len() > 5);
    runs
}

/// Changes the `at`th value of the run, counted in depth.
fn change(value: &mut Value, at: &mut usize, new: &Value) -> bool {
    if *at == 0 {
        *value = new.clone();
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, at, new)),
        Value::Object(fields) => fields.iter_mut().any(|(_, item)| change(item, at, new)),
        _ => false,
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.values().map(size).sum(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), new in 0usize..9) {
        let runs = runs();
        let mut run = which.get(&runs).clone();
        let new = [json!(null), json!(true), json!(-1.5), json!(""), json!("user"), json!([]), json!({}), json!([{}]), json!({"type": "text", "role": "model", "parts": [{}], "content": [{}]})][new].clone();
        let mut place = at.index(size(&run));
        change(&mut run, &mut place, &new);
        for format in FORMATS {
            let _ = format.detect(&run);
            let Ok(mut read) = format.read(&run) else { continue };
            PROVIDERS.iter().for_each(|p| p.freeze(&run, &mut read));
            for segment in segments(&read, VisibleText::Prune) {
                prop_assert!(!format.edits(&segment, "x").is_empty() || segment.frozen.is_some());
            }
        }
        for provider in PROVIDERS {
            for violation in provider.check(&run) {
                // What is missing has no place of its own; what it is missing from has.
                let parent = violation.path.rsplit_once('/').map_or("", |(parent, _)| parent);
                prop_assert!(run.pointer(parent).is_some(), "{}", violation.path);
            }
        }
    }
}
