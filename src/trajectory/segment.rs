//! Which text of a run is reasoning, and where does it stand? SPARE (arXiv 2608.22963): a segment is the reasoning of one assistant turn.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Message, Part, Role, Trajectory};
use crate::evidence::is_evidence;

/// What kind of text a segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// A reasoning field of the message.
    Field,
    /// Between think tags at the start of the content.
    Think,
    /// Text beside tool calls, in a run that has no other reasoning.
    Visible,
}

/// Why a segment must not be edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Frozen {
    /// Nothing else would be left in the message, which providers refuse.
    MessageWouldBeEmpty,
    /// The think tag is never closed, so the end of the reasoning is unknown.
    UnclosedThink,
    /// `reasoning` and `reasoning_content` say different things.
    CopiesDisagree,
    /// Another copy stands in `reasoning_details`, which goes back to the provider unchanged.
    ReasoningDetails,
}

impl Frozen {
    /// The rule in words.
    pub fn reason(self) -> &'static str {
        match self {
            Frozen::MessageWouldBeEmpty => "the message would be left without content",
            Frozen::UnclosedThink => "the think tag is never closed",
            Frozen::CopiesDisagree => "`reasoning` and `reasoning_content` differ",
            Frozen::ReasoningDetails => {
                "`reasoning_details` holds a copy that the provider expects back unchanged"
            }
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
    /// Where it stands; further places are copies that change with the first.
    pub places: Vec<Place>,
    /// Its pointer in [`Trajectory::template_messages`], and its bytes there.
    pub template: Place,
    /// Why it must stay, if so.
    pub frozen: Option<Frozen>,
    /// Whether the string may become empty when the segment is deleted.
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
    for (index, message) in run.messages.iter().enumerate() {
        if message.role != Role::Assistant {
            continue;
        }
        let before = out.len();
        field(run, index, message, &mut out);
        let think = think(run, index, message, &mut out);
        if plain_text_is_reasoning && !message.calls.is_empty() && !think {
            visible_text(run, index, message, &mut out);
        }
        for (offset, segment) in out[before..].iter_mut().enumerate() {
            segment.index = before + offset;
        }
    }
    out
}

fn has_own_reasoning(message: &Message) -> bool {
    message.role == Role::Assistant
        && (message
            .reasoning
            .as_ref()
            .is_some_and(|text| !text.trim().is_empty())
            || first_text(message).is_some_and(|(_, text)| think_range(text).is_some()))
}

fn first_text(message: &Message) -> Option<(usize, &str)> {
    message
        .parts
        .iter()
        .enumerate()
        .find_map(|(part, value)| match value {
            Part::Text(text) => Some((part, text.as_str())),
            _ => None,
        })
}

fn field(run: &Trajectory, index: usize, message: &Message, out: &mut Vec<Segment>) {
    let Some(text) = &message.reasoning else {
        return;
    };
    if text.trim().is_empty() || is_evidence(text).is_some() {
        return;
    }
    let pointer = format!("{}/{index}/reasoning_content", run.root);
    let pointers = if message.reasoning_pointers.is_empty() {
        vec![pointer]
    } else {
        message.reasoning_pointers.clone()
    };
    let empty = message.calls.is_empty() && message.text().trim().is_empty();
    out.push(Segment {
        index: 0,
        message: index,
        kind: SegmentKind::Field,
        text: text.clone(),
        places: pointers
            .into_iter()
            .map(|pointer| Place {
                pointer,
                range: 0..text.len(),
            })
            .collect(),
        template: Place {
            pointer: format!("/messages/{index}/reasoning_content"),
            range: 0..text.len(),
        },
        frozen: message
            .reasoning_frozen
            .or(empty.then_some(Frozen::MessageWouldBeEmpty)),
        may_be_empty: true,
    });
}

/// Reasoning between think tags at the start of the content; true if there are tags.
fn think(run: &Trajectory, index: usize, message: &Message, out: &mut Vec<Segment>) -> bool {
    let Some((part, text)) = first_text(message) else {
        return false;
    };
    let Some(Tagged { inner, closed }) = think_range(text) else {
        return false;
    };
    let Some(body) = text.get(inner.clone()) else {
        return false;
    };
    let trimmed = trim_range(text, inner);
    if body.trim().is_empty() || is_evidence(body.trim()).is_some() {
        return true;
    }
    let others_are_blank = message.parts.iter().enumerate().all(|(other, value)| {
        other == part || matches!(value, Part::Text(text) if text.trim().is_empty())
    });
    let rest_is_empty = text
        .split_once("</think>")
        .is_none_or(|(_, rest)| rest.trim().is_empty())
        && others_are_blank
        && message.calls.is_empty();
    let frozen = if !closed {
        Some(Frozen::UnclosedThink)
    } else {
        rest_is_empty.then_some(Frozen::MessageWouldBeEmpty)
    };
    out.push(content_segment(
        run,
        index,
        message,
        part,
        trimmed,
        SegmentKind::Think,
        frozen,
        true,
    ));
    true
}

fn visible_text(run: &Trajectory, index: usize, message: &Message, out: &mut Vec<Segment>) {
    for (part, value) in message.parts.iter().enumerate() {
        let Part::Text(text) = value else { continue };
        if text.trim().is_empty() || is_evidence(text).is_some() {
            continue;
        }
        out.push(content_segment(
            run,
            index,
            message,
            part,
            0..text.len(),
            SegmentKind::Visible,
            None,
            // An empty text part is refused by providers; an empty string beside calls is not.
            !message.content_is_list,
        ));
    }
}

#[allow(clippy::too_many_arguments)]
fn content_segment(
    run: &Trajectory,
    index: usize,
    message: &Message,
    part: usize,
    range: Range<usize>,
    kind: SegmentKind,
    frozen: Option<Frozen>,
    may_be_empty: bool,
) -> Segment {
    let template = segment_pointer(message, index, part);
    let text = match message.parts.get(part) {
        Some(Part::Text(text)) => text.get(range.clone()).unwrap_or_default().to_owned(),
        _ => String::new(),
    };
    Segment {
        index: 0,
        message: index,
        kind,
        text,
        places: vec![Place {
            pointer: template.replacen("/messages", &run.root, 1),
            range: range.clone(),
        }],
        template: Place {
            pointer: template,
            range,
        },
        frozen,
        may_be_empty,
    }
}

/// The pointer of a text part of message `index` in [`Trajectory::template_messages`].
pub(crate) fn segment_pointer(message: &Message, index: usize, part: usize) -> String {
    if message.content_is_list {
        format!("/messages/{index}/content/{part}/text")
    } else {
        format!("/messages/{index}/content")
    }
}

/// The text between the think tags of a content, if it has them.
pub(crate) fn think_text(content: &str) -> Option<&str> {
    content.get(think_range(content)?.inner)
}

/// Whether `text` may stand in the content of a message without being read as a think tag.
pub(crate) fn is_free_of_tags(text: &str) -> bool {
    !text.contains("<think>") && !text.contains("</think>")
}

struct Tagged {
    /// Bytes between the tags, or before a closing tag whose opening one stood in the prompt.
    inner: Range<usize>,
    closed: bool,
}

fn think_range(text: &str) -> Option<Tagged> {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    let lead = text.len() - text.trim_start().len();
    let body = text.get(lead..)?;
    let close = text.find(CLOSE);
    if body.starts_with(OPEN) {
        let start = lead + OPEN.len();
        return Some(Tagged {
            inner: start..close.unwrap_or(text.len()),
            closed: close.is_some(),
        });
    }
    // Opened in the prompt: only where no other opening tag stands before the closing one.
    let close = close?;
    let before = text.get(..close)?;
    (!before.contains(OPEN)).then_some(Tagged {
        inner: 0..close,
        closed: true,
    })
}

fn trim_range(text: &str, range: Range<usize>) -> Range<usize> {
    let Some(body) = text.get(range.clone()) else {
        return range;
    };
    let start = range.start + (body.len() - body.trim_start().len());
    start..start + body.trim().len()
}
