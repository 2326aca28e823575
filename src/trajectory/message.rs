//! The neutral model of a run: messages of typed parts. A trajectory is read from a file by `formats` or built from these types.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::segment::{Frozen, Place};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the application.
    System,
    /// The person, or what the program hands in for them.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// The name that chat templates know.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// Where a picture's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureSource {
    /// A path relative to the run's picture root.
    Path(String),
    /// A `data:` URI with base64 content.
    DataUri(String),
    /// Encoded image bytes (PNG, JPEG, ...) that the program holds.
    Bytes(Arc<[u8]>),
    /// An address that is not opened: a URL, or a path that leaves the picture root. It is carried, and an event behind it cannot be replayed.
    Unopened(String),
}

/// A picture of the run; opened only when an event is scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Where its bytes are.
    pub source: PictureSource,
    /// The JSON pointer of its address in the run, for error messages.
    pub pointer: String,
}

/// A text of the run and where it stands in its source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// The text as recorded.
    pub text: String,
    /// Where it stands; None for a run that was built from typed messages.
    pub place: Option<Place>,
    /// Bytes of it that the format marks as reasoning (the body of a numbered thought).
    pub thought: Option<Range<usize>>,
    /// Where the thought stands once more, without the white space around it; an edit changes it there too.
    pub copies: Vec<Place>,
    /// Why it must not be edited, if so.
    pub frozen: Option<Frozen>,
}

/// One separate piece of reasoning of an assistant message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reasoning {
    /// The text as recorded.
    pub text: String,
    /// Where it stands; further places are copies that change with the first. None for a run built from typed messages.
    pub places: Vec<Place>,
    /// Why it must not be edited, if so.
    pub frozen: Option<Frozen>,
    /// Whether the format lets it become empty or leave.
    pub may_be_empty: bool,
}

/// One piece of a message's content.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text as recorded.
    Text(Text),
    /// A picture.
    Picture(Picture),
    /// Something that this version does not understand; it is carried, never dropped, and an event behind it cannot be replayed.
    Other(Value),
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The id that results refer to; may be absent or repeated.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// Arguments as recorded: mostly a string of JSON.
    pub arguments: Value,
}

impl ToolCall {
    /// A call with arguments in JSON.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self {
            id: Some(id.into()),
            name: name.into(),
            arguments: Value::String(arguments.to_string()),
        }
    }

    /// A call whose arguments stand as a model wrote them, JSON or not.
    pub fn written(id: impl Into<String>, name: impl Into<String>, arguments: String) -> Self {
        Self {
            arguments: Value::String(arguments),
            ..Self::new(id, name, Value::Null)
        }
    }

    /// The arguments' text: the recorded string, or the compact JSON of an object.
    pub fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// One argument that is a string. None where the arguments are not JSON or it is missing.
    pub fn string_argument(&self, name: &str) -> Option<String> {
        let parsed;
        let arguments = match &self.arguments {
            Value::String(text) => {
                parsed = serde_json::from_str::<Value>(text).ok()?;
                &parsed
            }
            other => other,
        };
        arguments.get(name)?.as_str().map(str::to_owned)
    }
}

/// One message of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who wrote it.
    pub role: Role,
    /// Separate reasoning (`reasoning_content`, thinking blocks) in order.
    pub reasoning: Vec<Reasoning>,
    /// Content in order.
    pub parts: Vec<Part>,
    /// Whether the content was a list of parts; templates can tell the two forms apart.
    pub content_is_list: bool,
    /// Calls of an assistant message.
    pub calls: Vec<ToolCall>,
    /// Whether the calls stand in the text itself, as actions do: then the text alone is what the model is shown, and it is no reasoning.
    pub calls_in_text: bool,
    /// The call that a tool message answers.
    pub answers: Option<String>,
}

impl Message {
    fn plain(role: Role, parts: Vec<Part>) -> Self {
        let content_is_list = !matches!(parts.as_slice(), [] | [Part::Text(_)]);
        Self {
            role,
            reasoning: Vec::new(),
            parts,
            content_is_list,
            calls: Vec::new(),
            calls_in_text: false,
            answers: None,
        }
    }

    /// A system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::plain(Role::System, vec![Part::text(text)])
    }

    /// A user message of text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::plain(Role::User, vec![Part::text(text)])
    }

    /// A user message of parts.
    pub fn user_parts(parts: Vec<Part>) -> Self {
        Self::plain(Role::User, parts)
    }

    /// An assistant message: what the model thought, said and called.
    pub fn assistant(
        reasoning: Option<String>,
        text: impl Into<String>,
        calls: Vec<ToolCall>,
    ) -> Self {
        let reasoning = reasoning.map(|text| Reasoning {
            text,
            may_be_empty: true,
            ..Reasoning::default()
        });
        Self {
            reasoning: reasoning.into_iter().collect(),
            calls,
            ..Self::plain(Role::Assistant, vec![Part::text(text)])
        }
    }

    /// The result of the call `id`.
    pub fn tool(id: impl Into<String>, parts: Vec<Part>) -> Self {
        Self {
            answers: Some(id.into()),
            ..Self::plain(Role::Tool, parts)
        }
    }

    /// All text of the content, parts joined by a line end.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n")
    }

    /// All separate reasoning as a template gets it, pieces joined by an empty line.
    pub fn reasoning_text(&self) -> Option<String> {
        let pieces: Vec<&str> = self.reasoning.iter().map(|r| r.text.as_str()).collect();
        (!pieces.is_empty()).then(|| pieces.join(BETWEEN_PIECES))
    }

    /// Pictures of the content in order.
    pub fn pictures(&self) -> impl Iterator<Item = &Picture> {
        self.parts.iter().filter_map(|part| match part {
            Part::Picture(picture) => Some(picture),
            _ => None,
        })
    }
}

impl Part {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Part::Text(Text {
            text: text.into(),
            ..Text::default()
        })
    }

    /// A picture file, relative to the run's picture root.
    pub fn picture_path(path: impl Into<String>) -> Self {
        let path = path.into();
        Part::Picture(Picture {
            pointer: path.clone(),
            source: PictureSource::Path(path),
        })
    }

    /// Encoded image bytes.
    pub fn picture_bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Part::Picture(Picture {
            source: PictureSource::Bytes(bytes.into()),
            pointer: String::from("picture in memory"),
        })
    }
}

/// The messages of one task, with the tools that the model was offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// The record's own id, if it has one.
    pub id: Option<String>,
    /// Tool definitions as the chat template takes them.
    pub tools: Vec<Value>,
    /// Messages in order.
    pub messages: Vec<Message>,
}

impl Trajectory {
    /// An empty run with these tools.
    pub fn new(tools: Vec<Value>) -> Self {
        Self {
            tools,
            ..Self::default()
        }
    }

    /// Appends a message.
    pub fn push(&mut self, message: Message) -> &mut Self {
        self.messages.push(message);
        self
    }

    /// The run as a model reads it that cannot see: each picture is `text`, and each content one string. Parts keep their places.
    pub fn with_pictures_as(&self, text: &str) -> Self {
        let mut run = self.clone();
        for message in &mut run.messages {
            message.content_is_list = false;
            for part in &mut message.parts {
                if matches!(part, Part::Picture(_)) {
                    *part = Part::text(text);
                }
            }
        }
        run
    }

    /// The first `end` messages in the form that Hugging Face chat templates take. Pictures become `{"type": "image"}`; nothing else is added or left out.
    pub fn template_messages(&self, end: usize) -> Vec<Value> {
        self.messages
            .iter()
            .take(end)
            .map(template_message)
            .collect()
    }
}

impl Trajectory {
    /// The whole run as `{"messages": [...], "tools": [...]}` in the template's form; places of its segments point into this text.
    pub fn to_json(&self) -> String {
        serde_json::json!({"messages": self.template_messages(usize::MAX), "tools": self.tools})
            .to_string()
    }

    /// The text that a slot of a message holds.
    pub fn slot_text(&self, message: usize, slot: Slot) -> Option<&str> {
        let message = self.messages.get(message)?;
        match slot {
            Slot::Reasoning(index) => message.reasoning.get(index).map(|r| r.text.as_str()),
            Slot::Part(index) => match message.parts.get(index)? {
                Part::Text(text) => Some(&text.text),
                _ => None,
            },
        }
    }

    /// Puts `text` in place of some bytes of a slot; false if there is no such place.
    pub fn replace(
        &mut self,
        message: usize,
        slot: Slot,
        range: &Range<usize>,
        text: &str,
    ) -> bool {
        let Some(message) = self.messages.get_mut(message) else {
            return false;
        };
        let target = match slot {
            Slot::Reasoning(index) => message.reasoning.get_mut(index).map(|r| &mut r.text),
            Slot::Part(index) => match message.parts.get_mut(index) {
                Some(Part::Text(text)) => Some(&mut text.text),
                _ => None,
            },
        };
        match target {
            Some(old) if old.get(range.clone()).is_some() => {
                old.replace_range(range.clone(), text);
                true
            }
            _ => false,
        }
    }

    /// Where some bytes of a slot stand in [`Trajectory::template_messages`] as this run is now.
    pub fn template_place(
        &self,
        message: usize,
        slot: Slot,
        range: &Range<usize>,
    ) -> Option<Place> {
        let value = self.messages.get(message)?;
        let (pointer, offset) = match slot {
            Slot::Reasoning(index) => {
                let before = value.reasoning.iter().take(index);
                let offset = before.map(|r| r.text.len() + BETWEEN_PIECES.len()).sum();
                (format!("/messages/{message}/reasoning_content"), offset)
            }
            Slot::Part(index) if value.content_is_list => {
                (format!("/messages/{message}/content/{index}/text"), 0)
            }
            Slot::Part(index) => {
                // A content string is its text parts joined by a line end.
                let texts = value.parts.iter().take(index).map(|part| match part {
                    Part::Text(text) => text.text.len() + 1,
                    _ => 0,
                });
                (format!("/messages/{message}/content"), texts.sum())
            }
        };
        Some(Place {
            pointer,
            range: offset + range.start..offset + range.end,
        })
    }
}

/// Which text of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A separate piece of reasoning.
    Reasoning(usize),
    /// A text part of the content.
    Part(usize),
}

const BETWEEN_PIECES: &str = "\n\n";

fn template_message(message: &Message) -> Value {
    let mut out = Map::new();
    out.insert("role".into(), message.role.name().into());
    let content = if message.content_is_list {
        Value::Array(message.parts.iter().map(template_part).collect())
    } else {
        Value::String(message.text())
    };
    out.insert("content".into(), content);
    if let Some(reasoning) = message.reasoning_text() {
        out.insert("reasoning_content".into(), reasoning.into());
    }
    if !message.calls.is_empty() && !message.calls_in_text {
        let calls = message.calls.iter().map(|call| {
            let mut wire = Map::new();
            if let Some(id) = &call.id {
                wire.insert("id".into(), id.as_str().into());
            }
            wire.insert("type".into(), "function".into());
            wire.insert(
                "function".into(),
                serde_json::json!({"name": call.name, "arguments": call.arguments}),
            );
            Value::Object(wire)
        });
        out.insert("tool_calls".into(), Value::Array(calls.collect()));
    }
    if let Some(id) = &message.answers {
        out.insert("tool_call_id".into(), id.as_str().into());
    }
    Value::Object(out)
}

fn template_part(part: &Part) -> Value {
    match part {
        Part::Text(text) => serde_json::json!({"type": "text", "text": text.text}),
        Part::Picture(_) => serde_json::json!({"type": "image"}),
        Part::Other(value) => value.clone(),
    }
}
