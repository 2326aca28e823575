//! A run with one value exchanged, added or taken out: every format reads it or says why not, every rule is asked, and nothing panics.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::LazyLock;

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

static RUNS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut texts = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats"),
        &mut texts,
    );
    let runs: Vec<Value> = texts.iter().filter_map(|t| parse(t).ok()).collect();
    assert!(runs.len() > 10);
    runs
});

/// Exchanges the `at`th value of the run, counted in depth; with None takes it out of its list or object.
fn change(value: &mut Value, at: &mut usize, new: Option<&Value>) -> bool {
    if *at == 0 {
        *value = new.cloned().unwrap_or_default();
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => {
            let found = (0..items.len()).find(|i| change(&mut items[*i], at, new));
            if let (Some(index), None) = (found, new)
                && items[index].is_null()
            {
                items.remove(index);
            }
            found.is_some()
        }
        Value::Object(fields) => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let found = keys
                .into_iter()
                .find(|key| change(&mut fields[key.as_str()], at, new));
            if let (Some(key), None) = (&found, new)
                && fields[key.as_str()].is_null()
            {
                fields.shift_remove(key);
            }
            found.is_some()
        }
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

/// What a value is exchanged for; None takes it out.
static OTHERS: LazyLock<Vec<Option<Value>>> = LazyLock::new(|| {
    let blocks = json!({"type": "text", "role": "model", "parts": [{}], "content": [{}]});
    let values = [
        json!(null),
        json!(true),
        json!(-1.5),
        json!(""),
        json!("user"),
        json!([]),
        json!({}),
        json!([{}]),
        blocks,
    ];
    values.into_iter().map(Some).chain([None]).collect()
});

/// Nothing panics, every edit has a place, and every violation names a value that is there and says what is wrong with it.
fn holds(run: &Value) -> Result<(), TestCaseError> {
    for format in FORMATS {
        let _ = format.detect(run);
        let Ok(mut read) = format.read(run) else {
            continue;
        };
        PROVIDERS.iter().for_each(|p| p.freeze(run, &mut read));
        for segment in segments(&read, VisibleText::Prune) {
            prop_assert!(!format.edits(&segment, "x").is_empty() || segment.frozen.is_some());
        }
    }
    for violation in PROVIDERS.iter().flat_map(|p| p.check(run)) {
        prop_assert!(run.pointer(&violation.path).is_some(), "{violation}");
        let says = ["found", "expected"].map(|word| violation.what.contains(word));
        prop_assert_eq!(says, [true, true], "{}", violation);
    }
    Ok(())
}

/// Every value of every run, exchanged for each of the others.
#[test]
fn nothing_panics_where_one_value_is_another() {
    for run in RUNS.iter() {
        for at in 0..size(run) {
            for new in OTHERS.iter() {
                let mut run = run.clone();
                change(&mut run, &mut at.clone(), new.as_ref());
                holds(&run).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_panics_where_several_values_are_others(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 2..5),
    ) {
        let mut run = which.get(&RUNS).clone();
        for (at, new) in changes {
            let mut place = at.index(size(&run));
            change(&mut run, &mut place, new.get(&OTHERS).as_ref());
        }
        holds(&run)?;
    }
}
