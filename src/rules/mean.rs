//! The ablation that the paper argues against: the mean of the normalised divergence, in which one coordinate drowns.

use super::{Decision, Pass, Rule, Strength, count, exceeds, strength};
use crate::score::EventScores;

/// `sensitive(h_i)` iff the mean of `dn_k` over its tokens exceeds tau. SPARE (arXiv 2608.22963), ablation.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// Threshold of the mean.
    pub tau: f64,
}

impl Default for Mean {
    fn default() -> Self {
        Self { tau: 0.05 }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

impl Rule for Mean {
    fn name(&self) -> &str {
        "mean"
    }

    fn card(&self) -> serde_json::Value {
        serde_json::json!({"name": "mean", "tau": self.tau})
    }

    fn needs(&self) -> &[Pass] {
        &[Pass::Student, Pass::Teacher]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let normalised = scores.normalised();
        let each = scores.segments.iter().zip(&normalised);
        each.map(|(segment, values)| Decision {
            // Evidence holds what lies above the mean's own threshold.
            sensitive: exceeds(mean(values), self.tau),
            ..count(segment.segment, values, self.tau, 1)
        })
        .collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        let normalised = scores.normalised();
        let each = scores.segments.iter().zip(&normalised);
        each.map(|(segment, values)| Strength {
            segment: mean(values),
            ..strength(segment, values, 1)
        })
        .collect()
    }

    fn threshold(&self) -> f64 {
        self.tau
    }

    fn at(&self, threshold: f64) -> Box<dyn Rule> {
        Box::new(Self { tau: threshold })
    }
}
