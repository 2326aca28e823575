//! Which segments does the summary cover? A rule turns an event's scores into one verdict with a reason for each segment.
//!
//! `paper` is the published rule, `mean` its ablation; `signed` counts only tokens that the summary makes less likely; `residual` asks
//! what cannot be had without the reasoning; `stated` looks at words alone. `covered` is the default: words, and what the model sees.

mod covered;
mod mean;
mod paper;
mod residual;
mod signed;
mod stated;

pub use covered::Covered;
pub use mean::Mean;
pub use paper::Paper;
pub use residual::Residual;
pub use signed::Signed;
pub use stated::Stated;

use serde::{Deserialize, Serialize};

use crate::score::{AtomScore, EventScores, SegmentScores};

/// The passes over the model that a rule wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Pass {
    /// The recorded history.
    Student,
    /// The history with the summary before the turn.
    Teacher,
    /// The history without any candidate's text, alone and with the summary: see [`AtomScore`].
    Bare,
}

/// A value that the summary corrects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Superseded {
    /// Its number among the segment's values.
    pub atom: usize,
    /// What the summary says instead.
    pub by: String,
}

/// What a rule says of one segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Decision {
    /// The segment's number in the run.
    pub segment: usize,
    /// Whether the summary fails to cover it.
    pub sensitive: bool,
    /// Sensitive tokens, as indexes into the segment's tokens.
    pub tokens: Vec<usize>,
    /// How many sensitive tokens would have made it sensitive.
    pub needed: usize,
    /// Values that are no evidence, since the summary corrects them.
    pub superseded: Vec<Superseded>,
}

/// How much a rule finds that must not be lost, in the unit of its threshold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strength {
    /// Of the segment: it is sensitive above the threshold.
    pub segment: f64,
    /// Of each of its values.
    pub atoms: Vec<f64>,
}

/// A replaceable decision over one event.
pub trait Rule: Send + Sync {
    /// Its name in receipts.
    fn name(&self) -> &str;
    /// Its settings, for receipts.
    fn card(&self) -> serde_json::Value;
    /// The passes it wants.
    fn needs(&self) -> &[Pass];
    /// One decision a scored segment, in order.
    fn decide(&self, scores: &EventScores) -> Vec<Decision>;
    /// What the decisions rest on, a scored segment each, in order.
    fn strengths(&self, scores: &EventScores) -> Vec<Strength>;
    /// The threshold that strengths are held against.
    fn threshold(&self) -> f64;
    /// The same rule with another threshold.
    fn at(&self, threshold: f64) -> Box<dyn Rule>;
    /// Whether an event with this largest divergence (nats) says nothing at all.
    fn uninformative(&self, _max_nats: f64) -> bool {
        false
    }
}

/// `x > limit`; a number that is none (infinite in all of its event, or broken) counts, so that it keeps its segment.
fn exceeds(x: f64, limit: f64) -> bool {
    x > limit || x.is_nan()
}

/// The decision that at least `min(kappa, tokens)` tokens above `limit` make; NaN is above every limit.
fn count(segment: usize, values: &[f64], limit: f64, kappa: usize) -> Decision {
    let tokens: Vec<usize> = (0..values.len())
        .filter(|k| values.get(*k).is_some_and(|x| exceeds(*x, limit)))
        .collect();
    let needed = kappa.min(values.len());
    Decision {
        segment,
        sensitive: tokens.len() >= needed,
        tokens,
        needed,
        superseded: Vec::new(),
    }
}

/// The strength behind [`count`]: the kappa-th largest value of the segment, the largest one of each atom.
fn strength(scored: &SegmentScores, values: &[f64], kappa: usize) -> Strength {
    let mut sorted: Vec<f64> = values
        .iter()
        .map(|x| if x.is_nan() { f64::INFINITY } else { *x })
        .collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let rank = kappa.min(sorted.len()).max(1) - 1;
    let most = |atom: &AtomScore| {
        let own = values.get(atom.tokens.clone()).unwrap_or_default().iter();
        own.fold(f64::NEG_INFINITY, |most, x| {
            if x.is_nan() {
                f64::INFINITY
            } else {
                most.max(*x)
            }
        })
    };
    Strength {
        segment: sorted.get(rank).copied().unwrap_or(f64::NEG_INFINITY),
        atoms: scored.atoms.iter().map(most).collect(),
    }
}

/// The decision that values above `limit` make, one strength a value.
fn by_atoms(scored: &SegmentScores, strengths: &[f64], limit: f64) -> Decision {
    let pairs = scored.atoms.iter().zip(strengths);
    let above = pairs.filter(|(_, x)| exceeds(**x, limit));
    let tokens: Vec<usize> = above.flat_map(|(atom, _)| atom.tokens.clone()).collect();
    Decision {
        segment: scored.segment,
        sensitive: strengths.iter().any(|x| exceeds(*x, limit)),
        tokens,
        needed: 1,
        superseded: Vec::new(),
    }
}

/// The strength of a segment whose values decide.
fn of_atoms(atoms: Vec<f64>) -> Strength {
    let most = |most: f64, x: &f64| {
        if x.is_nan() {
            f64::INFINITY
        } else {
            most.max(*x)
        }
    };
    Strength {
        segment: atoms.iter().fold(f64::NEG_INFINITY, most),
        atoms,
    }
}
