//! Anthropic's pairs: each call has one result, in the next message, and the results come first there.

use std::collections::HashSet;

use serde_json::Value;

use super::violation;
use crate::formats::anthropic::{Entry, kind};
use crate::formats::provider::Violation;

/// A block of one kind with the id it carries under `key`.
struct Link<'a> {
    message: usize,
    at: String,
    id: &'a str,
}

fn links<'a>(entries: &[Entry<'a>], group: &[usize], of: &str, key: &str) -> Vec<Link<'a>> {
    let mut out = Vec::new();
    for number in group {
        let blocks = entries.get(*number).map(Entry::blocks).unwrap_or_default();
        for (at, block) in blocks.into_iter().filter(|(_, b)| kind(b) == of) {
            let id = block.get(key).and_then(Value::as_str).unwrap_or("");
            out.push(Link {
                message: *number,
                at,
                id,
            });
        }
    }
    out
}

/// Calls and results. The API joins neighbours of one role, so that "the next message" is the next group of them. `sent`: whether the messages
/// stand as they are sent.
pub(super) fn check(entries: &[Entry<'_>], sent: bool, out: &mut Vec<Violation>) {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let same = number > 0
            && entries
                .get(number - 1)
                .is_some_and(|e| e.assistant == entry.assistant);
        match groups.last_mut().filter(|_| same) {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
    }
    let mut report = |rule, link: &Link<'_>, what: String| {
        if let Some(entry) = entries.get(link.message) {
            out.push(violation(rule, entry, &link.at, what));
        }
    };
    let mut ids = HashSet::new();
    let mut before: Vec<Link<'_>> = Vec::new();
    for group in &groups {
        let results = links(entries, group, "tool_result", "tool_use_id");
        let late = match sent && !before.is_empty() {
            true => behind_others(entries, group),
            false => HashSet::new(),
        };
        let mut answered = HashSet::new();
        for result in &results {
            let id = result.id;
            if !before.iter().any(|call| call.id == id) {
                let what =
                    format!("found a result for `{id}`, expected that call in the message before");
                report("result_without_call", result, what);
            }
            if late.contains(&result.at) {
                let what = format!(
                    "found the result for `{id}` behind other content, expected all results at the beginning of the message behind their calls"
                );
                report("result_behind_others", result, what);
            }
            if !answered.insert(id) {
                let what = format!("found a second result for `{id}`, expected one");
                report("duplicate_result", result, what);
            }
        }
        for call in before.iter().filter(|call| !answered.contains(call.id)) {
            let what = format!(
                "found the call `{}`, expected its result in the next message",
                call.id
            );
            report("call_without_result", call, what);
        }
        before = links(entries, group, "tool_use", "id");
        for call in &before {
            if !ids.insert(call.id) {
                let what = format!(
                    "found the call id `{}` again, expected one that is new",
                    call.id
                );
                report("duplicate_id", call, what);
            }
        }
    }
}

/// The results of a group that stand behind something else.
fn behind_others(entries: &[Entry<'_>], group: &[usize]) -> HashSet<String> {
    let mut other = false;
    let mut late = HashSet::new();
    for entry in group.iter().filter_map(|number| entries.get(*number)) {
        let text = |(_, content): &(String, &Value)| content.is_string();
        other |= entry.contents.iter().any(text);
        for (at, block) in entry.blocks() {
            match kind(block) == "tool_result" {
                true if other => drop(late.insert(at)),
                true => {}
                false => other = true,
            }
        }
    }
    late
}
