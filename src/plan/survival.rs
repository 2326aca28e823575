//! What would be lost without a trace? Atoms that stand in reasoning and nowhere else, and where they stand afterwards.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::event::Event;
use super::space::box_space;
use crate::evidence::{is_evidence, own_words, unescape};
use crate::trajectory::{
    Haystack, Message, Part, Role, Segment, Slot, Trajectory, atoms, think_text,
};

/// The loss of one event that needs no labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survival {
    /// Distinct atoms that stood in visible candidates and nowhere else in the history at the event.
    pub only_in_reasoning: usize,
    /// Those of them that stand nowhere in the pruned history, by name.
    pub lost: Vec<String>,
    /// Those that stand nowhere since the summary corrects them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub superseded: Vec<Correction>,
}

/// A value that went because the summary says another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The value.
    pub value: String,
    /// What the summary says instead.
    pub by: String,
}

/// Distinct atoms of the candidates that stand in no other text of the first `at` messages, in order of appearance.
/// What the template hides is neither there to be lost nor a place where a value stands.
pub(super) fn only_in_reasoning(
    run: &Trajectory,
    at: usize,
    candidates: &[&Segment],
    hidden: &[usize],
) -> Vec<String> {
    // A line that nothing crosses parts the texts.
    let elsewhere = other_texts(run, at, candidates).join("\n\0\n");
    let elsewhere = Haystack::new(&elsewhere);
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for segment in candidates.iter().filter(|s| !hidden.contains(&s.index)) {
        for atom in atoms(&segment.text) {
            let text = atom.text(&segment.text);
            if seen.insert(text.to_owned()) && !elsewhere.holds(text) {
                out.push(text.to_owned());
            }
        }
    }
    out
}

/// Everything that stays whatever an event decides, but its summary.
pub fn staying_text(run: &Trajectory, event: &Event, segments: &[Segment]) -> String {
    let candidates = event.candidates.iter().filter_map(|c| segments.get(*c));
    let open: Vec<&Segment> = candidates.filter(|s| s.frozen.is_none()).collect();
    other_texts(run, event.at, &open).join("\n\0\n")
}

/// Every text of the first `at` messages but those of the segments `apart`.
fn other_texts(run: &Trajectory, at: usize, apart: &[&Segment]) -> Vec<String> {
    let mut out = Vec::new();
    for (index, message) in run.messages.iter().take(at).enumerate() {
        for (slot, reasoning) in message.reasoning.iter().enumerate() {
            if !apart
                .iter()
                .any(|s| s.message == index && s.slot == Slot::Reasoning(slot))
            {
                out.push(spoken(run, index, &reasoning.text).into_owned());
            }
        }
        for text in content_around(message, index, apart) {
            match think_text(text).filter(|inner| is_evidence(inner).is_some()) {
                Some(inner) => {
                    out.push(spoken(run, index, inner).into_owned());
                    out.extend(text.split_once("</think>").map(|(_, rest)| rest.to_owned()));
                }
                None => out.push(spoken(run, index, text).into_owned()),
            }
        }
        for call in &message.calls {
            let arguments = call.arguments_text();
            if arguments.contains('\\') {
                out.push(unescape(&arguments));
            }
            out.push(arguments);
            out.push(call.name.clone());
        }
    }
    out.retain(|text| !text.trim().is_empty());
    out
}

/// What a text of message `index` says by itself, if it is evidence that an earlier event left.
fn spoken<'t>(run: &Trajectory, index: usize, text: &'t str) -> Cow<'t, str> {
    let own = run.messages.get(index).map(|m| m.role) == Some(Role::Assistant);
    if own && is_evidence(text).is_some() {
        own_words(text, box_space(run, index).as_ref())
    } else {
        Cow::Borrowed(text)
    }
}

/// The texts of a message's content without those of the segments `apart`.
pub(super) fn content_around<'m>(
    message: &'m Message,
    index: usize,
    apart: &[&Segment],
) -> Vec<&'m str> {
    let mut out = Vec::new();
    for (part, value) in message.parts.iter().enumerate() {
        let Part::Text(text) = value else { continue };
        let text = text.text.as_str();
        let own = apart
            .iter()
            .find(|s| s.message == index && s.slot == Slot::Part(part));
        match own.map(|s| &s.range) {
            None => out.push(text),
            Some(range) => {
                out.extend(text.get(..range.start));
                out.extend(text.get(range.end..));
            }
        }
    }
    out
}
