//! What would be lost without a trace? Atoms that stand in reasoning and nowhere else, and where they stand afterwards.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::trajectory::{Segment, Slot, Trajectory, atoms, occurs};

/// The loss of one event that needs no labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survival {
    /// Distinct atoms that stood in candidates and nowhere else in the history at the event.
    pub only_in_reasoning: usize,
    /// Those of them that stand nowhere in the pruned history, by name.
    pub lost: Vec<String>,
}

/// Distinct atoms of the candidates that stand in no other text of the first `at` messages, in order of appearance.
pub(crate) fn only_in_reasoning(
    run: &Trajectory,
    at: usize,
    candidates: &[&Segment],
) -> Vec<String> {
    let elsewhere = other_texts(run, at, candidates);
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for segment in candidates {
        for atom in atoms(&segment.text) {
            let text = atom.text(&segment.text);
            if seen.insert(text.to_owned()) && !elsewhere.iter().any(|other| occurs(other, text)) {
                out.push(text.to_owned());
            }
        }
    }
    out
}

/// Every text of the first `at` messages that is not one of the candidates.
fn other_texts(run: &Trajectory, at: usize, candidates: &[&Segment]) -> Vec<String> {
    let mut out = Vec::new();
    for (index, message) in run.messages.iter().take(at).enumerate() {
        let reasoning = (0..message.reasoning.len()).map(Slot::Reasoning);
        for slot in reasoning.chain((0..message.parts.len()).map(Slot::Part)) {
            let Some(text) = run.slot_text(index, slot) else {
                continue;
            };
            match candidates
                .iter()
                .find(|s| s.message == index && s.slot == slot)
            {
                None => out.push(text.to_owned()),
                Some(segment) => {
                    out.extend(text.get(..segment.range.start).map(str::to_owned));
                    out.extend(text.get(segment.range.end..).map(str::to_owned));
                }
            }
        }
        for call in &message.calls {
            out.push(call.name.clone());
            out.push(call.arguments_text());
        }
    }
    out.retain(|text| !text.trim().is_empty());
    out
}
