//! How far does the summary move the prediction of each recorded token? What a scorer gives back; no tensor leaves it.

mod atom;
#[cfg(feature = "engine")]
mod bare;
#[cfg(feature = "engine")]
mod future;
#[cfg(feature = "engine")]
mod local;
#[cfg(feature = "engine")]
mod shared;
#[cfg(feature = "engine")]
mod states;

#[cfg(feature = "engine")]
pub(crate) use atom::overlapping;
pub(crate) use atom::surprise;
pub use atom::{AtomScore, Instead, locate, values_of};

#[cfg(feature = "engine")]
pub use future::{Difference, ReadFuture};
#[cfg(feature = "engine")]
pub use local::{LocalScorer, ScoreOptions};
#[cfg(feature = "engine")]
pub(crate) use shared::Shared;

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Which divergence decides. SPARE (arXiv 2608.22963) truncates to the student's top K.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kl {
    /// Over the student's K most probable tokens, not renormalised.
    #[default]
    Topk,
    /// Over the whole vocabulary.
    Full,
}

/// Numbers of one candidate, one entry a token of the segment, in nats.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SegmentScores {
    /// The segment's number in the run.
    pub segment: usize,
    /// Recorded token ids `x_k`.
    pub token_ids: Vec<u32>,
    /// Bytes of the segment's text that each token covers; empty where it covers only its surroundings.
    pub spans: Vec<Range<usize>>,
    /// Truncated reverse KL `d_k`, student to teacher.
    pub d_topk: Vec<f64>,
    /// Reverse KL over the whole vocabulary.
    pub d_full: Vec<f64>,
    /// `log p_k(x_k)`, student.
    pub logp: Vec<f64>,
    /// `log q_k(x_k)`, teacher.
    pub logq: Vec<f64>,
    /// Its values, in order; none where no rule asked for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub atoms: Vec<AtomScore>,
}

/// Numbers of one event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventScores {
    /// Candidates that were replayed, in order.
    pub segments: Vec<SegmentScores>,
    /// Which divergence decides.
    pub kl: Kl,
    /// Who measured it.
    pub scorer: String,
    /// Tokens that went through the model for this event.
    pub pushed: u64,
    /// Those of them that the bare pass took.
    #[serde(default)]
    pub bare: u64,
    /// Tokens that the event had to cost: what the trunk still lacked, and the branches.
    pub predicted: u64,
}

impl SegmentScores {
    /// The divergence that decides, one entry a token, in nats.
    pub fn d(&self, kl: Kl) -> &[f64] {
        match kl {
            Kl::Topk => &self.d_topk,
            Kl::Full => &self.d_full,
        }
    }
}

impl EventScores {
    /// Smallest and largest divergence of the event, in nats; zeros when nothing was scored.
    pub fn range(&self) -> (f64, f64) {
        let all = || self.segments.iter().flat_map(|s| s.d(self.kl)).copied();
        match all().next() {
            None => (0.0, 0.0),
            Some(_) => (
                all().fold(f64::INFINITY, f64::min),
                all().fold(f64::NEG_INFINITY, f64::max),
            ),
        }
    }

    /// `dn_k = (d_k - min) / (max - min + epsilon)` over the scored tokens of this event, a list for each segment.
    /// SPARE (arXiv 2608.22963), normalisation.
    pub fn normalised(&self) -> Vec<Vec<f64>> {
        let (min, max) = self.range();
        self.segments
            .iter()
            .map(|s| {
                s.d(self.kl)
                    .iter()
                    .map(|d| (d - min) / (max - min + EPSILON))
                    .collect()
            })
            .collect()
    }
}

/// The paper's epsilon: floors `q` in the truncated score and keeps the normalisation finite.
pub const EPSILON: f64 = 1e-12;

#[cfg(all(test, feature = "embedded-model"))]
#[path = "passes_tests.rs"]
mod passes_tests;
