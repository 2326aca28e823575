//! What Gemini refuses. Sources: the pages on thought signatures and function calling, the SDK's types, and public reports of its 400s.

use std::collections::HashSet;

use serde_json::Value;

use super::{Provider, Violation, frozen_below};
use crate::formats::gemini::{
    CALL, FILE, INLINE, RESPONSE, SIGNATURE, field, id, is_thought, list, name, parts,
};
use crate::trajectory::{Frozen, Trajectory};

/// The rules of the Gemini API.
pub struct Gemini;

const SIGNED_PART: Frozen = Frozen::Rule(
    "signed_part",
    "the part carries a signature, which holds for exactly this part",
);
const BESIDE_SIGNATURE: Frozen = Frozen::Rule(
    "text_beside_signature",
    "a part of the same content carries a signature, and this text is not a thought",
);

impl Provider for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn protect(&self, root: &Value, run: &mut Trajectory) {
        let (mut signed, mut beside) = (HashSet::new(), HashSet::new());
        for (at, content) in contents(root) {
            let parts = parts(content);
            if !parts.iter().any(is_signed) {
                continue;
            }
            for (index, part) in parts.iter().enumerate() {
                let at = format!("{at}/parts/{index}");
                if is_signed(part) {
                    signed.insert(at);
                } else if !is_thought(part) {
                    beside.insert(at);
                }
            }
        }
        frozen_below(run, &signed, SIGNED_PART);
        frozen_below(run, &beside, BESIDE_SIGNATURE);
    }

    fn find(&self, root: &Value) -> Vec<Violation> {
        let contents = contents(root);
        let mut out = Vec::new();
        for (index, (at, content)) in contents.iter().enumerate() {
            shape(index, at, content, &mut out);
        }
        pairs(&contents, &mut out);
        signatures(root, &contents, &mut out);
        out.sort_by_key(|v| v.message);
        out
    }
}

fn contents(root: &Value) -> Vec<(String, &Value)> {
    let Some((at, contents)) = list(root) else {
        return Vec::new();
    };
    let numbered = contents.iter().enumerate();
    numbered
        .map(|(i, content)| (format!("{at}/{i}"), content))
        .collect()
}

fn is_signed(part: &Value) -> bool {
    field(part, SIGNATURE).is_some()
}

fn is_model(content: &Value) -> bool {
    content.get("role").and_then(Value::as_str) == Some("model")
}

fn violation(rule: &'static str, message: usize, path: String, what: String) -> Violation {
    Violation {
        provider: "gemini",
        rule,
        message: Some(message),
        path,
        what,
    }
}

/// What a content and its parts may not look like.
fn shape(message: usize, at: &str, content: &Value, out: &mut Vec<Violation>) {
    let parts = parts(content);
    if parts.is_empty() {
        let what = "found no parts, expected at least one";
        out.push(violation("empty_content", message, at.into(), what.into()));
    } else if is_model(content) && parts.iter().all(is_thought) {
        let what = "found thoughts alone, expected another part beside them";
        out.push(violation("thought_only", message, at.into(), what.into()));
    }
    for (index, part) in parts.iter().enumerate() {
        let has = |names| field(part, names).map(|(name, _)| name);
        let data = [["text", "text"], CALL, RESPONSE, INLINE, FILE];
        let found: Vec<&str> = data.into_iter().filter_map(has).collect();
        let at = format!("{at}/parts/{index}");
        if found.len() > 1 {
            let what = format!(
                "found {}, expected one kind of data in a part",
                found.join(" and ")
            );
            out.push(violation("two_data_fields", message, at, what));
        } else if part.as_object().is_some_and(|fields| fields.is_empty()) {
            let what = "found an empty part, expected one kind of data";
            out.push(violation("empty_part", message, at, what.into()));
        }
    }
}

struct Link<'a> {
    message: usize,
    at: String,
    id: Option<String>,
    name: &'a str,
}

impl Link<'_> {
    fn words(&self) -> String {
        match &self.id {
            Some(id) => format!("`{}` with id `{id}`", self.name),
            None => format!("`{}`", self.name),
        }
    }
}

fn links<'a>(
    message: usize,
    at: &str,
    content: &'a Value,
    names: [&'static str; 2],
) -> Vec<Link<'a>> {
    let numbered = parts(content).iter().enumerate();
    let link = |(index, part): (usize, &'a Value)| {
        let (_, value) = field(part, names)?;
        let at = format!("{at}/parts/{index}");
        Some(Link {
            message,
            at,
            id: id(value),
            name: name(value).unwrap_or(""),
        })
    };
    numbered.filter_map(link).collect()
}

/// Each call has its response in the next content and the other way round: by id where both have one, else by name and order.
fn pairs(contents: &[(String, &Value)], out: &mut Vec<Violation>) {
    let mut open: Vec<Link<'_>> = Vec::new();
    for (message, (at, content)) in contents.iter().enumerate() {
        for response in links(message, at, content, RESPONSE) {
            let by_id = |call: &Link<'_>| call.id.is_some() && call.id == response.id;
            let by_name = |call: &Link<'_>| {
                call.name == response.name && (call.id.is_none() || response.id.is_none())
            };
            let found = open.iter().position(by_id);
            match found.or_else(|| open.iter().position(by_name)) {
                Some(found) => drop(open.remove(found)),
                None => {
                    let what = format!(
                        "found a response for {}, expected that call in the content before",
                        response.words()
                    );
                    out.push(violation(
                        "response_without_call",
                        response.message,
                        response.at,
                        what,
                    ));
                }
            }
        }
        // Responses to the calls of one content may stand in several contents in a row.
        let more = contents
            .get(message + 1)
            .is_some_and(|(_, next)| has_response(next));
        if !(has_response(content) && more) {
            for call in open.drain(..) {
                let what = format!(
                    "found the call {}, expected its response in the next content",
                    call.words()
                );
                out.push(violation(
                    "call_without_response",
                    call.message,
                    call.at,
                    what,
                ));
            }
        }
        open.extend(links(message, at, content, CALL));
    }
}

fn has_response(content: &Value) -> bool {
    parts(content)
        .iter()
        .any(|part| field(part, RESPONSE).is_some())
}

/// In the current turn the first call of each step has its signature. Only Gemini 3 refuses a history without, so only runs that say so
/// or that are signed elsewhere are held to it.
fn signatures(root: &Value, contents: &[(String, &Value)], out: &mut Vec<Violation>) {
    let model = root.get("model").and_then(Value::as_str).unwrap_or("");
    let signed = contents.iter().any(|(_, c)| parts(c).iter().any(is_signed));
    if model.contains("gemini-2") || !(signed || model.contains("gemini-3")) {
        return;
    }
    let person = |(_, content): &(String, &Value)| !is_model(content) && !has_response(content);
    let from = contents.iter().rposition(person).map_or(0, |at| at + 1);
    for (message, (at, content)) in contents.iter().enumerate().skip(from) {
        let first = links(message, at, content, CALL).into_iter().next();
        let part = parts(content)
            .iter()
            .find(|part| field(part, CALL).is_some());
        if let (Some(call), Some(false)) = (first, part.map(is_signed)) {
            let what = format!(
                "found the call {} without a signature, expected one on the first call of each step of the current turn",
                call.words()
            );
            out.push(violation("missing_signature", message, call.at, what));
        }
    }
}
