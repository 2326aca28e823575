//! What is a block of a LangChain message's content? Blocks of every provider behind it, and LangChain's own.

use serde_json::Value;

use super::{add, piece};
use crate::formats::openai_chat::text_part;
use crate::formats::picture::{base64_part, picture_part};
use crate::trajectory::{Message, Part, Role};

/// Adds a block to its message. A block that is not understood is carried.
pub(super) fn read(message: &mut Message, block: &Value, at: &str) {
    if let Value::String(text) = block {
        message.parts.push(text_part(text, at.to_owned()));
        return;
    }
    let kind = block.get("type").and_then(Value::as_str).unwrap_or("");
    let text = |key: &str| block.get(key).and_then(Value::as_str);
    if message.role == Role::Assistant {
        // The calls are read from all their places at once.
        if [
            "tool_use",
            "tool_call",
            "function_call",
            "invalid_tool_call",
        ]
        .contains(&kind)
        {
            return;
        }
        if reasoning(message, block, kind, at) {
            return;
        }
    }
    let part = match kind {
        "text" | "input_text" | "output_text" => {
            text("text").map(|t| text_part(t, format!("{at}/text")))
        }
        "image_url" | "input_image" => match block.get("image_url") {
            Some(Value::String(url)) => Some(picture_part(url, format!("{at}/image_url"))),
            Some(image) => image
                .get("url")
                .and_then(Value::as_str)
                .map(|url| picture_part(url, format!("{at}/image_url/url"))),
            None => None,
        },
        "image" | "media" => image(block, at),
        _ => None,
    };
    message
        .parts
        .push(part.unwrap_or_else(|| Part::Other(block.clone())));
}

/// LangChain's image block in both its versions, Anthropic's, and Google's.
fn image(block: &Value, at: &str) -> Option<Part> {
    let source = block.get("source").filter(|s| s.is_object());
    let (value, inside) = source.map_or((block, ""), |source| (source, "/source"));
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let media = text("mime_type").or_else(|| text("media_type"));
    if media.is_some_and(|m| !m.starts_with("image/")) {
        return None;
    }
    for key in ["base64", "data"] {
        if let Some(data) = text(key) {
            return Some(base64_part(data, media, format!("{at}{inside}/{key}")));
        }
    }
    let url = text("url")?;
    Some(picture_part(url, format!("{at}{inside}/url")))
}

/// Adds a block of reasoning; false if it is none.
fn reasoning(message: &mut Message, block: &Value, kind: &str, at: &str) -> bool {
    let mut found = false;
    let out = &mut message.reasoning;
    let mut take = |value: Option<&Value>, key: String| {
        if let Some(Value::String(text)) = value {
            found = true;
            // An empty block is refused by the providers that have blocks.
            add(out, piece(text, format!("{at}{key}"), false));
        }
    };
    match kind {
        "thinking" => take(block.get("thinking"), "/thinking".into()),
        "reasoning_content" => take(
            block.pointer("/reasoning_content/text"),
            "/reasoning_content/text".into(),
        ),
        "reasoning" => {
            take(block.get("reasoning"), "/reasoning".into());
            for key in ["summary", "content"] {
                let parts = block
                    .get(key)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                for (index, part) in parts.enumerate() {
                    take(part.get("text"), format!("/{key}/{index}/text"));
                }
            }
        }
        _ => {}
    }
    let hidden = kind == "redacted_thinking" || kind == "reasoning";
    if !found && hidden {
        // There, but nobody can read it: one empty piece at the block, which the provider's rule freezes.
        add(out, piece("", at.to_owned(), false));
    }
    found || hidden
}
