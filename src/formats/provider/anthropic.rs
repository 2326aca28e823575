//! What Anthropic refuses. Sources: the SDK's block types, the pages on thinking with tools and on context editing, and public reports of its 400s.

mod pairs;

use std::collections::HashSet;

use serde_json::Value;

use super::{Provider, Violation, frozen_below};
use crate::formats::anthropic::{self, Entry, kind};
use crate::formats::{ClaudeCode, WireFormat, claude_code};
use crate::trajectory::{Frozen, Trajectory};

/// The rules of the Messages API.
pub struct Anthropic;

const OPEN_TURN: Frozen = Frozen::Rule(
    "open_turn",
    "the turn is still open: its thinking and the blocks beside it go back exactly as they came",
);

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn protect(&self, root: &Value, run: &mut Trajectory) {
        let entries = entries(root);
        let open = entries.iter().skip(open_from(&entries));
        let contents: HashSet<String> = open
            .flat_map(|e| e.contents.iter().map(|(at, _)| at.clone()))
            .collect();
        frozen_below(run, &contents, OPEN_TURN);
    }

    fn find(&self, root: &Value) -> Vec<Violation> {
        let entries = entries(root);
        let mut out = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            let last = number + 1 == entries.len();
            contents(entry, last, &mut out);
        }
        // A log is not what is sent: its program puts results first.
        let sent = !ClaudeCode.detect(root);
        pairs::check(&entries, sent, &mut out);
        thinking(root, &entries, &mut out);
        out.sort_by_key(|v| v.message);
        out
    }
}

fn entries(root: &Value) -> Vec<Entry<'_>> {
    if ClaudeCode.detect(root) {
        claude_code::entries(root)
    } else {
        anthropic::entries(root)
    }
}

/// The first message behind the last one in which a person speaks.
fn open_from(entries: &[Entry<'_>]) -> usize {
    entries
        .iter()
        .rposition(|e| e.person)
        .map_or(0, |at| at + 1)
}

fn violation(rule: &'static str, entry: &Entry<'_>, path: &str, what: String) -> Violation {
    Violation {
        provider: "anthropic",
        rule,
        message: Some(entry.index),
        path: path.to_owned(),
        what,
    }
}

fn is_thinking(block: &Value) -> bool {
    matches!(kind(block), "thinking" | "redacted_thinking")
}

fn blank(block: &Value) -> bool {
    let text = block.get("text").and_then(Value::as_str);
    kind(block) == "text" && text.is_some_and(|t| t.trim().is_empty())
}

/// What a message may not hold.
fn contents(entry: &Entry<'_>, last: bool, out: &mut Vec<Violation>) {
    for (at, content) in &entry.contents {
        let nothing = match content {
            Value::String(text) => text.trim().is_empty(),
            Value::Array(blocks) => blocks.is_empty(),
            _ => false,
        };
        if nothing && !(last && entry.assistant) {
            let what = "found no content, expected text or at least one block";
            out.push(violation("empty_message", entry, at, what.into()));
        }
    }
    let blocks = entry.blocks();
    for (at, block) in &blocks {
        let inner = block
            .get("content")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let inner = inner
            .enumerate()
            .map(|(i, b)| (format!("{at}/content/{i}"), b));
        for (at, block) in std::iter::once((at.clone(), *block)).chain(inner) {
            if blank(block) {
                let what = "found a text block without text, expected text or no block";
                out.push(violation("empty_text", entry, &at, what.into()));
            }
        }
        let signature = block.get("signature").and_then(Value::as_str);
        if kind(block) == "thinking" && signature.is_none_or(str::is_empty) {
            let what =
                "found a thinking block without a signature, expected it as it came or no block";
            out.push(violation("missing_signature", entry, at, what.into()));
        }
    }
    if entry.assistant && !blocks.is_empty() && blocks.iter().all(|(_, b)| is_thinking(b)) {
        let what = "found thinking alone, expected text or a call beside it";
        out.push(violation(
            "thinking_only",
            entry,
            &entry.pointer,
            what.into(),
        ));
    }
}

/// What the request's thinking switch asks of the last turn.
fn thinking(root: &Value, entries: &[Entry<'_>], out: &mut Vec<Violation>) {
    let switch = root.get("thinking").map(kind);
    let open = entries.get(open_from(entries)..).unwrap_or_default();
    if let Some(first) = open
        .iter()
        .find(|e| e.assistant)
        .filter(|_| switch == Some("enabled"))
    {
        let blocks = first.blocks();
        if !blocks.first().is_some_and(|(_, b)| is_thinking(b)) {
            let found = blocks.first().map_or("text", |(_, b)| kind(b));
            let what =
                format!("found `{found}` first, expected the open turn to start with its thinking");
            out.push(violation(
                "open_turn_without_thinking",
                first,
                &first.pointer,
                what,
            ));
        }
    }
    // `max_tokens` is what makes a body a request; a saved list says nothing about the switch.
    let off = switch == Some("disabled") || (switch.is_none() && root.get("max_tokens").is_some());
    let last = entries.last().filter(|e| e.assistant && off);
    let blocks = last.map(Entry::blocks).unwrap_or_default();
    if let (Some(last), Some((at, _))) = (last, blocks.iter().find(|(_, b)| is_thinking(b))) {
        let what = "found thinking in the final message, expected none while thinking is off";
        out.push(violation("final_thinking", last, at, what.into()));
    }
}
