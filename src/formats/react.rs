//! ReAct text: thoughts, actions and answers under labels in the model's own text, with the observation in the next user message.
//! `THOUGHT 0: ..`, `ACTION 0: ..`, `OBSERVATION: ..`, `ANSWER: ..` as Visual Sketchpad writes them, and `Thought: ..`, `Action: ..`,
//! `Action Input: ..`, `Final Answer: ..` as lagent does. The messages around the texts are OpenAI chat.
//! The body of a thought is reasoning; its label, the action, and everything behind stays.

use serde_json::Value;

use super::openai_chat::OpenAiChat;
use super::python_call::{literal_call, literal_calls};
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{Frozen, Message, Part, Role, Segment, ToolCall, Trajectory};

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
                let found = labels(text);
                thought(&found).is_some()
                    && found
                        .iter()
                        .any(|l| matches!(l.word, Word::Action | Word::Answer))
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

/// Finds the thought and the calls of an assistant message.
fn mark(message: &mut Message) {
    let mut calls = Vec::new();
    for part in &mut message.parts {
        let Part::Text(text) = part else { continue };
        let found = labels(&text.text);
        if calls.is_empty() {
            calls = actions(&text.text, &found);
        }
        if let Some((label, end)) = thought(&found) {
            text.thought = Some(label.body..end.unwrap_or(text.text.len()));
            // A label alone would be all that is left.
            if end.is_none() {
                text.frozen = Some(Frozen::MessageWouldBeEmpty);
            }
        }
    }
    if message.calls.is_empty() {
        message.calls_in_text = true;
        message.calls = calls;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Thought,
    Action,
    Input,
    Observation,
    Answer,
}

/// In the order that they must be tried: a longer word before the one that it begins with.
const WORDS: [(&str, Word); 6] = [
    ("thought", Word::Thought),
    ("action input", Word::Input),
    ("action", Word::Action),
    ("observation", Word::Observation),
    ("final answer", Word::Answer),
    ("answer", Word::Answer),
];

#[derive(Clone, Copy, Debug)]
struct Label {
    word: Word,
    /// First byte of its line.
    start: usize,
    /// First byte behind its colon.
    body: usize,
}

/// Labels at line starts, outside fenced code.
fn labels(text: &str) -> Vec<Label> {
    let (mut out, mut fenced, mut start) = (Vec::new(), false, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if let Some((word, length)) = label(line).filter(|_| !fenced) {
            out.push(Label {
                word,
                start,
                body: start + length,
            });
        }
        start += line.len();
    }
    out
}

/// The label that a line begins with, and its bytes: `THOUGHT 0:`, `# ACTION 1:`, `**Thought:**`.
fn label(line: &str) -> Option<(Word, usize)> {
    let rest = line.trim_start_matches(|c: char| c.is_whitespace() || c == '#' || c == '*');
    let (word, name) = WORDS.into_iter().find_map(|(name, word)| {
        let head = rest.get(..name.len())?;
        let title = head.chars().next().is_some_and(char::is_uppercase);
        (title && head.eq_ignore_ascii_case(name)).then_some((word, name))
    })?;
    let rest = rest.get(name.len()..)?;
    let rest = rest.trim_start_matches([' ', '#', '*']);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.trim_start_matches([' ', '*']);
    let rest = rest.strip_prefix(':')?;
    let rest = rest.trim_start_matches('*');
    Some((word, line.len() - rest.len()))
}

/// The first thought with the start of the next label. What the model wrote behind an observation of its own is made up: no thought.
fn thought(found: &[Label]) -> Option<(Label, Option<usize>)> {
    let at = found
        .iter()
        .position(|l| matches!(l.word, Word::Thought | Word::Observation))?;
    let label = found.get(at).filter(|l| l.word == Word::Thought)?;
    Some((*label, found.get(at + 1).map(|l| l.start)))
}

/// Calls of the first action.
fn actions(text: &str, found: &[Label]) -> Vec<ToolCall> {
    let Some(at) = found
        .iter()
        .position(|l| matches!(l.word, Word::Action | Word::Observation))
    else {
        return Vec::new();
    };
    let body = |at: usize| {
        let end = found.get(at + 1).map_or(text.len(), |l| l.start);
        found
            .get(at)
            .and_then(|l| text.get(l.body..end))
            .unwrap_or_default()
            .trim()
    };
    if found.get(at).is_none_or(|l| l.word != Word::Action) {
        return Vec::new();
    }
    let action = body(at);
    if found.get(at + 1).is_some_and(|l| l.word == Word::Input) {
        return named(
            action.trim_matches(['`', '"', '*']),
            &Value::String(body(at + 1).to_owned()),
        )
        .into_iter()
        .collect();
    }
    if let Some(code) = fenced(action) {
        if let Some(calls) = json_calls(code) {
            return calls;
        }
        let block = ToolCall {
            id: None,
            name: "python".into(),
            arguments: Value::String(code.to_owned()),
        };
        return std::iter::once(block).chain(literal_calls(code)).collect();
    }
    let tagged = action
        .split_once("<tool_call>")
        .and_then(|(_, rest)| rest.split("</tool_call>").next());
    json_calls(tagged.unwrap_or(action).trim())
        .unwrap_or_else(|| literal_call(action).into_iter().collect())
}

/// The inside of the first fenced block.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (_, code) = rest.split_once('\n')?;
    Some(code.split_once("```").map_or(code, |(code, _)| code))
}

/// A call, or several, as JSON objects.
fn json_calls(text: &str) -> Option<Vec<ToolCall>> {
    let calls = match serde_json::from_str(text).ok()? {
        Value::Array(calls) => calls,
        call @ Value::Object(_) => vec![call],
        _ => return None,
    };
    calls
        .iter()
        .map(|call| {
            let first = |keys: &[&str]| keys.iter().find_map(|key| call.get(*key));
            let name = first(&["name", "API_name", "tool", "action"])?.as_str()?;
            let none = Value::Object(serde_json::Map::new());
            let arguments = first(&[
                "arguments",
                "args",
                "parameters",
                "API_params",
                "action_input",
            ]);
            named(name, arguments.unwrap_or(&none))
        })
        .collect()
}

fn named(name: &str, arguments: &Value) -> Option<ToolCall> {
    let arguments = match arguments {
        Value::String(_) | Value::Object(_) => arguments.clone(),
        other => Value::String(other.to_string()),
    };
    let name = name.trim();
    (!name.is_empty() && !name.contains('\n')).then(|| ToolCall {
        id: None,
        name: name.to_owned(),
        arguments,
    })
}

/// A text in which no line begins with a label or a code fence, which parsers would take for the run's own.
fn without_labels(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        let taken = label(line).is_some() || line.trim_start().starts_with("```");
        if index > 0 {
            out.push(if taken { ' ' } else { '\n' });
        }
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn labels_are_found_as_models_write_them() {
        let word = |line: &str| label(line).map(|(word, length)| (word, line[length..].to_owned()));
        for line in [
            "THOUGHT 0: a",
            "# THOUGHT 12: a",
            "**Thought:** a",
            "Thought: a",
            "  THOUGHT : a",
            "**THOUGHT 1**: a",
        ] {
            assert_eq!(word(line), Some((Word::Thought, " a".into())), "{line}");
        }
        assert_eq!(word("Action Input: {}"), Some((Word::Input, " {}".into())));
        assert_eq!(word("FINAL ANSWER: b"), Some((Word::Answer, " b".into())));
        for line in [
            "thought: a",
            "THOUGHTS: a",
            "THOUGHT",
            "A THOUGHT: a",
            "Thoughtful: a",
            "tHOUGHT: a",
            "THOUGHT 1 a",
        ] {
            assert_eq!(word(line), None, "{line}");
        }
    }

    #[test]
    fn a_text_loses_what_looks_like_a_label() {
        assert_eq!(
            without_labels("Evidence:\nTask state: a\nANSWER: b\n```\nc"),
            "Evidence:\nTask state: a ANSWER: b ```\nc"
        );
    }
}
