//! Which segments does the summary cover? A rule turns an event's scores into one verdict with a reason for each segment.

mod paper;

pub use paper::Paper;

use serde::{Deserialize, Serialize};

use crate::score::EventScores;

/// The passes over the model that a rule wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Pass {
    /// The recorded history.
    Student,
    /// The history with the summary before the turn.
    Teacher,
    /// The history without any candidate's text, alone and with the summary: see [`AtomScore`](crate::score::AtomScore).
    Bare,
}

/// What a rule says of one segment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Decision {
    /// The segment's number in the run.
    pub segment: usize,
    /// Whether the summary fails to cover it.
    pub sensitive: bool,
    /// Sensitive tokens, as indexes into the segment's tokens.
    pub tokens: Vec<usize>,
    /// How many sensitive tokens would have made it sensitive.
    pub needed: usize,
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
    /// Whether an event with this largest divergence (nats) says nothing at all.
    fn uninformative(&self, max_nats: f64) -> bool;
}
