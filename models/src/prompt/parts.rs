//! Which strings of a chat can a template show, and what does the template get to see?

use serde_json::{Map, Value};

use super::error::PromptError;

/// A chat as recorded, in Hugging Face form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chat {
    /// Objects with `role`, `content` (a string, or parts such as `{"type":"text","text":..}` and
    /// `{"type":"image"}`), `reasoning_content`, `tool_calls`, ...
    pub messages: Vec<Value>,
    /// JSON schemas of the tools; empty means the template gets none.
    pub tools: Vec<Value>,
    /// End with the header of the assistant turn to come.
    pub add_generation_prompt: bool,
    /// Further template variables (`enable_thinking`, `add_vision_id`, ...). They count as the template's own text.
    pub extra: Map<String, Value>,
}

/// Names under which a message's reasoning is recorded; transformers (5.24) gives the first one found to the
/// template as `reasoning_content`.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Content-part keys whose strings name or hold a medium and are not text.
const MEDIA: [&str; 8] = [
    "image",
    "image_url",
    "video",
    "video_url",
    "audio",
    "audio_url",
    "input_audio",
    "source",
];

/// One string that came from the run.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub pointer: String,
    pub text: String,
    /// Role and field (`assistant/content`), or `tools`: what a template treats alike.
    pub kind: String,
    /// A path, URL or payload: expected not to be shown.
    pub media: bool,
}

/// A string or key that templates compare and look up, so that it cannot be marked.
#[derive(Debug, Clone)]
pub(super) struct Fixed {
    /// Pointer of the string, or of the value under the key.
    pub pointer: String,
    pub key: bool,
    pub text: String,
}

/// `{"messages": [..], "tools": [..]}` as the template gets it, and its strings in order. An assistant message
/// without content gets an empty one, as serving engines give it.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub root: Value,
    pub leaves: Vec<Leaf>,
    pub fixed: Vec<Fixed>,
}

impl Input {
    pub(super) fn new(chat: &Chat) -> Result<Self, PromptError> {
        let mut messages = Vec::with_capacity(chat.messages.len());
        for (index, message) in chat.messages.iter().enumerate() {
            let Value::Object(fields) = message else {
                return Err(PromptError::Shape {
                    pointer: format!("/messages/{index}"),
                    found: kind(message),
                    expected: "an object",
                });
            };
            messages.push(message_for_template(index, fields)?);
        }
        let mut input = Self {
            root: Value::Null,
            leaves: Vec::new(),
            fixed: Vec::new(),
        };
        for (index, message) in messages.iter().enumerate() {
            let first = input.leaves.len();
            let pointer = format!("/messages/{index}");
            input.collect(message, &pointer, Place::Message);
            let role = message
                .get("role")
                .and_then(Value::as_str)
                .unwrap_or_default();
            for leaf in input.leaves.iter_mut().skip(first) {
                let field = leaf.pointer.get(pointer.len()..).unwrap_or_default();
                let field = field.split('/').nth(1).unwrap_or_default();
                leaf.kind = format!("{role}/{field}");
            }
        }
        for (index, tool) in chat.tools.iter().enumerate() {
            input.collect(tool, &format!("/tools/{index}"), Place::Tool);
        }
        // What the run does not have is no part of it, so this comes after the walk.
        for message in messages.iter_mut().filter_map(Value::as_object_mut) {
            let is_assistant = message.get("role").is_some_and(|role| role == "assistant");
            if is_assistant && !message.contains_key("content") {
                message.insert("content".to_owned(), Value::String(String::new()));
            }
        }
        let mut root = Map::new();
        root.insert("messages".to_owned(), Value::Array(messages));
        root.insert("tools".to_owned(), Value::Array(chat.tools.clone()));
        input.root = Value::Object(root);
        Ok(input)
    }

    fn collect(&mut self, value: &Value, pointer: &str, place: Place) {
        match value {
            Value::String(text) => self.leaves.push(Leaf {
                pointer: pointer.to_owned(),
                text: text.clone(),
                kind: "tools".to_owned(),
                media: place == Place::Media,
            }),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.collect(item, &format!("{pointer}/{index}"), place);
                }
            }
            Value::Object(fields) => {
                for (key, item) in fields {
                    let below = format!("{pointer}/{}", escape(key));
                    self.fixed.push(Fixed {
                        pointer: below.clone(),
                        key: true,
                        text: key.clone(),
                    });
                    match (item, place.is_fixed(key)) {
                        (Value::String(text), true) => self.fixed.push(Fixed {
                            pointer: below,
                            key: false,
                            text: text.clone(),
                        }),
                        _ => self.collect(item, &below, place.field(key)),
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// What kind of object is being walked: it decides which of its strings are text of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Message,
    Content,
    Calls,
    Function,
    Media,
    Tool,
    Text,
}

impl Place {
    fn is_fixed(self, key: &str) -> bool {
        match self {
            Self::Message => matches!(key, "role" | "type" | "id" | "tool_call_id"),
            Self::Content | Self::Calls => matches!(key, "type" | "id" | "tool_call_id"),
            Self::Tool => key == "type",
            Self::Function | Self::Media | Self::Text => false,
        }
    }

    fn field(self, key: &str) -> Self {
        match (self, key) {
            (Self::Message, "content") => Self::Content,
            (Self::Message, "tool_calls") => Self::Calls,
            (Self::Calls, "function") => Self::Function,
            (Self::Content, key) if MEDIA.contains(&key) => Self::Media,
            (Self::Media, _) => Self::Media,
            (Self::Tool, _) => Self::Tool,
            _ => Self::Text,
        }
    }
}

/// Drops null fields as transformers does, and empties data URIs, which no template reads.
fn message_for_template(index: usize, fields: &Map<String, Value>) -> Result<Value, PromptError> {
    let mut message: Map<String, Value> = fields
        .iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let role = message.get("role");
    if !role.is_some_and(Value::is_string) {
        return Err(PromptError::Shape {
            pointer: format!("/messages/{index}/role"),
            found: role.map_or("nothing", kind),
            expected: "a string",
        });
    }
    if let Some(Value::Array(parts)) = message.get_mut("content") {
        for part in parts.iter_mut().filter_map(Value::as_object_mut) {
            for (_, medium) in part.iter_mut().filter(|(k, _)| MEDIA.contains(&k.as_str())) {
                empty_payloads(medium);
            }
        }
    }
    Ok(Value::Object(message))
}

fn empty_payloads(value: &mut Value) {
    match value {
        Value::String(text) if text.starts_with("data:") => text.truncate("data:".len()),
        Value::Array(items) => items.iter_mut().for_each(empty_payloads),
        Value::Object(fields) => fields.values_mut().for_each(empty_payloads),
        _ => {}
    }
}

/// Copies a message's reasoning to the names that templates read (transformers' `_alias_reasoning_fields`).
pub(super) fn alias_reasoning(root: &mut Value) {
    let Some(Value::Array(messages)) = root.get_mut("messages") else {
        return;
    };
    for message in messages.iter_mut().filter_map(Value::as_object_mut) {
        let found = REASONING
            .iter()
            .find_map(|name| message.get(*name))
            .cloned();
        if let Some(reasoning) = found {
            if !message.contains_key("thinking") {
                message.shift_insert(0, "thinking".to_owned(), reasoning.clone());
            }
            message.insert("reasoning_content".to_owned(), reasoning);
        }
    }
}

/// One step of a JSON pointer (RFC 6901).
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
