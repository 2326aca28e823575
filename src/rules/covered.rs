//! The default: a value may go where the summary or what stays gives it back. Words decide where they can; the model says what it reads
//! off the pictures by itself and, with a bare pass, what it can predict without the reasoning.

use std::collections::HashMap;

use super::{Decision, Pass, Rule, Strength, Superseded, by_atoms, of_atoms};
use crate::score::{AtomScore, EventScores, SegmentScores, surprise};
use crate::summary::Says;
use crate::trajectory::AtomKind;

/// Values of fewer bytes stand somewhere by chance.
const SHORT_BYTES: usize = 4;

/// A segment is sensitive iff the loss of one of its values exceeds the threshold.
///
/// Without a bare pass a loss is 0 where the value is safe, 1 where it is short and stands somewhere, perhaps by chance, and 2 where it
/// stands nowhere. With one it is the value's residual, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct Covered {
    /// A value that the model predicts this well at its first mention stands before its eyes, in nats.
    pub seen: f64,
    /// The loss that counts.
    pub threshold: f64,
    /// With a bare pass: a value that stands nowhere needs a residual that is lower than the threshold by at least this, in nats.
    pub bare: Option<f64>,
}

impl Default for Covered {
    fn default() -> Self {
        Self {
            seen: 0.1,
            threshold: 0.5,
            bare: None,
        }
    }
}

impl Covered {
    /// With a bare pass: a residual of at most `nats` gives back what stands in the summary, one of at most 0.3 what stands nowhere.
    pub fn with_bare(nats: f64) -> Self {
        Self {
            threshold: nats,
            bare: Some(f64::max(nats - 0.3, 0.0)),
            ..Self::default()
        }
    }

    fn loss(&self, atom: &AtomScore, seen: bool) -> f64 {
        let long = atom.end - atom.start >= SHORT_BYTES || atom.kind == AtomKind::List;
        let stands = atom.stated || atom.shown;
        if seen || atom.says != Says::Nothing || (long && stands) {
            return 0.0;
        }
        match (self.bare, stands) {
            (None, true) => 1.0,
            (None, false) => 2.0,
            (Some(_), true) => atom.residual(),
            (Some(more), false) => atom.residual() + more,
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
        let mut card =
            serde_json::json!({"name": "default", "seen": self.seen, "threshold": self.threshold});
        if let (Some(bare), Some(card)) = (self.bare, card.as_object_mut()) {
            card.insert("bare".into(), bare.into());
        }
        card
    }

    fn needs(&self) -> &[Pass] {
        match self.bare {
            None => &[Pass::Student, Pass::Teacher],
            Some(_) => &[Pass::Student, Pass::Teacher, Pass::Bare],
        }
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let losses = self.losses(scores);
        let each = scores.segments.iter().zip(&losses);
        each.map(|(segment, losses)| Decision {
            superseded: superseded(segment),
            ..by_atoms(segment, losses, self.threshold)
        })
        .collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        self.losses(scores).into_iter().map(of_atoms).collect()
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn at(&self, threshold: f64) -> Box<dyn Rule> {
        Box::new(Self {
            threshold,
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
