//! LangChain itself, and what every provider behind it refuses: signed blocks are exact, calls pair with results, copies of a call agree.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::{Provider, Violation};
use crate::formats::langchain::{Class, Dump, all, answered, copies, list};
use crate::trajectory::{Frozen, Role, Trajectory};

/// LangChain's messages.
pub struct LangChainCore;

const NAME: &str = "langchain";

const SIGNED: Frozen = Frozen::Rule(
    "signed_reasoning",
    "a signature or encrypted content binds the block, which the provider takes back exactly or not at all",
);

impl Provider for LangChainCore {
    fn name(&self) -> &'static str {
        NAME
    }

    fn protect(&self, root: &Value, run: &mut Trajectory) {
        for piece in run.messages.iter_mut().flat_map(|m| &mut m.reasoning) {
            let bound =
                |pointer: &str| holders(pointer).any(|at| root.pointer(at).is_some_and(signed));
            if piece.frozen.is_none() && piece.places.iter().any(|p| bound(&p.pointer)) {
                piece.frozen = Some(SIGNED);
            }
        }
    }

    fn find(&self, root: &Value) -> Vec<Violation> {
        let Some((pointer, messages)) = list(root) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        let mut open: HashMap<String, usize> = HashMap::new();
        for (index, value) in messages.iter().enumerate() {
            let Some(dump) = Dump::of(value).filter(|d| d.class() != Class::Unknown) else {
                continue;
            };
            let at = format!("{pointer}/{index}{}", dump.inside);
            match dump.role() {
                Role::Assistant => ai(&mut out, dump.fields, index, &at, &mut open),
                Role::Tool => {
                    if let Some(id) = answered(dump.fields).filter(|id| open.remove(*id).is_none())
                    {
                        let what = format!(
                            "found a result for call `{id}`, expected that call before it, and one result"
                        );
                        out.push(broken("result_without_call", index, at, what));
                    }
                }
                _ => {}
            }
        }
        for (id, index) in open {
            let what = format!("found call `{id}` without a result, expected one behind it");
            out.push(broken(
                "call_without_result",
                index,
                format!("{pointer}/{index}"),
                what,
            ));
        }
        out.sort_by_key(|violation| violation.message);
        out
    }
}

fn ai(
    out: &mut Vec<Violation>,
    fields: &Value,
    index: usize,
    at: &str,
    open: &mut HashMap<String, usize>,
) {
    let copies = copies(fields);
    let ids = |places: &[&str]| -> BTreeSet<&str> {
        let wanted = copies.iter().filter(|(name, _)| places.contains(name));
        wanted
            .flat_map(|(_, calls)| calls)
            .filter_map(|call| call.id.as_deref())
            .collect()
    };
    // Calls that LangChain could not parse stand apart from the others, but the raw copies hold both.
    let parsed = ids(&["tool_calls", "invalid_tool_calls"]);
    for place in ["content", "additional_kwargs"] {
        let own = ids(&[place]);
        if !own.is_empty() && !parsed.is_empty() && own != parsed {
            let what =
                "found other calls than in `tool_calls`, expected copies of the same calls".into();
            out.push(broken(
                "call_copies_disagree",
                index,
                format!("{at}/{place}"),
                what,
            ));
        }
    }
    let calls = all(fields);
    for id in calls.iter().filter_map(|call| call.id.as_ref()) {
        if open.insert(id.clone(), index).is_some() {
            let what = format!(
                "found a second call `{id}` before the result of the first, expected ids that differ"
            );
            out.push(broken("duplicate_call_id", index, at.into(), what));
        }
    }
    let blank = |text: &Value| text.as_str().is_some_and(|t| t.trim().is_empty());
    if let Some(blocks) = fields.get("content").and_then(Value::as_array) {
        for (number, block) in blocks.iter().enumerate() {
            if block.get("text").is_some_and(|t| t.as_str() == Some("")) {
                let what = "found an empty text block, expected text".into();
                out.push(broken(
                    "empty_text_block",
                    index,
                    format!("{at}/content/{number}"),
                    what,
                ));
            }
        }
    }
    let nothing = match fields.get("content") {
        None | Some(Value::Null) => true,
        Some(Value::Array(blocks)) => blocks
            .iter()
            .all(|b| blank(b) || is_reasoning(b) || b.get("text").is_some_and(blank)),
        Some(text) => blank(text),
    };
    if nothing && calls.is_empty() {
        let what = "found an AI message without text or call, expected one".into();
        out.push(broken(
            "empty_message",
            index,
            format!("{at}/content"),
            what,
        ));
    }
}

fn is_reasoning(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str).unwrap_or("");
    [
        "thinking",
        "redacted_thinking",
        "reasoning",
        "reasoning_content",
    ]
    .contains(&kind)
}

/// A value and those around it, up to the message's fields: a summary's text lies two levels below its signed item.
fn holders(pointer: &str) -> impl Iterator<Item = &str> {
    let ends = pointer.rmatch_indices('/').map(|(end, _)| end);
    let up = ends.filter_map(|end| pointer.get(..end));
    std::iter::once(pointer).chain(up.take(3))
}

/// Whether a block carries what binds its text, in any provider's spelling.
fn signed(block: &Value) -> bool {
    let set = |value: &Value| !value.is_null() && value.as_str() != Some("");
    let keys = [
        "signature",
        "encrypted_content",
        "data",
        "extras/signature",
        "thoughtSignature",
        "thought_signature",
    ];
    let here = keys
        .iter()
        .any(|key| block.pointer(&format!("/{key}")).is_some_and(set));
    is_reasoning(block) && here
        || ["encrypted_content", "signature"]
            .iter()
            .any(|key| block.get(*key).is_some_and(set))
}

fn broken(rule: &'static str, message: usize, path: String, what: String) -> Violation {
    Violation {
        provider: NAME,
        rule,
        message: Some(message),
        path,
        what,
    }
}
