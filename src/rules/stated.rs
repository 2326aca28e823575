//! Words alone, without any model: a value is covered where it occurs in the summary or in what stays. The yardstick that every rule
//! which costs a model has to beat.

use super::{Decision, Pass, Rule, Strength, by_atoms, of_atoms};
use crate::score::{AtomScore, EventScores, SegmentScores};

/// `sensitive(h_i)` iff one of its values occurs neither in the summary nor in what stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stated;

fn missing(segment: &SegmentScores) -> Vec<f64> {
    let missing = |a: &AtomScore| if a.stated || a.shown { 0.0 } else { 1.0 };
    segment.atoms.iter().map(missing).collect()
}

impl Rule for Stated {
    fn name(&self) -> &str {
        "stated"
    }

    fn card(&self) -> serde_json::Value {
        serde_json::json!({"name": "stated"})
    }

    fn needs(&self) -> &[Pass] {
        &[]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let each = scores.segments.iter();
        each.map(|s| by_atoms(s, &missing(s), 0.5)).collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        scores
            .segments
            .iter()
            .map(|s| of_atoms(missing(s)))
            .collect()
    }

    fn threshold(&self) -> f64 {
        0.5
    }

    fn at(&self, _: f64) -> Box<dyn Rule> {
        Box::new(Self)
    }
}
