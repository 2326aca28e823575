//! ReAct text: thoughts, actions and answers under labels in the model's own text, with the observation in the next user message.
//! `THOUGHT 0: ..`, `ACTION 0: ..`, `OBSERVATION: ..`, `ANSWER: ..` as Visual Sketchpad writes them, and `Thought: ..`, `Action: ..`,
//! `Action Input: ..`, `Final Answer: ..` as lagent does. The messages around the texts are OpenAI chat.
//! The body of a thought is reasoning; its label, the action, and everything behind stays.

mod action;
mod label;

use serde_json::Value;

use super::openai_chat::OpenAiChat;
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{Frozen, Message, Part, Place, Role, Segment, Text, Trajectory};

use action::actions;
use label::{Label, Word, labels, own_labels, without_labels};

/// ReAct text in OpenAI chat messages.
pub struct ReAct;

impl WireFormat for ReAct {
    fn name(&self) -> &'static str {
        "react"
    }

    fn providers(&self) -> &[&'static str] {
        OpenAiChat.providers()
    }

    fn detect(&self, root: &Value) -> bool {
        if !OpenAiChat.detect(root) {
            return false;
        }
        let messages = root.get("messages").unwrap_or(root).as_array();
        let own = messages
            .into_iter()
            .flatten()
            .filter(|m| m.get("role").is_some_and(|r| r == "assistant"));
        let mut any = false;
        for message in own {
            let has = |key: &str| message.get(key).is_some_and(|v| !v.is_null());
            if has("tool_calls") || has("reasoning_content") || has("reasoning") {
                return false;
            }
            any |= message_texts(message).any(|text| {
                let has =
                    |words: &[Word], found: &[Label]| found.iter().any(|l| words.contains(&l.word));
                has(&[Word::Thought], &own_labels(text))
                    && has(&[Word::Action, Word::Answer], &labels(text))
            });
        }
        any
    }

    fn read(&self, root: &Value) -> Result<Trajectory, FormatError> {
        let mut run = OpenAiChat.read(root)?;
        for message in run
            .messages
            .iter_mut()
            .filter(|m| m.role == Role::Assistant)
        {
            mark(message);
        }
        Ok(run)
    }

    fn edits(&self, segment: &Segment, text: &str) -> Vec<Edit> {
        let text = without_labels(text);
        let edit = |place: &crate::trajectory::Place| Edit::Text {
            place: place.clone(),
            text: text.clone(),
        };
        segment.places.iter().map(edit).collect()
    }
}

fn message_texts(message: &Value) -> impl Iterator<Item = &str> {
    let content = message.get("content");
    let parts = content.and_then(Value::as_array).into_iter().flatten();
    let parts = parts.filter_map(|part| part.get("text"));
    content.into_iter().chain(parts).filter_map(Value::as_str)
}

/// Finds the thoughts and the calls of an assistant message. A text with several thoughts becomes as many texts, one behind the other.
fn mark(message: &mut Message) {
    let mut calls = Vec::new();
    let mut parts = Vec::new();
    for part in std::mem::take(&mut message.parts) {
        let Part::Text(text) = part else {
            parts.push(part);
            continue;
        };
        let found = own_labels(&text.text);
        calls.extend(actions(&text.text, &found));
        parts.extend(in_thoughts(text, &found, message.content_is_list).map(Part::Text));
    }
    message.parts = parts;
    if message.calls.is_empty() {
        message.calls_in_text = true;
        message.calls = calls;
    }
}

/// A text cut before each thought but the first, so that each piece has one. Pieces of a content string are joined by line ends again, those of a
/// list as they are.
fn in_thoughts(
    text: Text,
    found: &[Label],
    content_is_list: bool,
) -> impl Iterator<Item = Text> + use<> {
    let thoughts: Vec<usize> = found
        .iter()
        .enumerate()
        .filter(|(_, l)| l.word == Word::Thought)
        .map(|(at, _)| at)
        .collect();
    let mut out = Vec::new();
    for (number, at) in thoughts.iter().enumerate() {
        let Some(label) = found.get(*at) else {
            continue;
        };
        let next = thoughts.get(number + 1).and_then(|next| found.get(*next));
        let start = if number == 0 { 0 } else { label.start };
        let end = match next {
            Some(next) if content_is_list => next.start,
            // A thought is never the first line here, so a line end stands before it.
            Some(next) => next.start.saturating_sub(1),
            None => text.text.len(),
        };
        let behind = found.get(at + 1).map(|l| l.start.min(end));
        let place = text.place.as_ref().map(|place| Place {
            pointer: place.pointer.clone(),
            range: place.range.start + start..place.range.start + end,
        });
        out.push(Text {
            text: text.text.get(start..end).unwrap_or_default().to_owned(),
            place,
            thought: Some(label.body - start..behind.unwrap_or(end) - start),
            // A label alone would be all that is left.
            frozen: (found.len() == 1).then_some(Frozen::MessageWouldBeEmpty),
            ..Text::default()
        });
    }
    if out.is_empty() {
        out.push(text);
    }
    out.into_iter()
}
