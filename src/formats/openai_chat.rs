//! OpenAI Chat Completions messages, with the reasoning fields that DeepSeek, Kimi, Qwen, vLLM and SGLang add.
//! A record is a request body with `messages` inside, or a bare list of messages.

use std::collections::HashSet;

use serde_json::Value;

use super::FormatError;
use super::located::{Kind, Located};
use crate::trajectory::{
    Frozen, Message, Part, Picture, PictureSource, Role, ToolCall, Trajectory,
};

/// Reads one run. Errors name the place by JSON pointer, what was found and what was expected.
pub fn read(text: &str) -> Result<Trajectory, FormatError> {
    // A whole parse first: it alone sees lone surrogates and nesting that is too deep, and knows line and column.
    let root: Value = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let half = message.contains("hex escape") || message.contains("surrogate");
        let hint = if half {
            " (a \\u escape that is half of a surrogate pair?)"
        } else {
            ""
        };
        FormatError::NotJson {
            message: message + hint,
        }
    })?;
    let mut run = Trajectory::default();
    let (messages, pointer) = match &root {
        Value::Array(messages) => (messages, ""),
        Value::Object(body) => match body.get("messages") {
            Some(Value::Array(messages)) => (messages, "/messages"),
            Some(other) => return Err(shape("/messages", other, "an array of messages")),
            None => {
                return Err(FormatError::Shape {
                    pointer: String::new(),
                    found: format!("an object without `messages`{}", keys(&root)),
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
    run.root = pointer.to_owned();
    run.id = root.get("id").and_then(Value::as_str).map(str::to_owned);
    run.tools = match root.get("tools") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(tools)) => tools.clone(),
        Some(other) => return Err(shape("/tools", other, "an array of tool definitions")),
    };
    let mut calls = HashSet::new();
    for (index, value) in messages.iter().enumerate() {
        let at = format!("{pointer}/{index}");
        let message = message(value, &at)?;
        calls.extend(message.calls.iter().filter_map(|call| call.id.clone()));
        if message.role == Role::Tool {
            let open = match &message.answers {
                Some(id) => calls.contains(id),
                None => run.messages.iter().any(|m: &Message| !m.calls.is_empty()),
            };
            if !open {
                return Err(FormatError::ResultWithoutCall {
                    pointer: at,
                    id: message.answers.unwrap_or_else(|| "(no id)".into()),
                });
            }
        }
        run.messages.push(message);
    }
    Ok(run)
}

fn message(value: &Value, at: &str) -> Result<Message, FormatError> {
    let Value::Object(fields) = value else {
        return Err(shape(at, value, "a message: an object with `role`"));
    };
    let role = match fields.get("role") {
        Some(Value::String(role)) => match role.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" | "function" => Role::Tool,
            other => {
                return Err(FormatError::Shape {
                    pointer: format!("{at}/role"),
                    found: format!("`{}`", short(other)),
                    expected: "system, developer, user, assistant, tool or function".into(),
                });
            }
        },
        Some(other) => return Err(shape(&format!("{at}/role"), other, "a string")),
        None => {
            return Err(FormatError::Shape {
                pointer: at.into(),
                found: format!("an object without `role`{}", keys(value)),
                expected: "a message: an object with `role`".into(),
            });
        }
    };
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
        reasoning(&mut message, value, at)?;
    }
    Ok(message)
}

/// `reasoning_content` and its newer name `reasoning`: equal copies are one text that changes in both places.
fn reasoning(message: &mut Message, value: &Value, at: &str) -> Result<(), FormatError> {
    for key in ["reasoning_content", "reasoning"] {
        let pointer = format!("{at}/{key}");
        match value.get(key) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => match &message.reasoning {
                // An empty field is what some clients write everywhere; it is no copy of the other one.
                Some(_) if text.trim().is_empty() => {}
                None => {
                    message.reasoning = Some(text.clone());
                    message.reasoning_pointers.push(pointer);
                }
                Some(first) if first.trim().is_empty() => {
                    message.reasoning = Some(text.clone());
                    message.reasoning_pointers = vec![pointer];
                }
                Some(first) if first == text => message.reasoning_pointers.push(pointer),
                Some(_) => message.reasoning_frozen = Some(Frozen::CopiesDisagree),
            },
            Some(other) => return Err(shape(&pointer, other, "a string or null")),
        }
    }
    if matches!(value.get("reasoning_details"), Some(Value::Array(details)) if !details.is_empty())
    {
        message.reasoning_frozen = Some(Frozen::ReasoningDetails);
    }
    Ok(())
}

fn content(value: Option<&Value>, at: &str) -> Result<Vec<Part>, FormatError> {
    let at = format!("{at}/content");
    match value {
        None | Some(Value::Null) => Ok(vec![Part::Text(String::new())]),
        Some(Value::String(text)) => Ok(vec![Part::Text(text.clone())]),
        Some(Value::Array(parts)) => parts
            .iter()
            .enumerate()
            .map(|(index, value)| part(value, &format!("{at}/{index}")))
            .collect(),
        Some(other) => Err(shape(&at, other, "a string, null or an array of parts")),
    }
}

fn part(value: &Value, at: &str) -> Result<Part, FormatError> {
    let Value::Object(fields) = value else {
        return Err(shape(at, value, "a content part: an object with `type`"));
    };
    match fields.get("type").and_then(Value::as_str) {
        Some("text") => match fields.get("text") {
            Some(Value::String(text)) => Ok(Part::Text(text.clone())),
            Some(other) => Err(shape(&format!("{at}/text"), other, "a string")),
            None => Err(shape(at, value, "a text part with `text`")),
        },
        Some("image_url") => {
            let (pointer, address) = match fields.get("image_url") {
                Some(Value::String(url)) => (format!("{at}/image_url"), url),
                Some(Value::Object(image)) => match image.get("url") {
                    Some(Value::String(url)) => (format!("{at}/image_url/url"), url),
                    _ => {
                        return Err(shape(
                            &format!("{at}/image_url"),
                            value,
                            "an object with a string `url`",
                        ));
                    }
                },
                _ => return Err(shape(at, value, "an image part with `image_url`")),
            };
            picture(address, pointer).map(Part::Picture)
        }
        Some(_) => Ok(Part::Other(value.clone())),
        None => Err(FormatError::Shape {
            pointer: at.into(),
            found: format!("an object without a string `type`{}", keys(value)),
            expected: "a content part: an object with `type`".into(),
        }),
    }
}

/// Addresses are checked when the run is read; files are opened much later, if at all.
fn picture(address: &str, pointer: String) -> Result<Picture, FormatError> {
    if address.starts_with("data:") {
        let source = PictureSource::DataUri(address.to_owned());
        return Ok(Picture { source, pointer });
    }
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    let is_url = scheme.is_some_and(|s| {
        s.len() > 1
            && s.chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let leaves = std::path::Path::new(address)
        .components()
        .try_fold(0usize, |depth, component| match component {
            std::path::Component::Normal(_) => Some(depth + 1),
            std::path::Component::CurDir => Some(depth),
            std::path::Component::ParentDir => depth.checked_sub(1),
            _ => None,
        })
        .is_none();
    if is_url || leaves || address.is_empty() || address.contains('\0') {
        let found = if is_url {
            format!("the URL `{}`", short(address))
        } else {
            format!("the path `{}`", short(address))
        };
        return Err(FormatError::PictureAddress { pointer, found });
    }
    Ok(Picture {
        source: PictureSource::Path(address.to_owned()),
        pointer,
    })
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

fn function_call(function: &Value, id: Option<&Value>, at: &str) -> Result<ToolCall, FormatError> {
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

/// The value at the JSON pointer (RFC 6901) `pointer` in `text`, to be edited.
pub(crate) fn locate<'a>(
    text: &'a str,
    pointer: &str,
) -> Result<Option<Located<'a>>, serde_json::Error> {
    let mut at = Located::parse(text)?;
    for step in pointer.split('/').skip(1) {
        let next = match at.kind() {
            Kind::Array => step
                .parse::<usize>()
                .ok()
                .and_then(|index| {
                    at.elements()
                        .map(|items| items.get(index).copied())
                        .transpose()
                })
                .transpose()?,
            // serde_json keeps the last of repeated keys; so must the edit.
            Kind::Object => {
                let wanted = step.replace("~1", "/").replace("~0", "~");
                let members = at.members()?.into_iter();
                members
                    .rev()
                    .find_map(|(key, value)| (key == wanted).then_some(value))
            }
            _ => None,
        };
        match next {
            Some(value) => at = value,
            None => return Ok(None),
        }
    }
    Ok(Some(at))
}

fn shape(pointer: &str, found: &Value, expected: &str) -> FormatError {
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

fn keys(value: &Value) -> String {
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

fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
