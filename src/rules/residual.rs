//! What cannot be had without the reasoning: the surprise of a value behind the bare history and the summary.

use super::{Decision, Pass, Rule, Strength, by_atoms, of_atoms};
use crate::score::{AtomScore, EventScores, SegmentScores};

/// `sensitive(h_i)` iff the residual of one of its values exceeds theta: the largest `-log probability` of its tokens, in nats.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// Threshold, in nats.
    pub nats: f64,
}

impl Default for Residual {
    fn default() -> Self {
        Self { nats: 1.5 }
    }
}

fn residuals(segment: &SegmentScores) -> Vec<f64> {
    segment.atoms.iter().map(AtomScore::residual).collect()
}

impl Rule for Residual {
    fn name(&self) -> &str {
        "residual"
    }

    fn card(&self) -> serde_json::Value {
        serde_json::json!({"name": "residual", "nats": self.nats})
    }

    fn needs(&self) -> &[Pass] {
        &[Pass::Student, Pass::Teacher, Pass::Bare]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let each = scores.segments.iter();
        each.map(|s| by_atoms(s, &residuals(s), self.nats))
            .collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        scores
            .segments
            .iter()
            .map(|s| of_atoms(residuals(s)))
            .collect()
    }

    fn threshold(&self) -> f64 {
        self.nats
    }

    fn at(&self, threshold: f64) -> Box<dyn Rule> {
        Box::new(Self { nats: threshold })
    }
}
