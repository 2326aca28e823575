//! LLaMA-Factory's v1 rows: `messages` whose content is a list of `type` and `value`, reasoning and calls among them.
//! A reasoning part that goes leaves the list; the message always keeps another part.

use serde_json::Value;

use super::openai_chat::{keys, role, shape, text_part};
use super::picture::picture_part;
use super::share_gpt::{call, tools};
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{Message, Part, Place, Reasoning, Role, Segment, SegmentKind, Trajectory};

/// LLaMA-Factory v1.
pub struct LlamaFactory;

impl WireFormat for LlamaFactory {
    fn name(&self) -> &'static str {
        "llama-factory"
    }

    fn providers(&self) -> &[&'static str] {
        &["llama-factory"]
    }

    fn detect(&self, root: &Value) -> bool {
        let part = |p: &Value| {
            p.get("type").is_some_and(Value::is_string)
                && p.get("value").is_some()
                && p.get("text").is_none()
        };
        let message = |m: &Value| {
            let role = m.get("role").is_some_and(Value::is_string);
            role && content(m).is_some_and(|parts| parts.iter().all(part))
        };
        messages(root).is_some_and(|messages| {
            messages.iter().all(message)
                && messages
                    .iter()
                    .any(|m| content(m).is_some_and(|p| !p.is_empty()))
        })
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let Some(messages) = messages(root) else {
            return Err(match root.get("messages") {
                Some(other) => shape("/messages", other, "an array of messages"),
                None => FormatError::Shape {
                    pointer: String::new(),
                    found: format!("a value without `messages`{}", keys(root)),
                    expected: "a LLaMA-Factory row: an object with `messages`".into(),
                },
            });
        };
        if messages.is_empty() {
            let pointer = "/messages".into();
            return Err(FormatError::Empty { pointer });
        }
        let read = |(index, value)| message(value, &format!("/messages/{index}"));
        Ok(Trajectory {
            id: root.get("id").and_then(Value::as_str).map(str::to_owned),
            tools: tools(root.get("tools"))?,
            messages: messages
                .iter()
                .enumerate()
                .map(read)
                .collect::<Result<_, _>>()?,
        })
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        let edit = |place: &Place| match place.pointer.strip_suffix("/value") {
            Some(part) if text.is_empty() && segment.kind == SegmentKind::Field => Edit::Remove {
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

pub(crate) fn messages(root: &Value) -> Option<&Vec<Value>> {
    root.get("messages")?.as_array()
}

pub(crate) fn content(message: &Value) -> Option<&Vec<Value>> {
    message.get("content")?.as_array()
}

const ROLES: [(&str, Role); 5] = [
    ("system", Role::System),
    ("user", Role::User),
    ("assistant", Role::Assistant),
    ("tool", Role::Tool),
    ("observation", Role::Tool),
];

fn message(value: &Value, at: &str) -> Result<Message, FormatError> {
    let (_, role) = role(value, at, &ROLES)?;
    let mut message = Message::user("");
    message.role = role;
    message.parts.clear();
    message.content_is_list = true;
    let Some(parts) = content(value) else {
        let found = value.get("content").unwrap_or(&Value::Null);
        return Err(shape(
            &format!("{at}/content"),
            found,
            "an array of parts with `type` and `value`",
        ));
    };
    for (index, part) in parts.iter().enumerate() {
        read_part(&mut message, part, &format!("{at}/content/{index}"))?;
    }
    Ok(message)
}

fn read_part(message: &mut Message, part: &Value, at: &str) -> Result<(), FormatError> {
    let kind = part.get("type").and_then(Value::as_str);
    let (Some(kind), Some(value)) = (kind, part.get("value")) else {
        return Err(shape(
            at,
            part,
            "a part: an object with a string `type` and `value`",
        ));
    };
    let at = format!("{at}/value");
    let text = |expected: &str| value.as_str().ok_or_else(|| shape(&at, value, expected));
    match kind {
        "text" => message.parts.push(text_part(text("a string")?, at)),
        "reasoning" if message.role == Role::Assistant => {
            let text = text("a string")?.to_owned();
            let range = 0..text.len();
            message.reasoning.push(Reasoning {
                text,
                places: vec![Place { pointer: at, range }],
                frozen: None,
                // More fields than these two would leave with the part.
                may_be_empty: part.as_object().is_some_and(|f| f.len() == 2),
            });
        }
        "tool_call" => {
            let expected = "the JSON of a call with `name` and `arguments`";
            let parsed: Value = match value {
                Value::String(text) => {
                    serde_json::from_str(text).map_err(|_| shape(&at, value, expected))?
                }
                other => other.clone(),
            };
            message
                .calls
                .push(call(&parsed).ok_or_else(|| shape(&at, value, expected))?);
        }
        "image_url" | "image" => match value.as_str() {
            Some(address) => message.parts.push(picture_part(address, at)),
            None => message.parts.push(Part::Other(part.clone())),
        },
        _ => message.parts.push(Part::Other(part.clone())),
    }
    Ok(())
}
