//! Only what the summary makes less likely: a divergence at a token that the summary predicts better is the summary covering it.

use super::{Decision, Pass, Rule, Strength, count, strength};
use crate::score::{EventScores, SegmentScores};

/// Counts tokens with `r_k > s_k` and `d_k > nats`.
#[derive(Clone, Debug, PartialEq)]
pub struct Signed {
    /// Threshold, in nats.
    pub nats: f64,
    /// Tokens above it that make a segment sensitive.
    pub kappa: usize,
}

impl Default for Signed {
    fn default() -> Self {
        Self {
            nats: 0.2,
            kappa: 2,
        }
    }
}

/// `d_k` where the teacher finds the recorded token less likely than the student, else 0.
fn signed(segment: &SegmentScores, scores: &EventScores) -> Vec<f64> {
    let logs = segment.logp.iter().zip(&segment.logq);
    let pairs = segment.d(scores.kl).iter().zip(logs);
    pairs
        .map(|(d, (p, q))| if q < p || d.is_nan() { *d } else { 0.0 })
        .collect()
}

impl Rule for Signed {
    fn name(&self) -> &str {
        "signed"
    }

    fn card(&self) -> serde_json::Value {
        serde_json::json!({"name": "signed", "nats": self.nats, "kappa": self.kappa})
    }

    fn needs(&self) -> &[Pass] {
        &[Pass::Student, Pass::Teacher]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let each = scores.segments.iter();
        each.map(|s| count(s.segment, &signed(s, scores), self.nats, self.kappa))
            .collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        let each = scores.segments.iter();
        each.map(|s| strength(s, &signed(s, scores), self.kappa))
            .collect()
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
