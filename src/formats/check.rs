//! Which rules does a history break? The question of `spare check`, and of prune about its own output.

use std::collections::HashSet;

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
    // Several providers have the same rule; the first of them says it.
    let mut said: HashSet<(&str, String)> = HashSet::new();
    for provider in &providers {
        let key = |v: &Violation| (v.rule, v.path.clone());
        let from = found.len();
        let own = provider.check(root).into_iter();
        found.extend(own.filter(|v| !said.contains(&key(v))));
        said.extend(found.iter().skip(from).map(key));
    }
    match format.read(root) {
        Ok(_) => {}
        // Not a question of shape: the call may have been cut off.
        Err(FormatError::ResultWithoutCall { pointer, id }) => {
            if !found.iter().any(|v| lies_in(&v.path, &pointer)) {
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

/// Whether a JSON pointer names the value at `outer` or one inside it.
fn lies_in(pointer: &str, outer: &str) -> bool {
    let inside = pointer.strip_prefix(outer);
    inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
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
    fn a_result_without_its_call_is_named_once_and_never_left_out() {
        let chat: Value = serde_json::json!({"messages": [
            {"role": "user", "content": "a"}, {"role": "tool", "tool_call_id": "c", "content": "b"}]});
        let anthropic = check(&chat, Some("openai-chat"), Some("anthropic")).unwrap();
        let rules = |found: &Checked| -> Vec<(&'static str, &'static str, String)> {
            let all = found.violations.iter();
            all.map(|v| (v.provider, v.rule, v.path.clone())).collect()
        };
        assert_eq!(
            rules(&anthropic),
            [("openai-chat", "result_without_call", "/messages/1".into())]
        );
        let openai = check(&chat, None, None).unwrap();
        assert_eq!(
            rules(&openai),
            [(
                "openai",
                "result_without_call",
                "/messages/1/tool_call_id".into()
            )]
        );
        assert!(lies_in("/a/1", "/a/1") && lies_in("/a/1/b", "/a/1"));
        assert!(!lies_in("/a/10", "/a/1") && !lies_in("/a", "/a/1"));
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
