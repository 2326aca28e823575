//! One run of a format in every way that pruning can go, and what the providers say of its history before and after.
#![allow(dead_code, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use serde_json::Value;
use spare::formats::provider::{self, Violation};
use spare::formats::{self, FORMATS};
use spare::trajectory::Segment;

use super::check::check;
use super::prune::{Pruned, read};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats")
}

/// One file of tests/data/formats.
pub fn data(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// The files of tests/data/formats/NAME.
pub fn files(name: &str) -> Vec<(String, String)> {
    let mut out: Vec<_> = std::fs::read_dir(folder().join(name))
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
    let providers = provider::of(format, None).unwrap();
    providers.iter().flat_map(|p| p.check(&value)).collect()
}

/// The rules that a history breaks, as often as it breaks them.
pub fn rules(text: &str) -> Vec<&'static str> {
    violations(text).iter().map(|v| v.rule).collect()
}

/// Rule and path of each violation.
pub fn places(run: &Value) -> Vec<(&'static str, String)> {
    let found = violations(&run.to_string()).into_iter();
    found.map(|v| (v.rule, v.path)).collect()
}

/// Everything deleted, everything rebuilt, and by turns; each checked. The pruned history breaks no rule that it kept before.
pub fn every_way(format: &str, text: &str, sigma: Option<&str>) -> Vec<Pruned> {
    let value = formats::parse(text).unwrap();
    let first = FORMATS.iter().find(|f| f.detect(&value)).map(|f| f.name());
    assert_eq!(first, Some(format), "{text}");
    assert_eq!(read(text).1.name(), format);
    let ways: [&dyn Fn(&Segment) -> bool; 3] = [&|_| false, &|_| true, &|s| s.index % 2 == 0];
    let before = rules(text);
    ways.map(|sensitive| {
        let pruned = check(text, sigma, sensitive);
        let mut left = before.clone();
        for violation in violations(&pruned.after) {
            let known = left.iter().position(|rule| *rule == violation.rule);
            assert!(known.is_some(), "{violation:?} in\n{}", pruned.after);
            left.swap_remove(known.unwrap());
        }
        pruned
    })
    .into()
}

/// The codes of all frozen segments.
pub fn frozen(pruned: &Pruned) -> Vec<&'static str> {
    let frozen = pruned.segments.iter().filter_map(|s| s.frozen);
    frozen.map(|f| f.code()).collect()
}

/// What reading a value as `format` says is wrong with it.
pub fn error(format: &str, value: &Value) -> String {
    let format = formats::format_of(value, Some(format)).unwrap();
    format.read(value).unwrap_err().to_string()
}
