//! Anthropic Messages: a request body with `messages` inside, or a bare list of messages.
//! A thinking block is exact or absent: an edit takes the whole block out and may leave a plain text block in its place.

mod block;
mod history;

use std::collections::HashSet;

use serde_json::{Value, json};

use super::openai_chat::{keys, shape, text_part};
use super::turns::{Turns, empty};
use super::{Edit, FormatError, WireFormat};
use crate::evidence::{HEADER, is_evidence};
use crate::trajectory::{Message, Place, Role, Segment, SegmentKind, Trajectory};

use block::{assistant_block, part, result, stays};
pub(crate) use history::{Entry, entries, person_speaks};

/// Anthropic Messages.
pub struct Anthropic;

const EXPECTED: &str =
    "an Anthropic run: an object with `messages`, or an array of messages of user and assistant";

impl WireFormat for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn providers(&self) -> &[&'static str] {
        &["anthropic"]
    }

    fn detect(&self, root: &Value) -> bool {
        let Some((_, messages)) = list(root) else {
            return false;
        };
        let roles = ["user", "assistant", "system"];
        let plain = |m: &Value| {
            let role = m.get("role").and_then(Value::as_str);
            let foreign = ["tool_calls", "tool_call_id", "function_call"];
            role.is_some_and(|r| roles.contains(&r)) && foreign.iter().all(|k| m.get(k).is_none())
        };
        let blocks = messages.iter().filter_map(|m| m.get("content")?.as_array());
        !messages.is_empty()
            && messages.iter().all(plain)
            && (body_is_anthropic(root) || blocks.flatten().any(own_block))
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let Some((pointer, messages)) = list(root) else {
            return Err(match root.get("messages") {
                Some(other) => shape("/messages", other, "an array of messages"),
                None => shape("", root, EXPECTED),
            });
        };
        if messages.is_empty() {
            let pointer = pointer.into();
            return Err(FormatError::Empty { pointer });
        }
        let mut run = Trajectory {
            id: root.get("id").and_then(Value::as_str).map(str::to_owned),
            tools: tools(root.get("tools"))?,
            messages: Vec::new(),
        };
        match root.get("system") {
            None | Some(Value::Null) => {}
            Some(system) => run
                .messages
                .extend(content(Role::System, system, "/system")?),
        }
        let mut calls = HashSet::new();
        for (index, value) in messages.iter().enumerate() {
            let at = format!("{pointer}/{index}");
            for message in message(value, &at)? {
                calls.extend(message.calls.iter().filter_map(|call| call.id.clone()));
                match &message.answers {
                    Some(id) if !calls.contains(id) => {
                        let id = id.clone();
                        return Err(FormatError::ResultWithoutCall { pointer: at, id });
                    }
                    _ => run.messages.push(message),
                }
            }
        }
        Ok(run)
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        block_edits(segment, text)
    }
}

/// Where the list of messages stands, and the list.
fn list(root: &Value) -> Option<(&'static str, &Vec<Value>)> {
    match root {
        Value::Array(messages) => Some(("", messages)),
        _ => Some(("/messages", root.get("messages")?.as_array()?)),
    }
}

/// Fields that no other body with `messages` has. Other providers know `thinking` too, but without a budget.
fn body_is_anthropic(root: &Value) -> bool {
    let schema = |tools: &Vec<Value>| tools.iter().any(|t| t.get("input_schema").is_some());
    let budget = |t: &Value| {
        t.get("budget_tokens").is_some()
            || t.get("type").and_then(Value::as_str) == Some("adaptive")
    };
    let system = root
        .get("system")
        .is_some_and(|s| s.is_string() || s.is_array());
    root.get("anthropic_version").is_some()
        || root.get("thinking").is_some_and(budget)
        || root
            .get("tools")
            .and_then(Value::as_array)
            .is_some_and(schema)
        || (system && root.get("max_tokens").is_some())
}

/// A content block that only this format has, or that a pruning of it left.
fn own_block(block: &Value) -> bool {
    match kind(block) {
        "tool_use" | "tool_result" | "redacted_thinking" | "server_tool_use" => true,
        "thinking" => block.get("thinking").is_some_and(Value::is_string),
        "image" | "document" => block.get("source").is_some_and(Value::is_object),
        "text" => left_by_thinking(block).is_some(),
        _ => false,
    }
}

pub(crate) fn kind(block: &Value) -> &str {
    block.get("type").and_then(Value::as_str).unwrap_or("")
}

/// Evidence in the place of a thinking block ends in a line end, which evidence in the place of visible text never does. So a run whose
/// thinking is all pruned is still known as one that had thinking, and its visible text stays what it is.
fn left_by_thinking(block: &Value) -> Option<&str> {
    let text = block.get("text")?.as_str()?.strip_suffix('\n')?;
    is_evidence(text).map(|_| text)
}

/// The whole thinking block goes; any other text is edited in its place.
pub(crate) fn block_edits(segment: &Segment, text: &str) -> Vec<Edit> {
    let edit = |place: &Place| match place.pointer.strip_suffix("/thinking") {
        Some(block) if segment.kind == SegmentKind::Field => {
            let pointer = block.to_owned();
            if text.is_empty() && segment.may_be_empty {
                return Edit::Remove { pointer };
            }
            let text = if text.is_empty() { HEADER } else { text };
            let json = json!({"type": "text", "text": format!("{text}\n")}).to_string();
            Edit::Value { pointer, json }
        }
        _ => Edit::Text {
            place: place.clone(),
            text: text.to_owned(),
        },
    };
    segment.places.iter().map(edit).collect()
}

/// Definitions in the form that chat templates take; what is no function stays as it is.
fn tools(value: Option<&Value>) -> Result<Vec<Value>, FormatError> {
    let one = |tool: &Value| match (tool.get("name"), tool.get("input_schema")) {
        (Some(name), Some(schema)) => {
            let description = tool.get("description").cloned().unwrap_or("".into());
            json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
        }
        _ => tool.clone(),
    };
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(tools)) => Ok(tools.iter().map(one).collect()),
        Some(other) => Err(shape("/tools", other, "an array of tool definitions")),
    }
}

/// One wire message: results become messages of their own, in order.
pub(crate) fn message(value: &Value, at: &str) -> Result<Vec<Message>, FormatError> {
    let expected = "a message: an object with `role` and `content`";
    let Some(fields) = value.as_object() else {
        return Err(shape(at, value, expected));
    };
    let role = match fields.get("role").map(|role| (role, role.as_str())) {
        Some((_, Some("user"))) => Role::User,
        Some((_, Some("assistant"))) => Role::Assistant,
        Some((_, Some("system"))) => Role::System,
        Some((other, _)) => {
            return Err(shape(&format!("{at}/role"), other, "user or assistant"));
        }
        None => {
            return Err(FormatError::Shape {
                pointer: at.into(),
                found: format!("an object without `role`{}", keys(value)),
                expected: expected.into(),
            });
        }
    };
    match fields.get("content") {
        Some(value) => content(role, value, &format!("{at}/content")),
        None => Err(FormatError::Shape {
            pointer: at.into(),
            found: format!("an object without `content`{}", keys(value)),
            expected: expected.into(),
        }),
    }
}

fn content(role: Role, value: &Value, at: &str) -> Result<Vec<Message>, FormatError> {
    let blocks = match value {
        Value::String(text) => {
            let mut message = empty(role);
            message.parts.push(text_part(text, at.to_owned()));
            return Ok(vec![message]);
        }
        Value::Array(blocks) => blocks,
        other => return Err(shape(at, other, "a string or an array of content blocks")),
    };
    let keeps = blocks.iter().any(stays);
    let mut out = Turns::of(role);
    for (index, block) in blocks.iter().enumerate() {
        let at = format!("{at}/{index}");
        if kind(block) == "tool_result" {
            out.result(result(block, &at)?);
        } else if role == Role::Assistant {
            assistant_block(out.open(), block, &at, keeps)?;
        } else {
            out.open().parts.push(part(block, &at)?);
        }
    }
    Ok(out.finish())
}
