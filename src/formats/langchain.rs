//! LangChain messages: plain, wrapped by `messages_to_dict`, or dumped as `lc` constructors.
//!
//! Reasoning stands in content blocks and in `additional_kwargs`; equal copies change together. A call stands in up to three places
//! (`tool_calls`, content, `additional_kwargs`), none of which is ever edited.

mod blocks;
mod calls;

use std::collections::HashSet;

use serde_json::Value;

use super::openai_chat::{keys, shape, text_part};
use super::{FormatError, WireFormat};
use crate::trajectory::{Frozen, Message, Part, Place, Reasoning, Role, Trajectory};

pub(crate) use calls::{all, answered, copies};

/// LangChain and LangGraph.
pub struct LangChain;

impl WireFormat for LangChain {
    fn name(&self) -> &'static str {
        "langchain"
    }

    fn providers(&self) -> &[&'static str] {
        &["langchain"]
    }

    fn detect(&self, root: &Value) -> bool {
        list(root).is_some_and(|(_, messages)| {
            let known = |m: &Value| Dump::of(m).is_some_and(|d| d.class() != Class::Unknown);
            !messages.is_empty() && messages.iter().all(known)
        })
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let Some((pointer, messages)) = list(root) else {
            return Err(FormatError::Shape {
                pointer: String::new(),
                found: format!("a value without a list of messages{}", keys(root)),
                expected: "a LangChain run: a list of messages, or an object with `messages`"
                    .into(),
            });
        };
        if messages.is_empty() {
            let pointer = pointer.into();
            return Err(FormatError::Empty { pointer });
        }
        let mut run = Trajectory {
            id: root.get("id").and_then(Value::as_str).map(str::to_owned),
            tools: match root.get("tools") {
                Some(Value::Array(tools)) => tools.clone(),
                _ => Vec::new(),
            },
            messages: Vec::new(),
        };
        let mut calls = HashSet::new();
        for (index, value) in messages.iter().enumerate() {
            let message = message(value, &format!("{pointer}/{index}"))?;
            if let Some(id) = message.answers.as_ref().filter(|id| !calls.contains(*id)) {
                return Err(FormatError::ResultWithoutCall {
                    pointer: format!("{pointer}/{index}"),
                    id: id.clone(),
                });
            }
            calls.extend(message.calls.iter().filter_map(|call| call.id.clone()));
            run.messages.push(message);
        }
        Ok(run)
    }
}

/// Where the list of messages stands, and the list: bare, in a state or a prompt value, or in a dumped one.
pub(crate) fn list(root: &Value) -> Option<(&'static str, &Vec<Value>)> {
    ["", "/messages", "/values/messages", "/kwargs/messages"]
        .into_iter()
        .find_map(|pointer| Some((pointer, root.pointer(pointer)?.as_array()?)))
}

/// Which class a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Human,
    Ai,
    System,
    Tool,
    Chat,
    Unknown,
}

/// One dumped message: its fields, and where they stand in the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dump<'a> {
    pub(crate) fields: &'a Value,
    pub(crate) inside: &'static str,
    name: &'a str,
}

impl<'a> Dump<'a> {
    pub(crate) fn of(message: &'a Value) -> Option<Self> {
        let kind = message.get("type").and_then(Value::as_str)?;
        if message.get("lc").is_some() {
            let fields = message.get("kwargs").filter(|_| kind == "constructor")?;
            let class = message.get("id")?.as_array()?.last()?.as_str()?;
            let name = fields.get("type").and_then(Value::as_str).unwrap_or(class);
            return Some(Self {
                fields,
                inside: "/kwargs",
                name,
            });
        }
        match message.get("data").filter(|data| data.is_object()) {
            Some(fields) if message.get("content").is_none() => Some(Self {
                fields,
                inside: "/data",
                name: kind,
            }),
            _ => message.get("content").map(|_| Self {
                fields: message,
                inside: "",
                name: kind,
            }),
        }
    }

    pub(crate) fn class(&self) -> Class {
        let name = self.name.strip_suffix("Chunk").unwrap_or(self.name);
        match name.strip_suffix("Message").unwrap_or(name) {
            "human" | "Human" => Class::Human,
            "ai" | "AI" => Class::Ai,
            "system" | "System" => Class::System,
            "tool" | "Tool" | "function" | "Function" => Class::Tool,
            "chat" | "Chat" => Class::Chat,
            _ => Class::Unknown,
        }
    }

    /// ChatMessage writes its role out; any other role is what the program handed in.
    pub(crate) fn role(&self) -> Role {
        match (
            self.class(),
            self.fields.get("role").and_then(Value::as_str),
        ) {
            (Class::Ai, _) | (Class::Chat, Some("assistant" | "ai" | "model")) => Role::Assistant,
            (Class::System, _) | (Class::Chat, Some("system" | "developer")) => Role::System,
            (Class::Tool, _) => Role::Tool,
            _ => Role::User,
        }
    }
}

fn message(value: &Value, at: &str) -> Result<Message, FormatError> {
    let mut out = Message::user("");
    let Some(dump) = Dump::of(value).filter(|d| d.class() != Class::Unknown) else {
        if !value.is_object() {
            return Err(shape(at, value, "a message: an object with `type`"));
        }
        out.parts = vec![Part::Other(value.clone())];
        out.content_is_list = true;
        return Ok(out);
    };
    let at = format!("{at}{}", dump.inside);
    out.role = dump.role();
    match dump.fields.get("content") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => out.parts = vec![text_part(text, format!("{at}/content"))],
        Some(Value::Array(items)) => {
            out.parts.clear();
            out.content_is_list = true;
            for (index, item) in items.iter().enumerate() {
                blocks::read(&mut out, item, &format!("{at}/content/{index}"));
            }
        }
        Some(other) => {
            return Err(shape(
                &format!("{at}/content"),
                other,
                "a string or an array of blocks",
            ));
        }
    }
    if out.role == Role::Assistant {
        out.calls = calls::all(dump.fields);
        kwargs(&mut out.reasoning, dump.fields, &at);
    }
    if out.role == Role::Tool {
        out.answers = answered(dump.fields).map(str::to_owned);
    }
    Ok(out)
}

/// Reasoning that clients put beside the content.
fn kwargs(out: &mut Vec<Reasoning>, fields: &Value, at: &str) {
    let at = format!("{at}/additional_kwargs");
    let Some(kwargs) = fields.get("additional_kwargs") else {
        return;
    };
    let details = kwargs.get("reasoning_details").and_then(Value::as_array);
    let mut found: Vec<Reasoning> = Vec::new();
    for key in ["reasoning_content", "reasoning"] {
        match kwargs.get(key) {
            Some(Value::String(text)) => found.push(piece(text, format!("{at}/{key}"), true)),
            // An item of the Responses API.
            Some(item @ Value::Object(_)) => {
                let texts = item
                    .get("summary")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                for (index, part) in texts.enumerate() {
                    if let Some(Value::String(text)) = part.get("text") {
                        found.push(piece(
                            text,
                            format!("{at}/{key}/summary/{index}/text"),
                            false,
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    if details.is_some_and(|d| !d.is_empty()) {
        for piece in &mut found {
            piece.frozen = Some(Frozen::ReasoningDetails);
        }
    }
    if let [first, second] = found.as_mut_slice()
        && first.text != second.text
        && first.may_be_empty
        && second.may_be_empty
    {
        (first.frozen, second.frozen) =
            (Some(Frozen::CopiesDisagree), Some(Frozen::CopiesDisagree));
    }
    for piece in found {
        add(out, piece);
    }
}

/// Adds a piece; one with the same text is a copy and changes with it.
fn add(out: &mut Vec<Reasoning>, piece: Reasoning) {
    match out
        .iter_mut()
        .find(|r| r.text == piece.text && !r.text.trim().is_empty())
    {
        Some(first) => {
            first.places.extend(piece.places);
            first.frozen = first.frozen.or(piece.frozen);
            first.may_be_empty &= piece.may_be_empty;
        }
        None => out.push(piece),
    }
}

fn piece(text: &str, pointer: String, may_be_empty: bool) -> Reasoning {
    Reasoning {
        text: text.to_owned(),
        places: vec![Place {
            pointer,
            range: 0..text.len(),
        }],
        frozen: None,
        may_be_empty,
    }
}
