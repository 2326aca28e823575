//! A session of Claude Code: one event a line, Anthropic messages inside. The whole file is one run.
//! The model's message is written in pieces, one content block a line, held together by `message.id`.
//! Left alone: events without a message (snapshots, titles, progress), and the side conversations of sub-agents, which are other runs.

use serde_json::Value;

use super::anthropic::{self, Entry, block_edits, person_speaks};
use super::openai_chat::shape;
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{Message, Role, Segment, Trajectory};

/// Claude Code sessions, as saved (`.jsonl`) and as the program prints them (`--output-format stream-json`).
pub struct ClaudeCode;

impl WireFormat for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn providers(&self) -> &[&'static str] {
        &["anthropic"]
    }

    fn detect(&self, root: &Value) -> bool {
        let lines = lines(root);
        lines
            .iter()
            .all(|(_, line)| line.get("type").is_some_and(Value::is_string))
            && lines
                .iter()
                .any(|(_, line)| is_event(line) && is_message(line))
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let mut run = Trajectory::default();
        let mut open: Option<&str> = None;
        for (at, line) in conversation(root) {
            run.id = run.id.or_else(|| session(line).map(str::to_owned));
            let at = format!("{at}/message");
            let Some(value) = line.get("message").filter(|m| m.is_object()) else {
                return Err(shape(&at, line, "an event with an object `message`"));
            };
            let id = value.get("id").and_then(Value::as_str);
            for message in anthropic::message(value, &at)? {
                let same = message.role == Role::Assistant && id.is_some() && id == open;
                match run.messages.last_mut().filter(|_| same) {
                    Some(last) => join(last, message),
                    None => run.messages.push(message),
                }
            }
            open = id.filter(|_| {
                run.messages
                    .last()
                    .is_some_and(|m| m.role == Role::Assistant)
            });
        }
        match run.messages.is_empty() {
            true => Err(FormatError::Empty {
                pointer: String::new(),
            }),
            false => Ok(run),
        }
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        block_edits(segment, text)
    }
}

fn join(last: &mut Message, piece: Message) {
    last.content_is_list |= piece.content_is_list;
    last.reasoning.extend(piece.reasoning);
    last.parts.extend(piece.parts);
    last.calls.extend(piece.calls);
}

/// Whether a line of a file is an event of a session and not a run.
pub(crate) fn is_event(line: &Value) -> bool {
    let has = |key: &str| line.get(key).is_some();
    line.get("type").is_some_and(Value::is_string)
        && !["messages", "conversations", "role", "contents"]
            .iter()
            .any(|key| has(key))
        && (["sessionId", "session_id", "leafUuid", "snapshot"]
            .iter()
            .any(|key| has(key))
            || (has("uuid") && is_message(line)))
}

fn is_message(line: &Value) -> bool {
    let kind = line.get("type").and_then(Value::as_str);
    let role = line.get("message").and_then(|m| m.get("role"));
    matches!(kind, Some("user" | "assistant")) && role.is_some_and(Value::is_string)
}

fn session(line: &Value) -> Option<&str> {
    let keys = ["sessionId", "session_id"].iter();
    keys.filter_map(|key| line.get(key)?.as_str()).next()
}

/// Lines with their JSON pointers. A file of one line is that line.
fn lines(root: &Value) -> Vec<(String, &Value)> {
    match root {
        Value::Array(lines) => {
            let numbered = lines.iter().enumerate();
            numbered.map(|(i, line)| (format!("/{i}"), line)).collect()
        }
        line => vec![(String::new(), line)],
    }
}

fn is_side(line: &Value) -> bool {
    line.get("isSidechain").and_then(Value::as_bool) == Some(true)
        || line.get("parent_tool_use_id").is_some_and(Value::is_string)
}

/// The lines of the main conversation, or of the side conversation in a file that holds nothing else.
fn conversation(root: &Value) -> Vec<(String, &Value)> {
    let all = lines(root).into_iter();
    let (side, main): (Vec<_>, Vec<_>) = all
        .filter(|(_, line)| is_message(line))
        .partition(|(_, line)| is_side(line));
    if main.is_empty() { side } else { main }
}

/// The messages of a session; pieces of one message in a row are one.
pub(crate) fn entries(root: &Value) -> Vec<Entry<'_>> {
    let mut out: Vec<(Option<&str>, Entry<'_>)> = Vec::new();
    for (pointer, line) in conversation(root) {
        let Some((message, content)) = line
            .get("message")
            .and_then(|m| Some((m, m.get("content")?)))
        else {
            continue;
        };
        let id = message.get("id").and_then(Value::as_str);
        let assistant = message.get("role").and_then(Value::as_str) == Some("assistant");
        let here = (format!("{pointer}/message/content"), content);
        match out.last_mut() {
            Some((last, entry)) if assistant && entry.assistant && id.is_some() && *last == id => {
                entry.contents.push(here);
            }
            _ => {
                // What the program puts in for itself does not close a turn.
                let meta = line.get("isMeta").and_then(Value::as_bool) == Some(true);
                let entry = Entry {
                    index: pointer.trim_start_matches('/').parse().unwrap_or_default(),
                    pointer: format!("{pointer}/message"),
                    assistant,
                    person: !assistant && !meta && person_speaks(content),
                    contents: vec![here],
                };
                out.push((id, entry));
            }
        }
    }
    out.into_iter().map(|(_, entry)| entry).collect()
}
