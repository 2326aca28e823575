//! What does a content block say?

use serde_json::{Value, json};

use super::{kind, left_by_thinking};
use crate::formats::FormatError;
use crate::formats::openai_chat::{keys, shape, short, text_part};
use crate::formats::picture::picture_part;
use crate::trajectory::{
    Frozen, Message, Part, Picture, PictureSource, Place, Reasoning, ToolCall,
};

/// Nobody but the provider can read it, so nothing can be said about what it holds.
const REDACTED: Frozen = Frozen::Rule(
    "redacted_thinking",
    "the block is encrypted: what it says is unknown",
);

/// Whether a block keeps its message from being empty when all thinking leaves.
pub(super) fn stays(block: &Value) -> bool {
    match kind(block) {
        "thinking" | "redacted_thinking" => false,
        "text" => block
            .get("text")
            .and_then(Value::as_str)
            .is_some_and(|t| !t.trim().is_empty()),
        _ => true,
    }
}

pub(super) fn assistant_block(
    message: &mut Message,
    block: &Value,
    at: &str,
    keeps: bool,
) -> Result<(), FormatError> {
    let reasoning = |text: &str, key: &str, frozen| Reasoning {
        text: text.to_owned(),
        places: vec![Place {
            pointer: format!("{at}/{key}"),
            range: 0..text.len(),
        }],
        frozen,
        may_be_empty: keeps && frozen.is_none(),
    };
    match kind(block) {
        "thinking" => {
            let text = string(block, "thinking", at)?;
            message.reasoning.push(reasoning(text, "thinking", None));
        }
        "redacted_thinking" => message.reasoning.push(Reasoning {
            frozen: Some(REDACTED),
            ..Reasoning::default()
        }),
        "tool_use" => {
            let arguments = match block.get("input") {
                Some(input @ (Value::Object(_) | Value::String(_))) => input.clone(),
                None | Some(Value::Null) => json!({}),
                Some(other) => return Err(shape(&format!("{at}/input"), other, "an object")),
            };
            message.calls.push(ToolCall {
                id: block.get("id").and_then(Value::as_str).map(str::to_owned),
                name: string(block, "name", at)?.to_owned(),
                arguments,
            });
        }
        _ => match left_by_thinking(block) {
            Some(text) if kind(block) == "text" => {
                message.reasoning.push(reasoning(text, "text", None));
            }
            _ => message.parts.push(part(block, at)?),
        },
    }
    Ok(())
}

fn string<'a>(block: &'a Value, key: &str, at: &str) -> Result<&'a str, FormatError> {
    match block.get(key) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(shape(&format!("{at}/{key}"), other, "a string")),
        None => Err(FormatError::Shape {
            pointer: at.into(),
            found: format!("a block without `{key}`{}", keys(block)),
            expected: format!(
                "a block of type `{}` with a string `{key}`",
                short(kind(block))
            ),
        }),
    }
}

pub(super) fn result(block: &Value, at: &str) -> Result<Message, FormatError> {
    let id = string(block, "tool_use_id", at)?;
    let at = format!("{at}/content");
    let mut message = Message::tool(id, Vec::new());
    match block.get("content") {
        None | Some(Value::Null) => message.parts.push(Part::text("")),
        Some(Value::String(text)) => message.parts.push(text_part(text, at)),
        Some(Value::Array(blocks)) => {
            message.content_is_list = true;
            for (index, block) in blocks.iter().enumerate() {
                message.parts.push(part(block, &format!("{at}/{index}"))?);
            }
        }
        Some(other) => {
            return Err(shape(&at, other, "a string or an array of content blocks"));
        }
    }
    message.content_is_list &= !message.parts.is_empty();
    Ok(message)
}

pub(super) fn part(block: &Value, at: &str) -> Result<Part, FormatError> {
    match kind(block) {
        "" => Err(shape(at, block, "a content block: an object with `type`")),
        "text" => Ok(text_part(string(block, "text", at)?, format!("{at}/text"))),
        "image" => image(block, at),
        _ => Ok(Part::Other(block.clone())),
    }
}

fn image(block: &Value, at: &str) -> Result<Part, FormatError> {
    let at = format!("{at}/source");
    let Some(source) = block.get("source").filter(|s| s.is_object()) else {
        return Err(shape(&at, block, "an image block with an object `source`"));
    };
    match kind(source) {
        "base64" => {
            let media = string(source, "media_type", &at)?;
            let data = string(source, "data", &at)?;
            let source = PictureSource::DataUri(format!("data:{media};base64,{data}"));
            let pointer = format!("{at}/data");
            Ok(Part::Picture(Picture { source, pointer }))
        }
        "url" => Ok(picture_part(
            string(source, "url", &at)?,
            format!("{at}/url"),
        )),
        _ => Ok(Part::Other(block.clone())),
    }
}
