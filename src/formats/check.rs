//! Which rules does a history break? The question of `spare check`, and of prune about its own output.

use serde_json::Value;

use super::provider::{self, Violation};
use super::{FormatError, format_of};

/// What one record was held against, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The record's format.
    pub format: &'static str,
    /// Whose rules were asked.
    pub providers: Vec<&'static str>,
    /// What it breaks, in order.
    pub violations: Vec<Violation>,
}

/// Every violation in one record, as the rules of `provider` (see [`provider::of`]) and its format have it. Errors: a record that is no run of its format.
pub fn check(
    root: &Value,
    format: Option<&str>,
    provider: Option<&str>,
) -> Result<Checked, FormatError> {
    let format = format_of(root, format)?;
    let providers = provider::of(format, provider)?;
    let mut found: Vec<Violation> = Vec::new();
    for violation in providers.iter().flat_map(|p| p.check(root)) {
        // Several providers have the same rule; one of them says it.
        let same = |v: &Violation| (v.rule, &v.path) == (violation.rule, &violation.path);
        if !found.iter().any(same) {
            found.push(violation);
        }
    }
    match format.read(root) {
        Ok(_) => {}
        // Not a question of shape: the call may have been cut off.
        Err(FormatError::ResultWithoutCall { pointer, id }) => {
            if !found.iter().any(|v| v.path.starts_with(&pointer)) {
                found.push(Violation {
                    provider: format.name(),
                    rule: "result_without_call",
                    message: pointer.rsplit('/').next().and_then(|i| i.parse().ok()),
                    path: pointer,
                    what: format!(
                        "found a result for call `{id}`, expected an earlier assistant message with that call"
                    ),
                });
            }
        }
        Err(error) => return Err(error),
    }
    Ok(Checked {
        format: format.name(),
        providers: providers.iter().map(|p| p.name()).collect(),
        violations: found,
    })
}

/// What a changed history breaks that it did not break before. Places may have moved, so a rule counts as broken anew where it is broken more often;
/// of its violations those are named that stand at a new place.
pub fn worse(before: &[Violation], after: &[Violation]) -> Vec<Violation> {
    let same_rule = |a: &Violation, b: &Violation| (a.provider, a.rule) == (b.provider, b.rule);
    let count =
        |all: &[Violation], one: &Violation| all.iter().filter(|v| same_rule(v, one)).count();
    let more: Vec<&Violation> = after
        .iter()
        .filter(|v| count(after, v) > count(before, v))
        .collect();
    let known = |v: &Violation| before.iter().any(|b| same_rule(b, v) && b.path == v.path);
    let new: Vec<Violation> = more
        .iter()
        .filter(|v| !known(v))
        .copied()
        .cloned()
        .collect();
    // Where no place is new, each of them is named rather than none.
    let unnamed = |v: &&&Violation| !new.iter().any(|n| same_rule(n, v));
    let rest: Vec<Violation> = more.iter().filter(unnamed).copied().cloned().collect();
    [new, rest].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn at(rule: &'static str, path: &str) -> Violation {
        Violation {
            provider: "p",
            rule,
            message: None,
            path: path.into(),
            what: String::new(),
        }
    }

    #[test]
    fn a_history_is_worse_by_the_rules_it_breaks_more_often() {
        let before = [at("a", "/1"), at("b", "/2")];
        assert_eq!(worse(&before, &before), []);
        assert_eq!(worse(&before, &[at("a", "/0")]), [], "it moved");
        assert_eq!(
            worse(&before, &[at("a", "/1"), at("a", "/5"), at("c", "/2")]),
            [at("a", "/5"), at("c", "/2")]
        );
        assert_eq!(
            worse(&before, &[at("a", "/1"), at("a", "/1")]),
            [at("a", "/1"), at("a", "/1")]
        );
    }
}
