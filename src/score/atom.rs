//! What is known of every value of a segment: where it stands besides, and how well it is predicted without the reasoning.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::EventScores;
use crate::summary::{Says, Statements};
use crate::trajectory::{AtomKind, Haystack, Segment, atoms};

/// Numbers of one value. Log probabilities are in nats, one entry a token, and empty where the bare pass was not asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AtomScore {
    /// What it is.
    pub kind: AtomKind,
    /// First byte in the segment's text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Its tokens among the segment's.
    pub tokens: Range<usize>,
    /// Whether it occurs in the summary.
    pub stated: bool,
    /// Whether it occurs in what stays: any text of the history at the event but the candidates' and the summary.
    pub shown: bool,
    /// What the summary says about the thing that it is about.
    #[serde(default)]
    pub says: Says,
    /// `log p` of its tokens behind the history without any candidate's text.
    pub log_prior: Vec<f64>,
    /// The same with the summary block.
    pub log_bare: Vec<f64>,
    /// Where the model would write another value that the summary states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
}

/// A value of the summary that the model would write in the recorded one's place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instead {
    /// The value.
    pub value: String,
    /// `log p` of it from the first token on where the model leaves the recorded value, behind the bare history and the summary, in nats.
    pub log: f64,
    /// The same of the recorded value's rest.
    pub recorded: f64,
}

impl AtomScore {
    /// The largest `-log probability` of its tokens behind the bare history with the summary, in nats; infinite where it was not replayed.
    pub fn residual(&self) -> f64 {
        surprise(&self.log_bare)
    }

    /// The same without the summary.
    pub fn prior(&self) -> f64 {
        surprise(&self.log_prior)
    }
}

/// The largest `-log probability`; infinite for no token at all.
pub(crate) fn surprise(logs: &[f64]) -> f64 {
    let most = logs.iter().map(|log| -log).reduce(f64::max);
    most.unwrap_or(f64::INFINITY)
}

/// The tokens that share a byte with `bytes`; starts and ends of `spans` never decrease. Empty where none does.
pub(crate) fn overlapping(spans: &[Range<usize>], bytes: &Range<usize>) -> Range<usize> {
    let first = spans.partition_point(|s| s.end <= bytes.start);
    let end = spans.partition_point(|s| s.start < bytes.end);
    first..end.max(first)
}

/// Finds the values of every scored segment, and where else they stand. `stays`: every text that remains whatever is decided, but the
/// summary `sigma`. Numbers that are known already stay.
pub fn locate(scores: &mut EventScores, segments: &[Segment], sigma: &str, stays: &str) {
    let reasoning = scores.segments.iter();
    let reasoning = reasoning.filter_map(|s| segments.get(s.segment).map(|s| s.text.as_str()));
    let mut statements = Statements::new(sigma, reasoning, stays);
    let (sigma, stays) = (Haystack::new(sigma), Haystack::new(stays));
    for scored in &mut scores.segments {
        let Some(text) = segments.get(scored.segment).map(|s| s.text.as_str()) else {
            continue;
        };
        let all = atoms(text);
        let mut known = std::mem::take(&mut scored.atoms).into_iter().peekable();
        for (atom, says) in all.iter().zip(statements.about(text, &all)) {
            let value = atom.text(text);
            let tokens = overlapping(&scored.spans, &(atom.start..atom.end));
            let numbers = known.next_if(|k| (k.start, k.end) == (atom.start, atom.end));
            scored.atoms.push(AtomScore {
                kind: atom.kind,
                start: atom.start,
                end: atom.end,
                tokens,
                stated: sigma.holds(value),
                shown: stays.holds(value),
                says,
                ..numbers.unwrap_or_default()
            });
        }
    }
}

/// The values of a text, each once.
pub fn values_of(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for atom in atoms(text) {
        let value = atom.text(text);
        if !out.iter().any(|v| v == value) {
            out.push(value.to_owned());
        }
    }
    out
}
