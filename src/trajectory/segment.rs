//! Which text of a run is reasoning, and where does it stand? SPARE (arXiv 2608.22963): a segment is the reasoning of one assistant turn.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::think::{CLOSE, Tagged, tagged};
use super::{Message, Part, Role, Slot, Text, Trajectory};
use crate::evidence::is_evidence;

/// What kind of text a segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// A reasoning field of the message.
    Field,
    /// Between think tags at the start of the content.
    Think,
    /// A thought that the format marks by a label.
    Thought,
    /// Text beside tool calls, in a run that has no other reasoning.
    Visible,
}

/// Why a segment must not be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frozen {
    /// Nothing else would be left in the message, which providers refuse.
    MessageWouldBeEmpty,
    /// The think tag is never closed, so the end of the reasoning is unknown.
    UnclosedThink,
    /// The think tags do not pair, so the end of the reasoning is unknown.
    AmbiguousThink,
    /// `reasoning` and `reasoning_content` say different things.
    CopiesDisagree,
    /// Another copy stands in `reasoning_details`, which goes back to the provider unchanged.
    ReasoningDetails,
    /// A provider's rule, by its name and in words.
    Rule(&'static str, &'static str),
}

impl Frozen {
    /// The rule's name in receipts.
    pub fn code(self) -> &'static str {
        match self {
            Frozen::MessageWouldBeEmpty => "message_would_be_empty",
            Frozen::UnclosedThink => "unclosed_think",
            Frozen::AmbiguousThink => "ambiguous_think",
            Frozen::CopiesDisagree => "copies_disagree",
            Frozen::ReasoningDetails => "reasoning_details",
            Frozen::Rule(name, _) => name,
        }
    }

    /// The rule in words.
    pub fn reason(self) -> &'static str {
        match self {
            Frozen::MessageWouldBeEmpty => "the message would be left without content",
            Frozen::UnclosedThink => "the think tag is never closed",
            Frozen::AmbiguousThink => {
                "the think tags do not pair, so where the reasoning ends is unknown"
            }
            Frozen::CopiesDisagree => "`reasoning` and `reasoning_content` differ",
            Frozen::ReasoningDetails => {
                "`reasoning_details` holds a copy that the provider expects back unchanged"
            }
            Frozen::Rule(_, words) => words,
        }
    }
}

/// Whether text beside tool calls is reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VisibleText {
    /// Only in a run without reasoning fields and think tags (where Instruct models think).
    #[default]
    Auto,
    /// Always.
    Prune,
    /// Never.
    Keep,
}

/// Where a segment's text stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// JSON pointer of the string in the source.
    pub pointer: String,
    /// Bytes of the decoded string.
    pub range: Range<usize>,
}

/// One piece of reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its number in the run.
    pub index: usize,
    /// The message it belongs to.
    pub message: usize,
    /// What kind of text it is.
    pub kind: SegmentKind,
    /// The text.
    pub text: String,
    /// Which text of the message holds it.
    pub slot: Slot,
    /// Its bytes in that text.
    pub range: Range<usize>,
    /// Where it stands in the source; further places are copies that change with the first. Empty for a run built from typed messages.
    pub places: Vec<Place>,
    /// Why it must stay, if so.
    pub frozen: Option<Frozen>,
    /// Whether nothing at all may stand in its place.
    pub may_be_empty: bool,
}

/// All segments of a run in order. Evidence that an earlier pruning left is not reasoning.
pub fn segments(run: &Trajectory, visible: VisibleText) -> Vec<Segment> {
    let plain_text_is_reasoning = match visible {
        VisibleText::Prune => true,
        VisibleText::Keep => false,
        VisibleText::Auto => !run.messages.iter().any(has_own_reasoning),
    };
    let mut out = Vec::new();
    for (message, value) in run.messages.iter().enumerate() {
        if value.role != Role::Assistant {
            continue;
        }
        let before = out.len();
        fields(message, value, &mut out);
        let marked = marked(message, value, &mut out);
        let beside_calls = !value.calls.is_empty() && !value.calls_in_text;
        if plain_text_is_reasoning && beside_calls && !marked {
            visible_text(message, value, &mut out);
        }
        for (offset, segment) in out[before..].iter_mut().enumerate() {
            segment.index = before + offset;
        }
    }
    out
}

fn has_own_reasoning(message: &Message) -> bool {
    let is_marked =
        |(_, text): (usize, &Text)| text.thought.is_some() || tagged(&text.text).is_some();
    message.role == Role::Assistant
        && (message
            .reasoning
            .iter()
            .any(|r| r.frozen.is_some() || !r.text.trim().is_empty())
            || texts(message).any(|(_, text)| text.thought.is_some())
            || texts(message).next().is_some_and(is_marked))
}

fn texts(message: &Message) -> impl Iterator<Item = (usize, &Text)> {
    message
        .parts
        .iter()
        .enumerate()
        .filter_map(|(part, value)| match value {
            Part::Text(text) => Some((part, text)),
            _ => None,
        })
}

fn fields(message: usize, value: &Message, out: &mut Vec<Segment>) {
    let alone = value.calls.is_empty() && value.text().trim().is_empty();
    for (index, reasoning) in value.reasoning.iter().enumerate() {
        let text = &reasoning.text;
        // Encrypted reasoning has no text, but it is there, and frozen.
        let nothing = text.trim().is_empty() && reasoning.frozen.is_none();
        if nothing || is_evidence(text).is_some() {
            continue;
        }
        out.push(Segment {
            index: 0,
            message,
            kind: SegmentKind::Field,
            text: text.clone(),
            slot: Slot::Reasoning(index),
            range: 0..text.len(),
            places: reasoning.places.clone(),
            frozen: reasoning
                .frozen
                .or(alone.then_some(Frozen::MessageWouldBeEmpty)),
            may_be_empty: reasoning.may_be_empty,
        });
    }
}

/// Reasoning that the content itself marks: think tags at its start, or thoughts that the format knows. True if there are marks.
fn marked(message: usize, value: &Message, out: &mut Vec<Segment>) -> bool {
    let mut any = false;
    for (part, text) in texts(value) {
        if let Some(range) = &text.thought {
            any = true;
            // A label or anything else that stays keeps the text from becoming empty.
            let stays = |part: Option<&str>| part.is_some_and(|p| !p.trim().is_empty());
            let may_be_empty =
                stays(text.text.get(..range.start)) || stays(text.text.get(range.end..));
            content_segment(
                message,
                part,
                text,
                range.clone(),
                SegmentKind::Thought,
                None,
                may_be_empty,
                out,
            );
        }
    }
    let Some((part, text)) = texts(value).next().filter(|_| !any) else {
        return any;
    };
    // A closing tag alone was opened in the prompt, unless the message has its reasoning apart: then it is a word of the answer.
    let apart = value.reasoning.iter().any(|r| !r.text.trim().is_empty());
    let found = tagged(&text.text).filter(|t| t.inner.start > 0 || !apart);
    let Some(Tagged { inner, frozen }) = found else {
        return false;
    };
    let rest = text.text.get(inner.end..).unwrap_or_default();
    let rest = rest.strip_prefix(CLOSE).unwrap_or(rest);
    let others_are_blank = value.parts.iter().enumerate().all(|(other, value)| {
        other == part || matches!(value, Part::Text(text) if text.text.trim().is_empty())
    });
    let alone = rest.trim().is_empty() && others_are_blank && value.calls.is_empty();
    let frozen = frozen.or(alone.then_some(Frozen::MessageWouldBeEmpty));
    content_segment(
        message,
        part,
        text,
        inner,
        SegmentKind::Think,
        frozen,
        true,
        out,
    );
    true
}

fn visible_text(message: usize, value: &Message, out: &mut Vec<Segment>) {
    // An empty text part is refused by providers; an empty string beside calls is not.
    let may_be_empty = !value.content_is_list;
    for (part, text) in texts(value) {
        if text.text.trim().is_empty() {
            continue;
        }
        let whole = 0..text.text.len();
        content_segment(
            message,
            part,
            text,
            whole,
            SegmentKind::Visible,
            None,
            may_be_empty,
            out,
        );
    }
}

/// Adds the segment at `range` of a text part, unless it is empty or evidence. Marked reasoning loses the white space at its ends.
#[allow(clippy::too_many_arguments)]
fn content_segment(
    message: usize,
    part: usize,
    text: &Text,
    range: Range<usize>,
    kind: SegmentKind,
    frozen: Option<Frozen>,
    may_be_empty: bool,
    out: &mut Vec<Segment>,
) {
    let range = match kind {
        SegmentKind::Visible => range,
        _ => trim_range(&text.text, range),
    };
    let body = text.text.get(range.clone()).unwrap_or_default();
    if body.is_empty() || is_evidence(body).is_some() {
        return;
    }
    let place = text.place.as_ref().map(|place| Place {
        pointer: place.pointer.clone(),
        range: place.range.start + range.start..place.range.start + range.end,
    });
    let copies = text.copies.iter().filter(|_| kind == SegmentKind::Thought);
    let places = place.into_iter().chain(copies.cloned()).collect();
    out.push(Segment {
        index: 0,
        message,
        kind,
        text: body.to_owned(),
        slot: Slot::Part(part),
        range,
        places,
        frozen: frozen.or(text.frozen),
        may_be_empty,
    });
}

fn trim_range(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(body) = text.get(range.clone()) else {
        return range;
    };
    let start = range.start + (body.len() - body.trim_start().len());
    start..start + body.trim().len()
}
