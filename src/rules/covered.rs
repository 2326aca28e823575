//! The default: a value may go where the summary or what stays gives it back. Words decide where they can, the model where they cannot.

use std::collections::HashMap;

use super::{Decision, Pass, Rule, Strength, Superseded, by_atoms, of_atoms};
use crate::score::{AtomScore, EventScores, SegmentScores, surprise};
use crate::summary::Says;
use crate::trajectory::AtomKind;

/// Values of fewer bytes stand somewhere by chance.
const SHORT_BYTES: usize = 4;

/// A segment is sensitive iff the strength of one of its values exceeds `nats`: 0 where the value is safe, else its residual.
#[derive(Clone, Debug, PartialEq)]
pub struct Covered {
    /// A residual up to this counts as given back by the summary, where the value stands in it, in nats.
    pub nats: f64,
    /// A value that the model predicts this well at its first mention stands before its eyes, in nats.
    pub seen: f64,
    /// A value that stands nowhere needs a residual of at most this, in nats.
    pub unstated: f64,
}

impl Default for Covered {
    fn default() -> Self {
        Self {
            nats: 1.5,
            seen: 0.1,
            unstated: 0.3,
        }
    }
}

impl Covered {
    /// What of a value is lost with its segment, in nats: 0 where it is safe.
    fn loss(&self, atom: &AtomScore, seen: bool) -> f64 {
        let long = atom.end - atom.start >= SHORT_BYTES || atom.kind == AtomKind::List;
        let stands = atom.stated || atom.shown;
        match &atom.says {
            Says::Same | Says::Other(_) => 0.0,
            Says::Nothing if seen || (long && stands) => 0.0,
            // In the unit of the threshold, whether the value stands somewhere or nowhere.
            Says::Nothing if stands => atom.residual(),
            Says::Nothing => atom.residual() - self.unstated + self.nats,
        }
    }

    fn losses(&self, scores: &EventScores) -> Vec<Vec<f64>> {
        // Whether the first mention of a value was before the model's eyes.
        let mut first: HashMap<(AtomKind, &[u32]), bool> = HashMap::new();
        let mut out = Vec::new();
        for segment in &scores.segments {
            let mut losses = Vec::with_capacity(segment.atoms.len());
            for atom in &segment.atoms {
                let tokens = atom.tokens.clone();
                let own = segment.logp.get(tokens.clone()).unwrap_or_default();
                let seen = surprise(own) <= self.seen;
                let ids = segment.token_ids.get(tokens).unwrap_or_default();
                let first = *first.entry((atom.kind, ids)).or_insert(seen);
                losses.push(self.loss(atom, seen && first));
            }
            out.push(losses);
        }
        out
    }
}

impl Rule for Covered {
    fn name(&self) -> &str {
        "default"
    }

    fn card(&self) -> serde_json::Value {
        serde_json::json!({"name": "default", "nats": self.nats, "seen": self.seen, "unstated": self.unstated})
    }

    fn needs(&self) -> &[Pass] {
        &[Pass::Student, Pass::Teacher, Pass::Bare]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let losses = self.losses(scores);
        let each = scores.segments.iter().zip(&losses);
        each.map(|(segment, losses)| Decision {
            superseded: superseded(segment),
            ..by_atoms(segment, losses, self.nats)
        })
        .collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        self.losses(scores).into_iter().map(of_atoms).collect()
    }

    fn threshold(&self) -> f64 {
        self.nats
    }

    fn at(&self, threshold: f64) -> Box<dyn Rule> {
        Box::new(Self {
            nats: threshold,
            ..self.clone()
        })
    }
}

fn superseded(segment: &SegmentScores) -> Vec<Superseded> {
    let each = segment.atoms.iter().enumerate();
    each.filter_map(|(atom, score)| match &score.says {
        Says::Other(by) => Some(Superseded {
            atom,
            by: by.clone(),
        }),
        _ => None,
    })
    .collect()
}
