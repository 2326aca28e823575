//! What does one text of a ShareGPT record hold? Words, slots of pictures, and calls between `<tool_call>` tags.

use std::collections::VecDeque;
use std::ops::Range;

use serde_json::{Value, json};

use super::{call, media, role};
use crate::formats::picture::picture_part;
use crate::trajectory::{CLOSE, Part, Place, Role, Text, ToolCall, tagged};

/// Placeholders and the lists that fill them.
pub(crate) const MEDIA: [(&str, &str); 3] = [
    ("<image>", "images"),
    ("<video>", "videos"),
    ("<audio>", "audios"),
];

/// How often each placeholder stands in a text.
pub(crate) fn occurrences(text: &str) -> [usize; 3] {
    MEDIA.map(|(token, _)| text.matches(token).count())
}

/// What still waits for a placeholder, and whose placeholders count.
pub(super) struct Slots {
    waiting: [VecDeque<(String, Value)>; 3],
    /// Whether the model's own text may hold slots of each kind.
    in_model_text: [bool; 3],
    placeholders: [usize; 3],
}

impl Slots {
    pub(super) fn of(root: &Value, turns: &[Value]) -> Self {
        let waiting = MEDIA.map(|(_, key)| VecDeque::from(media(root, key)));
        let (mut all, mut outside) = ([0; 3], [0; 3]);
        for turn in turns {
            let get = |key| turn.get(key).and_then(Value::as_str).unwrap_or("");
            let found = occurrences(get("value"));
            let own = role(get("from")) == Some(Role::Assistant);
            for kind in 0..3 {
                all[kind] += found[kind];
                outside[kind] += if own { 0 } else { found[kind] };
            }
        }
        let in_model_text = std::array::from_fn(|kind| outside[kind] != waiting[kind].len());
        Self {
            waiting,
            in_model_text,
            placeholders: all,
        }
    }

    /// Pictures of a record whose texts have no placeholder at all.
    pub(super) fn without_placeholder(&mut self) -> Vec<Part> {
        let mut out = Vec::new();
        for kind in (0..3).filter(|kind| self.placeholders[*kind] == 0) {
            out.extend(
                self.waiting[kind]
                    .drain(..)
                    .map(|(pointer, value)| filled(kind, pointer, value)),
            );
        }
        out
    }

    /// The parts of some bytes of a text: slots that are filled part it.
    pub(super) fn parts(
        &mut self,
        value: &str,
        range: Range<usize>,
        at: &str,
        role: Role,
    ) -> Vec<Part> {
        let thought = (role == Role::Assistant)
            .then(|| think_body(value))
            .flatten();
        let mut pieces = vec![];
        let (mut from, mut scan) = (range.start, range.start);
        while let Some((start, kind)) = next_placeholder(value, scan..range.end) {
            scan = start + MEDIA[kind].0.len();
            let counts = role != Role::Assistant || self.in_model_text[kind];
            let filler = if counts {
                self.waiting[kind].pop_front()
            } else {
                None
            };
            if let Some((pointer, item)) = filler {
                pieces.push((from..start, None));
                pieces.push((start..scan, Some(filled(kind, pointer, item))));
                from = scan;
            }
        }
        pieces.push((from..range.end, None));
        let slot_in_thought = thought.as_ref().filter(|thought| {
            pieces
                .iter()
                .any(|(r, part)| part.is_some() && thought.contains(&r.start))
        });
        let text = |range: Range<usize>| {
            let within = slot_in_thought.map(|t| t.start.max(range.start)..t.end.min(range.end));
            Part::Text(Text {
                text: value.get(range.clone()).unwrap_or_default().to_owned(),
                thought: within
                    .filter(|t| t.start < t.end)
                    .map(|t| t.start - range.start..t.end - range.start),
                place: Some(Place {
                    pointer: at.to_owned(),
                    range,
                }),
                ..Text::default()
            })
        };
        pieces
            .into_iter()
            .filter_map(|(range, part)| part.or_else(|| (!range.is_empty()).then(|| text(range))))
            .collect()
    }
}

fn filled(kind: usize, pointer: String, value: Value) -> Part {
    let carried = json!({"type": MEDIA[kind].0.trim_matches(['<', '>']), "value": value});
    match &value {
        Value::String(address) if kind == 0 => picture_part(address, pointer),
        _ => Part::Other(carried),
    }
}

fn next_placeholder(text: &str, range: Range<usize>) -> Option<(usize, usize)> {
    let rest = text.get(range.clone())?;
    let found = MEDIA.iter().enumerate();
    found
        .filter_map(|(kind, (token, _))| Some((range.start + rest.find(token)?, kind)))
        .min()
}

/// Bytes between think tags at the start of a text, where they pair.
fn think_body(value: &str) -> Option<Range<usize>> {
    let found = tagged(value)?;
    (found.inner.start > 0 && found.frozen.is_none()).then_some(found.inner)
}

/// Where the JSON of a call begins: behind think tags, if such stand before it. A tag within the JSON is a word.
pub(super) fn behind_think(value: &str) -> usize {
    let start = |end: usize| {
        let rest = value.get(end..).unwrap_or_default();
        end + (rest.len() - rest.trim_start().len())
    };
    let is_json = |at: &usize| {
        let rest = value.get(*at..).unwrap_or_default();
        serde_json::from_str::<serde::de::IgnoredAny>(rest).is_ok()
    };
    if !value.trim_start().starts_with("<think>") {
        return start(0);
    }
    let ends = value.match_indices(CLOSE).map(|(at, _)| at + CLOSE.len());
    let starts: Vec<usize> = ends.map(start).collect();
    let found = starts.iter().find(|at| is_json(at));
    found.or(starts.first()).copied().unwrap_or(0)
}

/// Text and calls of a turn. Calls stand between tags behind the reasoning; in reasoning, and in texts of others, they are only quoted.
pub(super) fn spoken(
    slots: &mut Slots,
    value: &str,
    at: &str,
    role: Role,
) -> (Vec<Part>, Vec<ToolCall>) {
    let (mut parts, mut calls, mut from) = (Vec::new(), Vec::new(), 0);
    if role == Role::Assistant {
        let mut scan = value.rfind("</think>").unwrap_or(0);
        while let Some((range, call)) = tagged_call(value, scan) {
            parts.extend(slots.parts(value, from..range.start, at, role));
            calls.push(call);
            (from, scan) = (range.end, range.end);
        }
    }
    parts.extend(slots.parts(value, from..value.len(), at, role));
    (parts, calls)
}

/// The next `<tool_call>` block that holds the JSON of a call.
fn tagged_call(value: &str, from: usize) -> Option<(Range<usize>, ToolCall)> {
    const OPEN: &str = "<tool_call>";
    const CLOSE: &str = "</tool_call>";
    let mut scan = from;
    loop {
        let start = scan + value.get(scan..)?.find(OPEN)?;
        let inner = start + OPEN.len();
        let end = inner + value.get(inner..)?.find(CLOSE)?;
        let parsed = serde_json::from_str(value.get(inner..end)?).ok();
        if let Some(found) = parsed.as_ref().and_then(call) {
            return Some((start..end + CLOSE.len(), found));
        }
        scan = inner;
    }
}
