//! OpenAI's Responses API: encrypted reasoning is exact or absent, reasoning leaves only with the item behind it, calls and outputs pair by `call_id`.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{Provider, Violation};
use crate::formats::openai_responses::{
    Item, call_id, calls_elsewhere, item, items, kind, messages_of,
};
use crate::trajectory::{Frozen, Trajectory};

/// OpenAI Responses.
pub struct Responses;

const NAME: &str = "responses";

const ENCRYPTED: Frozen = Frozen::Rule(
    "encrypted_reasoning",
    "`encrypted_content` binds the item, which may leave only with the item behind it",
);

impl Provider for Responses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn protect(&self, root: &Value, run: &mut Trajectory) {
        let pieces = run.messages.iter_mut().flat_map(|m| &mut m.reasoning);
        for piece in pieces.filter(|p| p.frozen.is_none()) {
            let own = |pointer: &str| {
                let keys = ["/summary/", "/content/", "/encrypted_content"];
                let end = keys.iter().find_map(|key| pointer.rfind(key))?;
                root.pointer(pointer.get(..end)?)
            };
            let bound = piece
                .places
                .iter()
                .any(|place| own(&place.pointer).is_some_and(encrypted));
            if bound {
                piece.frozen = Some(ENCRYPTED);
            }
        }
    }

    fn find(&self, root: &Value) -> Vec<Violation> {
        let Some((pointer, items)) = items(root) else {
            return Vec::new();
        };
        let history = History {
            pointer,
            items,
            messages: messages_of(root),
        };
        let mut out = history.reasoning();
        out.extend(history.pairs(calls_elsewhere(root, items)));
        out.extend(history.shapes());
        out.sort_by_key(|(index, _)| *index);
        let found = out.into_iter().map(|(_, violation)| violation);
        found.collect()
    }
}

fn encrypted(item: &Value) -> bool {
    item.get("encrypted_content")
        .is_some_and(|v| !v.is_null() && v.as_str() != Some(""))
}

struct History<'a> {
    pointer: &'a str,
    items: &'a [Value],
    messages: Vec<usize>,
}

type Found = Vec<(usize, Violation)>;

impl History<'_> {
    fn at(&self, index: usize, key: &str, rule: &'static str, what: String) -> (usize, Violation) {
        let violation = Violation {
            provider: NAME,
            rule,
            message: self.messages.get(index).copied(),
            path: format!("{}/{index}{key}", self.pointer),
            what,
        };
        (index, violation)
    }

    /// Reasoning and the item behind it: neither without the other.
    fn reasoning(&self) -> Found {
        let mut out = Vec::new();
        let any = self.items.iter().any(|i| item(i) == Item::Reasoning);
        // Whether the turn since the last user message held reasoning yet.
        let mut reasoned = false;
        for (index, value) in self.items.iter().enumerate() {
            match item(value) {
                Item::Reasoning => {
                    reasoned = true;
                    let next = self.items.get(index + 1);
                    if !next.is_some_and(follows) {
                        let found = next.map_or("the end".into(), described);
                        let what = format!(
                            "found reasoning before {found}, expected the item that it led to: a call, a message or more reasoning"
                        );
                        out.push(self.at(index, "", "reasoning_without_following_item", what));
                    }
                }
                Item::Message if role(value) == "user" => reasoned = false,
                Item::Call if any && !reasoned && value.get("id").is_some_and(Value::is_string) => {
                    let what = "found a call with `id` in a turn without reasoning, in a history that has reasoning elsewhere, expected its reasoning item before it".into();
                    out.push(self.at(index, "", "call_without_reasoning", what));
                    reasoned = true;
                }
                _ => {}
            }
        }
        out
    }

    /// A call arms its id, an output consumes it: ids may come again later.
    fn pairs(&self, elsewhere: bool) -> Found {
        let mut out = Vec::new();
        let mut open: HashMap<&str, usize> = HashMap::new();
        let mut answered: HashSet<&str> = HashSet::new();
        for (index, value) in self.items.iter().enumerate() {
            let which = item(value);
            if !matches!(which, Item::Call | Item::Output) {
                continue;
            }
            let Some(id) = call_id(value) else {
                let what = format!(
                    "found {} without `call_id`, expected a string",
                    described(value)
                );
                out.push(self.at(index, "", "missing_call_id", what));
                continue;
            };
            if which == Item::Call {
                if open.insert(id, index).is_some() {
                    let what = format!(
                        "found a second call `{id}` before the output of the first, expected ids that differ"
                    );
                    out.push(self.at(index, "/call_id", "duplicate_call_id", what));
                }
                continue;
            }
            if open.remove(id).is_some() {
                answered.insert(id);
            } else if answered.contains(id) {
                let what = format!("found a second output for call `{id}`, expected one");
                out.push(self.at(index, "", "duplicate_output", what));
            } else if !elsewhere {
                let what = format!("found an output for call `{id}`, expected that call before it");
                out.push(self.at(index, "", "output_without_call", what));
            }
        }
        for (id, index) in open {
            let what = format!("found call `{id}` without an output, expected one behind it");
            out.push(self.at(index, "", "call_without_output", what));
        }
        out
    }

    fn shapes(&self) -> Found {
        let mut out = Vec::new();
        let mut ids = HashSet::new();
        for (index, value) in self.items.iter().enumerate() {
            let id = value.get("id").and_then(Value::as_str);
            if kind(value) != "item_reference" && id.is_some_and(|id| !ids.insert(id)) {
                let what = format!(
                    "found the id `{}` again, expected ids that differ",
                    id.unwrap_or_default()
                );
                out.push(self.at(index, "/id", "duplicate_item_id", what));
            }
            let summary = value.get("summary").is_some_and(Value::is_array);
            if item(value) == Item::Reasoning && !summary {
                let what =
                    "found reasoning without a list `summary`, expected one (it may be empty)";
                out.push(self.at(index, "", "reasoning_shape", what.into()));
            }
            let arguments = value.get("arguments").is_some_and(Value::is_string);
            if kind(value) == "function_call" && !arguments {
                let what = "found no string, expected the arguments as a string of JSON";
                out.push(self.at(index, "/arguments", "arguments_not_a_string", what.into()));
            }
            if item(value) == Item::Message && role(value) == "assistant" && empty(value) {
                let what = "found an assistant message without content, expected text";
                out.push(self.at(index, "/content", "empty_message", what.into()));
            }
        }
        out
    }
}

fn role(value: &Value) -> &str {
    value.get("role").and_then(Value::as_str).unwrap_or("")
}

/// Whether an item may stand behind reasoning.
fn follows(value: &Value) -> bool {
    match item(value) {
        Item::Output => false,
        Item::Message => role(value) == "assistant",
        _ => true,
    }
}

fn empty(value: &Value) -> bool {
    let blank = |text: &Value| text.as_str().is_some_and(|t| t.trim().is_empty());
    match value.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::Array(parts)) => parts.iter().all(|p| p.get("text").is_some_and(blank)),
        Some(text) => blank(text),
    }
}

fn described(value: &Value) -> String {
    match item(value) {
        Item::Message => format!("a message of `{}`", role(value)),
        _ => format!("an item `{}`", kind(value)),
    }
}
