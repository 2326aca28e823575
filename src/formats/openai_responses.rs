//! OpenAI Responses items: a list of items, or a body with the list in `input` (a saved response has it in `output`).
//!
//! Items of one turn (reasoning, message, calls) make one message of the neutral model; reasoning behind a call or a text opens the next.
//! Reasoning is edited inside its item, which stays: an item that leaves would have to take the item behind it along.

mod item;

use std::collections::HashMap;

use serde_json::{Value, json};

use super::openai_chat::{keys, shape, short, text_part};
use super::picture::picture_part;
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{Message, Part, Place, Reasoning, Role, Segment, ToolCall, Trajectory};

pub(crate) use item::{Item, call_id, calls_elsewhere, item, items, kind, messages_of};
use item::{own, role};

/// OpenAI Responses.
pub struct OpenAiResponses;

const EXPECTED: &str = "a list of Responses items, or an object with the list in `input`";

impl WireFormat for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn providers(&self) -> &[&'static str] {
        &["responses"]
    }

    fn detect(&self, root: &Value) -> bool {
        let Some((pointer, items)) = items(root) else {
            return false;
        };
        let chat = ["tool_calls", "tool_call_id", "function_call"];
        let known = |value: &Value| match item(value) {
            // Some clients write parts of these types into chat messages.
            Item::Message => role(value).is_some() && chat.iter().all(|k| value.get(k).is_none()),
            _ => !kind(value).is_empty() && LANGCHAIN.iter().all(|k| kind(value) != *k),
        };
        // `content` of an item may be a string, which says nothing; then the body's key does.
        let named = pointer == "/input" && root.get("messages").is_none();
        !items.is_empty() && items.iter().all(known) && (named || items.iter().any(own))
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        read(root)
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        let edit = |place: &Place| match place.pointer.strip_suffix("/text") {
            // `summary` may be empty, a summary text may not; `content` is what DeepSeek wants back, so its text stays as "".
            Some(part) if text.is_empty() && in_summary(part) => Edit::Remove {
                pointer: part.to_owned(),
            },
            _ => Edit::Text {
                place: place.clone(),
                text: text.to_owned(),
            },
        };
        segment.places.iter().map(edit).collect()
    }
}

/// Types of LangChain messages, which are lists of typed objects too.
const LANGCHAIN: [&str; 7] = [
    "human",
    "ai",
    "system",
    "tool",
    "chat",
    "remove",
    "AIMessageChunk",
];

fn in_summary(part: &str) -> bool {
    part.rsplit_once('/')
        .is_some_and(|(list, _)| list.ends_with("/summary"))
}

fn read(root: &Value) -> Result<Trajectory, FormatError> {
    let Some((pointer, items)) = items(root) else {
        return Err(match root.get("input") {
            Some(other) => shape("/input", other, "an array of items"),
            None => FormatError::Shape {
                pointer: String::new(),
                found: format!("a value without items{}", keys(root)),
                expected: EXPECTED.into(),
            },
        });
    };
    if items.is_empty() {
        return Err(FormatError::Empty {
            pointer: pointer.into(),
        });
    }
    let mut run = Trajectory {
        id: root.get("id").and_then(Value::as_str).map(str::to_owned),
        tools: tools(root.get("tools"))?,
        messages: Vec::new(),
    };
    if let Some(Value::String(text)) = root.get("instructions") {
        run.push(message(
            Role::System,
            vec![text_part(text, "/instructions".into())],
        ));
    }
    let mut open: HashMap<&str, usize> = HashMap::new();
    let elsewhere = calls_elsewhere(root, items);
    for ((index, value), number) in items.iter().enumerate().zip(messages_of(root)) {
        let at = format!("{pointer}/{index}");
        if !value.is_object() {
            return Err(shape(
                &at,
                value,
                "an item: an object with `type` or `role`",
            ));
        }
        if let Some(id) = call_id(value) {
            match item(value) {
                Item::Call => *open.entry(id).or_default() += 1,
                Item::Output if !elsewhere && !open.contains_key(id) => {
                    return Err(FormatError::ResultWithoutCall {
                        pointer: at,
                        id: id.into(),
                    });
                }
                _ => {}
            }
        }
        let read = read_item(value, &at)?;
        match run.messages.get_mut(number) {
            Some(before) => {
                before.content_is_list |=
                    read.content_is_list || !before.parts.is_empty() && !read.parts.is_empty();
                before.reasoning.extend(read.reasoning);
                before.parts.extend(read.parts);
                before.calls.extend(read.calls);
            }
            None => {
                run.push(read);
            }
        }
    }
    for message in run.messages.iter_mut().filter(|m| m.parts.is_empty()) {
        message.parts.push(Part::text(""));
    }
    Ok(run)
}

fn message(role: Role, parts: Vec<Part>) -> Message {
    let mut message = Message::user("");
    message.role = role;
    message.content_is_list = false;
    message.parts = parts;
    message
}

fn read_item(value: &Value, at: &str) -> Result<Message, FormatError> {
    match item(value) {
        Item::Reasoning => {
            let mut out = message(Role::Assistant, Vec::new());
            out.reasoning = reasoning(value, at)?;
            Ok(out)
        }
        Item::Call => {
            let mut out = message(Role::Assistant, Vec::new());
            out.calls.push(call(value, at)?);
            Ok(out)
        }
        Item::Output => {
            let mut out = content(Role::Tool, value.get("output"), &format!("{at}/output"))?;
            out.answers = call_id(value).map(str::to_owned);
            Ok(out)
        }
        Item::Message => {
            let Some(role) = role(value) else {
                return Err(FormatError::Shape {
                    pointer: format!("{at}/role"),
                    found: value
                        .get("role")
                        .map_or_else(String::new, |r| short(&r.to_string())),
                    expected: "system, developer, user or assistant".into(),
                });
            };
            let mut out = content(role, value.get("content"), &format!("{at}/content"))?;
            // The item has nothing but its text, so that text never becomes empty.
            out.content_is_list |= role == Role::Assistant;
            Ok(out)
        }
        Item::Unknown if kind(value).is_empty() => Err(FormatError::Shape {
            pointer: at.into(),
            found: format!("an object without a string `type`{}", keys(value)),
            expected: "an item: an object with `type` or `role`".into(),
        }),
        Item::Unknown => {
            let mut out = message(Role::Assistant, vec![Part::Other(value.clone())]);
            out.content_is_list = true;
            Ok(out)
        }
    }
}

/// Texts of `summary` and `content`, each a piece of its own. An item without any has one empty piece at its encrypted text.
fn reasoning(value: &Value, at: &str) -> Result<Vec<Reasoning>, FormatError> {
    let mut out = Vec::new();
    for key in ["summary", "content"] {
        let parts = match value.get(key) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(parts)) => parts,
            Some(other) => return Err(shape(&format!("{at}/{key}"), other, "an array of texts")),
        };
        for (index, part) in parts.iter().enumerate() {
            // Parts of other kinds stay where they are; they hold no text that this version knows.
            if let Some(Value::String(text)) = part.get("text") {
                let simple = part
                    .as_object()
                    .is_some_and(|f| f.len() == 2 && f.contains_key("type"));
                out.push(Reasoning {
                    text: text.clone(),
                    places: vec![Place {
                        pointer: format!("{at}/{key}/{index}/text"),
                        range: 0..text.len(),
                    }],
                    frozen: None,
                    may_be_empty: key == "content" || simple,
                });
            }
        }
    }
    if out.is_empty() {
        let pointer = format!("{at}/encrypted_content");
        out.push(Reasoning {
            places: vec![Place {
                pointer,
                range: 0..0,
            }],
            ..Reasoning::default()
        });
    }
    Ok(out)
}

fn call(value: &Value, at: &str) -> Result<ToolCall, FormatError> {
    let id = call_id(value).map(str::to_owned);
    // A custom tool takes free text in `input`; a built-in one has its action and no name.
    let (key, missing) = match kind(value) {
        "function_call" => ("arguments", "a function call with a string `name`"),
        "custom_tool_call" => ("input", "a custom tool call with a string `name`"),
        "apply_patch_call" => ("operation", ""),
        _ => ("action", ""),
    };
    let name = match value.get("name") {
        Some(Value::String(name)) => name.clone(),
        _ if !missing.is_empty() => return Err(shape(at, value, missing)),
        _ => kind(value).trim_end_matches("_call").to_owned(),
    };
    let arguments = match value.get(key) {
        Some(value @ (Value::String(_) | Value::Object(_))) => value.clone(),
        None | Some(Value::Null) => Value::String(String::new()),
        Some(other) => {
            return Err(shape(
                &format!("{at}/{key}"),
                other,
                "a string or an object",
            ));
        }
    };
    Ok(ToolCall {
        id,
        name,
        arguments,
    })
}

fn content(role: Role, value: Option<&Value>, at: &str) -> Result<Message, FormatError> {
    let mut out = message(role, Vec::new());
    match value {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => out.parts.push(text_part(text, at.into())),
        Some(Value::Array(parts)) => {
            out.content_is_list = true;
            for (index, value) in parts.iter().enumerate() {
                out.parts.push(part(value, &format!("{at}/{index}"))?);
            }
        }
        // A screenshot stands alone, without a list.
        Some(object @ Value::Object(_)) => {
            out.content_is_list = true;
            out.parts.push(part(object, at)?);
        }
        Some(other) => return Err(shape(at, other, "a string or an array of parts")),
    }
    Ok(out)
}

fn part(value: &Value, at: &str) -> Result<Part, FormatError> {
    if kind(value).is_empty() {
        return Err(shape(at, value, "a content part: an object with `type`"));
    }
    Ok(
        match (kind(value), value.get("text"), value.get("image_url")) {
            ("input_text" | "output_text" | "text", Some(Value::String(text)), _) => {
                text_part(text, format!("{at}/text"))
            }
            ("input_text" | "output_text" | "text", ..) => {
                return Err(shape(at, value, "a text part with a string `text`"));
            }
            ("input_image" | "computer_screenshot", _, Some(Value::String(url))) => {
                picture_part(url, format!("{at}/image_url"))
            }
            _ => Part::Other(value.clone()),
        },
    )
}

/// Function definitions are flat here; templates know them wrapped.
fn tools(value: Option<&Value>) -> Result<Vec<Value>, FormatError> {
    let wrapped = |tool: &Value| {
        let mut fields = tool.as_object()?.clone();
        let flat = kind(tool) == "function" && fields.contains_key("name");
        fields.shift_remove("type");
        flat.then(|| json!({"type": "function", "function": fields}))
    };
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(tools)) => Ok(tools
            .iter()
            .map(|tool| wrapped(tool).unwrap_or_else(|| tool.clone()))
            .collect()),
        Some(other) => Err(shape("/tools", other, "an array of tool definitions")),
    }
}
