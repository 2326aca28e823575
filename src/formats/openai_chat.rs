//! OpenAI Chat Completions messages, with the reasoning fields that DeepSeek, Kimi, Qwen, vLLM and SGLang add.
//! A record is a request body with `messages` inside, or a bare list of messages.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Edit, FormatError, WireFormat, chat_part, chat_reasoning, parse};
use crate::trajectory::{
    Message, Part, Place, Role, Segment, SegmentKind, Text, ToolCall, Trajectory,
};

/// OpenAI Chat Completions.
pub struct OpenAiChat;

impl WireFormat for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn providers(&self) -> &[&'static str] {
        &["openai", "deepseek", "qwen"]
    }

    fn detect(&self, root: &Value) -> bool {
        let messages = root
            .get("messages")
            .or(Some(root))
            .and_then(Value::as_array);
        messages.is_some_and(|m| {
            m.iter()
                .all(|m| m.get("role").is_some_and(Value::is_string))
        })
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        read_value(root)
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        match segment.places.as_slice() {
            // Beside calls, null is what more servers take than an empty string.
            [place]
                if text.is_empty()
                    && segment.may_be_empty
                    && segment.kind == SegmentKind::Visible =>
            {
                vec![Edit::Value {
                    pointer: place.pointer.clone(),
                    json: "null".into(),
                }]
            }
            _ => chat_reasoning::edits(segment, text),
        }
    }
}

/// Reads one run. Errors name the place by JSON pointer, what was found and what was expected.
pub fn read(text: &str) -> Result<Trajectory, FormatError> {
    read_value(&parse(text)?)
}

/// A run whose results need no call before them: what is left of one whose calls stand in the text.
#[cfg_attr(not(feature = "train"), allow(dead_code))]
pub(crate) fn read_with_calls_in_text(root: &Value) -> Result<Trajectory, FormatError> {
    read_messages(root, false)
}

fn read_value(root: &Value) -> Result<Trajectory, FormatError> {
    read_messages(root, true)
}

fn read_messages(root: &Value, called: bool) -> Result<Trajectory, FormatError> {
    let mut run = Trajectory::default();
    let (messages, pointer) = match root {
        Value::Array(messages) => (messages, ""),
        Value::Object(body) => match body.get("messages") {
            Some(Value::Array(messages)) => (messages, "/messages"),
            Some(other) => return Err(shape("/messages", other, "an array of messages")),
            None => {
                return Err(FormatError::Shape {
                    pointer: String::new(),
                    found: format!("an object without `messages`{}", keys(root)),
                    expected:
                        "an OpenAI chat run: an object with `messages`, or an array of messages"
                            .into(),
                });
            }
        },
        other => {
            return Err(shape(
                "",
                other,
                "an OpenAI chat run: an object with `messages`, or an array of messages",
            ));
        }
    };
    if messages.is_empty() {
        return Err(FormatError::Empty {
            pointer: pointer.into(),
        });
    }
    run.id = root.get("id").and_then(Value::as_str).map(str::to_owned);
    run.tools = match root.get("tools") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(tools)) => tools.clone(),
        Some(other) => return Err(shape("/tools", other, "an array of tool definitions")),
    };
    let (mut calls, mut names) = (HashSet::new(), HashSet::new());
    for (index, value) in messages.iter().enumerate() {
        let at = format!("{pointer}/{index}");
        let message = message(value, &at)?;
        calls.extend(message.calls.iter().filter_map(|call| call.id.clone()));
        if message.role == Role::Tool {
            // A legacy function result names its function where others name their call.
            let name = value.get("name").and_then(Value::as_str);
            let name = name.filter(|_| value.get("role").is_some_and(|role| role == "function"));
            let open = match (&message.answers, name) {
                (Some(id), _) => calls.contains(id),
                (None, Some(name)) => names.contains(name),
                (None, None) => !names.is_empty(),
            };
            if called && !open {
                let id = message.answers.or(name.map(str::to_owned));
                return Err(FormatError::ResultWithoutCall {
                    pointer: at,
                    id: id.unwrap_or_else(|| "(no id)".into()),
                });
            }
        }
        names.extend(message.calls.iter().map(|call| call.name.clone()));
        run.messages.push(message);
    }
    Ok(run)
}

const ROLES: [(&str, Role); 6] = [
    ("system", Role::System),
    ("developer", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
    ("function", Role::Tool),
];

/// The fields and the role of a message, by the names that its format has for roles.
pub(crate) fn role<'v>(
    value: &'v Value,
    at: &str,
    roles: &[(&str, Role)],
) -> Result<(&'v Map<String, Value>, Role), FormatError> {
    let expected = "a message: an object with `role`";
    let Value::Object(fields) = value else {
        return Err(shape(at, value, expected));
    };
    let at_role = format!("{at}/role");
    match fields.get("role") {
        Some(Value::String(name)) => {
            let known = roles.iter().find(|(known, _)| known == name);
            let (_, role) = known.ok_or_else(|| FormatError::Shape {
                pointer: at_role,
                found: format!("`{}`", short(name)),
                expected: one_of(roles),
            })?;
            Ok((fields, *role))
        }
        Some(other) => Err(shape(&at_role, other, "a string")),
        None => Err(FormatError::Shape {
            pointer: at.into(),
            found: format!("an object without `role`{}", keys(value)),
            expected: expected.into(),
        }),
    }
}

fn one_of(roles: &[(&str, Role)]) -> String {
    let names: Vec<&str> = roles.iter().map(|(name, _)| *name).collect();
    match names.as_slice() {
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
        [] => String::new(),
    }
}

fn message(value: &Value, at: &str) -> Result<Message, FormatError> {
    let (fields, role) = role(value, at, &ROLES)?;
    let mut message = Message::user("");
    message.role = role;
    message.parts = content(fields.get("content"), at)?;
    message.content_is_list = matches!(fields.get("content"), Some(Value::Array(_)));
    message.calls = calls(value, at)?;
    message.answers = match fields.get("tool_call_id") {
        Some(Value::String(id)) => Some(id.clone()),
        None | Some(Value::Null) => None,
        Some(other) => return Err(shape(&format!("{at}/tool_call_id"), other, "a string")),
    };
    if role == Role::Assistant {
        message.reasoning.extend(chat_reasoning::read(value, at)?);
    }
    Ok(message)
}

/// A text part with its place.
pub(crate) fn text_part(text: &str, pointer: String) -> Part {
    Part::Text(Text {
        text: text.to_owned(),
        place: Some(Place {
            pointer,
            range: 0..text.len(),
        }),
        ..Text::default()
    })
}

fn content(value: Option<&Value>, at: &str) -> Result<Vec<Part>, FormatError> {
    let at = format!("{at}/content");
    match value {
        None | Some(Value::Null) => Ok(vec![Part::text("")]),
        Some(Value::String(text)) => Ok(vec![text_part(text, at)]),
        Some(Value::Array(parts)) => parts
            .iter()
            .enumerate()
            .map(|(index, value)| chat_part::part(value, &format!("{at}/{index}")))
            .collect(),
        Some(other) => Err(shape(&at, other, "a string, null or an array of parts")),
    }
}

fn calls(message: &Value, at: &str) -> Result<Vec<ToolCall>, FormatError> {
    let mut out = Vec::new();
    match message.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(Value::Array(calls)) => {
            for (index, call) in calls.iter().enumerate() {
                let at = format!("{at}/tool_calls/{index}");
                let function = call
                    .get("function")
                    .ok_or_else(|| shape(&at, call, "a tool call with `function`"))?;
                out.push(function_call(
                    function,
                    call.get("id"),
                    &format!("{at}/function"),
                )?);
            }
        }
        Some(other) => {
            return Err(shape(
                &format!("{at}/tool_calls"),
                other,
                "an array of tool calls",
            ));
        }
    }
    if let Some(function @ Value::Object(_)) = message.get("function_call") {
        out.push(function_call(
            function,
            None,
            &format!("{at}/function_call"),
        )?);
    }
    Ok(out)
}

pub(crate) fn function_call(
    function: &Value,
    id: Option<&Value>,
    at: &str,
) -> Result<ToolCall, FormatError> {
    let Some(Value::String(name)) = function.get("name") else {
        return Err(shape(at, function, "a function with a string `name`"));
    };
    let arguments = match function.get("arguments") {
        Some(value @ (Value::String(_) | Value::Object(_))) => value.clone(),
        None | Some(Value::Null) => Value::String(String::new()),
        Some(other) => {
            return Err(shape(
                &format!("{at}/arguments"),
                other,
                "a string of JSON or an object",
            ));
        }
    };
    Ok(ToolCall {
        id: id.and_then(Value::as_str).map(str::to_owned),
        name: name.clone(),
        arguments,
    })
}

pub(crate) fn shape(pointer: &str, found: &Value, expected: &str) -> FormatError {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(value) => format!("the number {value}"),
        Value::String(value) => format!("the string `{}`", short(value)),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(_) => format!("an object{}", keys(found)),
    };
    FormatError::Shape {
        pointer: pointer.into(),
        found,
        expected: expected.into(),
    }
}

pub(crate) fn keys(value: &Value) -> String {
    let Some(fields) = value.as_object() else {
        return String::new();
    };
    let names: Vec<String> = fields
        .keys()
        .take(6)
        .map(|key| format!("`{}`", short(key)))
        .collect();
    if names.is_empty() {
        " (it is empty)".into()
    } else {
        format!(" (its keys: {})", names.join(", "))
    }
}

pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
