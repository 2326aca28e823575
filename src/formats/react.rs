//! ReAct text: thoughts, actions and answers under labels in the model's own text, with the observation in the next user message.
//! `THOUGHT 0: ..`, `ACTION 0: ..`, `OBSERVATION: ..`, `ANSWER: ..` as Visual Sketchpad writes them, and `Thought: ..`, `Action: ..`,
//! `Action Input: ..`, `Final Answer: ..` as lagent does. The messages around the texts are OpenAI chat.
//! The body of a thought is reasoning; its label, the action, and everything behind stays.

use serde_json::Value;

use super::openai_chat::OpenAiChat;
use super::python_call::{literal_call, literal_calls};
use super::{Edit, FormatError, WireFormat};
use crate::trajectory::{Frozen, Message, Part, Place, Role, Segment, Text, ToolCall, Trajectory};

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

/// Labels before an observation of the model's own: what it wrote behind one is made up.
fn own_labels(text: &str) -> Vec<Label> {
    let mut found = labels(text);
    let end = found.iter().position(|l| l.word == Word::Observation);
    // The label of the observation still ends what stands before it.
    found.truncate(end.map_or(found.len(), |end| end + 1));
    found
}

/// Calls of all actions.
fn actions(text: &str, found: &[Label]) -> Vec<ToolCall> {
    let body = |at: usize| {
        let end = found.get(at + 1).map_or(text.len(), |l| l.start);
        let body = found.get(at).and_then(|l| text.get(l.body..end));
        body.unwrap_or_default().trim()
    };
    let mut out = Vec::new();
    for (at, _) in found
        .iter()
        .enumerate()
        .filter(|(_, l)| l.word == Word::Action)
    {
        let input = found.get(at + 1).filter(|l| l.word == Word::Input);
        out.extend(action(body(at), input.map(|_| body(at + 1))));
    }
    out
}

/// Calls of one action, with the text under its own `Action Input:`, if it has one.
fn action(action: &str, input: Option<&str>) -> Vec<ToolCall> {
    if let Some(input) = input {
        let name = action.trim_matches(['`', '"', '*']);
        return named(name, &Value::String(input.to_owned()))
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
