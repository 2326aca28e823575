//! Qwen-Agent messages: reasoning, text and each call are assistant messages of their own, in a row.
//!
//! A row makes one message of the neutral model; reasoning behind a text or a call opens the next. A message that holds reasoning alone
//! never becomes empty: a mark stays in it, so that no message is dropped or left without content.

use serde_json::Value;

use super::openai_chat::{function_call, keys, role, shape, text_part};
use super::picture::picture_part;
use super::{FormatError, WireFormat};
use crate::trajectory::{Message, Part, Place, Reasoning, Role, Trajectory};

/// Qwen-Agent messages.
pub struct QwenAgent;

/// The one key of a content item.
const ITEMS: [&str; 5] = ["text", "image", "file", "audio", "video"];

impl WireFormat for QwenAgent {
    fn name(&self) -> &'static str {
        "qwen-agent"
    }

    fn providers(&self) -> &[&'static str] {
        &["qwen-agent"]
    }

    fn detect(&self, root: &Value) -> bool {
        let Some((_, messages)) = list(root) else {
            return false;
        };
        let roles = ["system", "user", "assistant", "function"];
        let plain = |m: &Value| {
            let known = m.get("role").and_then(Value::as_str);
            let foreign = ["tool_calls", "tool_call_id", "parts", "tool_responses"];
            let typed = parts(m).iter().any(|p| p.get("type").is_some());
            known.is_some_and(|r| roles.contains(&r))
                && !typed
                && foreign.iter().all(|k| m.get(k).is_none())
        };
        messages.iter().all(plain) && (messages.iter().any(own) || lone_reasoning(messages))
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        read(root)
    }
}

/// Where the list of messages stands, and the list.
pub(crate) fn list(root: &Value) -> Option<(&'static str, &Vec<Value>)> {
    match root {
        Value::Array(messages) => Some(("", messages)),
        _ => Some(("/messages", root.get("messages")?.as_array()?)),
    }
}

fn parts(message: &Value) -> &[Value] {
    let parts = message.get("content").and_then(Value::as_array);
    parts.map(Vec::as_slice).unwrap_or_default()
}

/// Whether a message has a shape that no other format has: an untyped content item, or the number of a call.
fn own(message: &Value) -> bool {
    let item = |p: &Value| {
        p.as_object()
            .is_some_and(|f| f.len() == 1 && f.keys().all(|k| ITEMS.contains(&k.as_str())))
    };
    parts(message).iter().any(item) || message.pointer("/extra/function_id").is_some()
}

/// Reasoning in a message of its own, before the message that it led to.
fn lone_reasoning(messages: &[Value]) -> bool {
    let assistant = |m: &Value| m.get("role").and_then(Value::as_str) == Some("assistant");
    let alone = |m: &Value| {
        let empty = m
            .get("content")
            .is_none_or(|c| c.is_null() || c.as_str() == Some(""));
        m.get("reasoning_content").is_some_and(|r| !r.is_null())
            && m.get("function_call").is_none()
            && empty
    };
    messages.windows(2).any(
        |w| matches!(w, [first, second] if assistant(first) && alone(first) && assistant(second)),
    )
}

fn read(root: &Value) -> Result<Trajectory, FormatError> {
    let Some((pointer, messages)) = list(root) else {
        return Err(FormatError::Shape {
            pointer: String::new(),
            found: format!("a value without a list of messages{}", keys(root)),
            expected: "a Qwen-Agent run: a list of messages, or an object with `messages`".into(),
        });
    };
    if messages.is_empty() {
        let pointer = pointer.into();
        return Err(FormatError::Empty { pointer });
    }
    let mut run = Trajectory {
        id: root.get("id").and_then(Value::as_str).map(str::to_owned),
        tools: tools(root.get("tools").or_else(|| root.get("functions")))?,
        messages: Vec::new(),
    };
    // Numbers of calls that have no result yet: results come in the order of the calls.
    let mut open: Vec<Option<String>> = Vec::new();
    for (index, value) in messages.iter().enumerate() {
        let at = format!("{pointer}/{index}");
        let mut message = message(value, &at)?;
        open.extend(message.calls.iter().map(|call| call.id.clone()));
        if message.role == Role::Tool {
            let named = message.answers.as_ref();
            let found = open
                .iter()
                .position(|id| named.is_none_or(|named| id.as_ref().is_none_or(|id| id == named)));
            match found {
                Some(found) => {
                    let id = open.remove(found);
                    message.answers = message.answers.or(id);
                }
                None => {
                    let id = message.answers.unwrap_or_else(|| "(no id)".into());
                    return Err(FormatError::ResultWithoutCall { pointer: at, id });
                }
            }
        }
        append(&mut run.messages, message);
    }
    Ok(run)
}

/// Adds a message to the turns: one that goes on with the row before joins it.
fn append(turns: &mut Vec<Message>, message: Message) {
    match turns
        .last_mut()
        .filter(|before| continues(before, &message))
    {
        Some(before) => join(before, message),
        None => turns.push(message),
    }
}

/// The message of the run that each message of the record belongs to, in record order.
pub(crate) fn messages_of(messages: &[Value]) -> Vec<usize> {
    let mut turns = Vec::new();
    let number = |value: &Value| {
        append(
            &mut turns,
            message(value, "").unwrap_or_else(|_| Message::user("")),
        );
        turns.len() - 1
    };
    messages.iter().map(number).collect()
}

fn continues(before: &Message, message: &Message) -> bool {
    let said = !before.calls.is_empty() || before.parts.iter().any(|part| !is_blank(part));
    before.role == Role::Assistant
        && message.role == Role::Assistant
        && (message.reasoning.is_empty() || !said)
        // A text behind a call is a turn of its own: the template would show it before the call.
        && (before.calls.is_empty() || message.parts.iter().all(is_blank))
}

fn is_blank(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.text.trim().is_empty())
}

fn join(before: &mut Message, message: Message) {
    if before.parts.iter().all(is_blank) {
        before.content_is_list = message.content_is_list;
        before.parts = message.parts;
    } else if !message.parts.iter().all(is_blank) {
        before.content_is_list = true;
        before.parts.extend(message.parts);
    }
    before.reasoning.extend(message.reasoning);
    before.calls.extend(message.calls);
}

const ROLES: [(&str, Role); 4] = [
    ("system", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("function", Role::Tool),
];

fn message(value: &Value, at: &str) -> Result<Message, FormatError> {
    let (fields, role) = role(value, at, &ROLES)?;
    let mut message = Message::user("");
    message.role = role;
    message.parts = content(fields.get("content"), at)?;
    message.content_is_list = matches!(fields.get("content"), Some(Value::Array(_)));
    let number = match value.pointer("/extra/function_id") {
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    };
    if role == Role::Tool {
        message.answers = number.clone();
    }
    if role == Role::Assistant {
        if let Some(call) = fields.get("function_call").filter(|call| !call.is_null()) {
            let id = number.map(Value::String);
            let call = function_call(call, id.as_ref(), &format!("{at}/function_call"))?;
            message.calls.push(call);
        }
        // Nothing else stands in a message of text, so that text never becomes empty.
        message.content_is_list |= message.calls.is_empty();
        let alone = message.calls.is_empty() && message.parts.iter().all(is_blank);
        message.reasoning = reasoning(fields.get("reasoning_content"), at, !alone)?;
    }
    Ok(message)
}

fn reasoning(
    value: Option<&Value>,
    at: &str,
    may_be_empty: bool,
) -> Result<Vec<Reasoning>, FormatError> {
    let at = format!("{at}/reasoning_content");
    let piece = |text: &String, pointer: String, may_be_empty| Reasoning {
        text: text.clone(),
        places: vec![Place {
            pointer,
            range: 0..text.len(),
        }],
        frozen: None,
        may_be_empty,
    };
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![piece(text, at, may_be_empty)]),
        Some(Value::Array(items)) => Ok(items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| match item.get("text") {
                Some(Value::String(text)) => Some(piece(text, format!("{at}/{index}/text"), false)),
                _ => None,
            })
            .collect()),
        Some(other) => Err(shape(&at, other, "a string or an array of content items")),
    }
}

fn content(value: Option<&Value>, at: &str) -> Result<Vec<Part>, FormatError> {
    let at = format!("{at}/content");
    match value {
        None | Some(Value::Null) => Ok(vec![Part::text("")]),
        Some(Value::String(text)) => Ok(vec![text_part(text, at)]),
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(index, value)| item(value, &format!("{at}/{index}")))
            .collect(),
        Some(other) => Err(shape(&at, other, "a string or an array of content items")),
    }
}

fn item(value: &Value, at: &str) -> Result<Part, FormatError> {
    let Value::Object(fields) = value else {
        return Err(shape(
            at,
            value,
            "a content item: an object with one of text, image, file, audio, video",
        ));
    };
    match (fields.get("text"), fields.get("image")) {
        (Some(Value::String(text)), _) => Ok(text_part(text, format!("{at}/text"))),
        (Some(other), _) if !other.is_null() => {
            Err(shape(&format!("{at}/text"), other, "a string"))
        }
        (_, Some(Value::String(address))) => Ok(picture_part(address, format!("{at}/image"))),
        _ => Ok(Part::Other(value.clone())),
    }
}

/// Functions stand bare here; templates know them wrapped.
fn tools(value: Option<&Value>) -> Result<Vec<Value>, FormatError> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(tools)) => Ok(tools.iter().map(super::share_gpt::wrapped_tool).collect()),
        Some(other) => Err(shape(
            "/functions",
            other,
            "an array of function definitions",
        )),
    }
}
