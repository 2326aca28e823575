//! Pruning with the rules of the providers: what they say of a history, and that a pruning adds nothing to it.
#![allow(dead_code, clippy::unwrap_used)]

use super::prune::{Pruned, check};
use serde_json::Value;
use spare::formats::{self, provider, provider::Violation};

/// What the rules known for its format say of a record.
pub fn broken(text: &str) -> Vec<Violation> {
    let value = formats::parse(text).unwrap();
    let format = formats::format_of(&value, None).unwrap();
    let providers = provider::of(format, None).unwrap();
    providers.iter().flat_map(|p| p.check(&value)).collect()
}

/// Rule and path of each violation.
pub fn rules(run: &Value) -> Vec<(&'static str, String)> {
    let found = broken(&run.to_string()).into_iter();
    found.map(|v| (v.rule, v.path)).collect()
}

/// Everything deleted, everything rebuilt, and by turns; each checked, and no rule broken that was not broken before.
pub fn all_ways(text: &str, sigma: Option<&str>) -> [Pruned; 3] {
    let before = broken(text).len();
    let ways = [
        check(text, sigma, &|_| false),
        check(text, sigma, &|_| true),
        check(text, sigma, &|s| s.index % 2 == 0),
    ];
    for pruned in &ways {
        let after = broken(&pruned.text);
        assert!(after.len() <= before, "{after:?}\n{}", pruned.text);
    }
    ways
}

/// The codes of all frozen segments.
pub fn frozen(pruned: &Pruned) -> Vec<&'static str> {
    let frozen = pruned.segments.iter().filter_map(|s| s.frozen);
    frozen.map(|f| f.code()).collect()
}

/// A file of `tests/data/formats`.
pub fn data(name: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/formats/");
    std::fs::read_to_string(format!("{root}{name}")).unwrap()
}
