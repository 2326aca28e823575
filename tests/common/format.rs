//! One run of a format in every way that pruning can go, and its history before and after.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::Path;

use spare::formats::provider::{self, Violation};
use spare::formats::{self, FORMATS};
use spare::trajectory::Segment;

use super::prune::{Pruned, check, read};

/// The files of tests/data/formats/NAME.
pub fn files(name: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/formats")
        .join(name);
    let mut out: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(path).unwrap(),
            )
        })
        .collect();
    out.sort();
    assert!(!out.is_empty());
    out
}

/// What every provider of the record's own format says.
pub fn violations(text: &str) -> Vec<Violation> {
    let value = formats::parse(text).unwrap();
    let format = formats::format_of(&value, None).unwrap();
    provider::of(format, None)
        .unwrap()
        .iter()
        .flat_map(|p| p.check(&value))
        .collect()
}

/// Rules and how often a history breaks them.
pub fn rules(text: &str) -> Vec<&'static str> {
    violations(text).iter().map(|v| v.rule).collect()
}

/// Checks a run of `format` with all deleted, all as evidence, and in turns; the pruned history breaks no rule that it kept before.
pub fn every_way(format: &str, text: &str, sigma: Option<&str>) -> Vec<Pruned> {
    let value = formats::parse(text).unwrap();
    let first = FORMATS.iter().find(|f| f.detect(&value)).map(|f| f.name());
    assert_eq!(first, Some(format), "{text}");
    assert_eq!(read(text).1.name(), format);
    let ways: [&dyn Fn(&Segment) -> bool; 3] = [&|_| false, &|_| true, &|s| s.message / 2 % 2 == 0];
    let before = rules(text);
    ways.map(|sensitive| {
        let pruned = check(text, sigma, sensitive);
        let mut left = before.clone();
        for violation in violations(&pruned.text) {
            let known = left.iter().position(|rule| *rule == violation.rule);
            assert!(known.is_some(), "{violation:?} in\n{}", pruned.text);
            left.swap_remove(known.unwrap());
        }
        pruned
    })
    .into()
}

/// What reading a value as `format` says is wrong with it.
pub fn error(format: &str, value: &serde_json::Value) -> String {
    let format = formats::format_of(value, Some(format)).unwrap();
    format.read(value).unwrap_err().to_string()
}
