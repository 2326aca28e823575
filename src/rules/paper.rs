//! The published rule: a count of tokens whose normalised divergence exceeds tau. SPARE (arXiv 2608.22963).

use super::{Decision, Pass, Rule, Strength, count, exceeds, strength};
use crate::score::EventScores;

/// `sensitive(h_i)` iff `#{k : dn_k > tau and d_k > min_nats} >= min(kappa, |h_i|)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// The rule's name in receipts.
    pub name: &'static str,
    /// Threshold of the normalised divergence.
    pub tau: f64,
    /// Sensitive tokens that make a segment sensitive.
    pub kappa: usize,
    /// Our addition: smaller divergences never count, since min-max makes the largest token of every event 1. The paper has 0.
    pub min_nats: f64,
    /// Ours too: tau is in nats, and nothing is normalised.
    pub absolute: bool,
}

impl Paper {
    /// The rule as published.
    pub fn published() -> Self {
        Self {
            name: "paper",
            tau: 0.2,
            kappa: 2,
            min_nats: 0.0,
            absolute: false,
        }
    }

    /// The same with a floor of 0.05 nats.
    pub fn with_floor() -> Self {
        Self {
            name: "floor",
            min_nats: 0.05,
            ..Self::published()
        }
    }

    /// The same count over divergences in nats.
    pub fn in_nats() -> Self {
        Self {
            name: "paper-nats",
            absolute: true,
            ..Self::published()
        }
    }

    /// What tau is held against, a number a token; minus infinity below the floor.
    fn values(&self, scores: &EventScores) -> Vec<Vec<f64>> {
        let normalised = scores.normalised();
        let each = scores.segments.iter().zip(normalised);
        each.map(|(segment, normalised)| {
            let d = segment.d(scores.kl);
            let pairs = normalised.into_iter().zip(d);
            pairs
                .map(|(norm, d)| match exceeds(*d, self.min_nats) {
                    true if self.absolute => *d,
                    true => norm,
                    false => f64::NEG_INFINITY,
                })
                .collect()
        })
        .collect()
    }
}

impl Rule for Paper {
    fn name(&self) -> &str {
        self.name
    }

    fn card(&self) -> serde_json::Value {
        serde_json::json!({"name": self.name, "tau": self.tau, "kappa": self.kappa, "min_nats": self.min_nats, "absolute": self.absolute})
    }

    fn needs(&self) -> &[Pass] {
        &[Pass::Student, Pass::Teacher]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let values = self.values(scores);
        let each = scores.segments.iter().zip(&values);
        each.map(|(segment, values)| count(segment.segment, values, self.tau, self.kappa))
            .collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        let values = self.values(scores);
        let each = scores.segments.iter().zip(&values);
        each.map(|(segment, values)| strength(segment, values, self.kappa))
            .collect()
    }

    fn threshold(&self) -> f64 {
        self.tau
    }

    fn at(&self, threshold: f64) -> Box<dyn Rule> {
        Box::new(Self {
            tau: threshold,
            ..self.clone()
        })
    }

    fn uninformative(&self, max_nats: f64) -> bool {
        max_nats <= self.min_nats
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::score::{Kl, SegmentScores};

    fn event(d: &[&[f64]]) -> EventScores {
        EventScores {
            segments: d
                .iter()
                .enumerate()
                .map(|(segment, d)| SegmentScores {
                    segment,
                    d_topk: d.to_vec(),
                    d_full: d.iter().map(|_| 0.0).collect(),
                    ..SegmentScores::default()
                })
                .collect(),
            ..EventScores::default()
        }
    }

    fn verdicts(rule: &Paper, scores: &EventScores) -> Vec<bool> {
        rule.decide(scores).iter().map(|d| d.sensitive).collect()
    }

    #[test]
    fn it_counts_tokens_above_tau_and_never_averages() {
        // min 0, max 10: tau 0.2 is 2 nats, exclusive.
        let scores = event(&[
            &[0.0, 10.0, 2.0],
            &[2.1, 2.1, 0.0, 0.0, 0.0, 0.0],
            &[1.9, 1.9, 1.9],
        ]);
        assert_eq!(verdicts(&Paper::published(), &scores), [false, true, false]);
    }

    #[test]
    fn a_segment_shorter_than_kappa_needs_only_its_own_tokens() {
        let scores = event(&[&[5.0], &[0.0, 10.0]]);
        assert_eq!(verdicts(&Paper::published(), &scores), [true, false]);
    }

    #[test]
    fn the_floor_stops_noise_that_min_max_blows_up() {
        let scores = event(&[&[0.01, 0.02, 0.02]]);
        assert_eq!(verdicts(&Paper::published(), &scores), [true]);
        assert_eq!(verdicts(&Paper::with_floor(), &scores), [false]);
        assert!(Paper::with_floor().uninformative(scores.range().1));
    }

    #[test]
    fn one_value_everywhere_is_not_sensitive() {
        let scores = event(&[&[0.3, 0.3], &[0.3]]);
        assert_eq!(verdicts(&Paper::published(), &scores), [false, false]);
    }

    #[test]
    fn a_divergence_that_is_no_number_keeps_its_segment() {
        let scores = event(&[
            &[0.1, f64::INFINITY, f64::INFINITY],
            &[f64::NAN, f64::NAN],
            &[0.1, 0.1],
        ]);
        for rule in [Paper::published(), Paper::with_floor()] {
            assert_eq!(verdicts(&rule, &scores), [true, true, false]);
        }
    }

    #[test]
    fn the_chosen_divergence_decides() {
        let mut scores = event(&[&[0.0, 9.0, 9.0]]);
        scores.kl = Kl::Full;
        assert_eq!(verdicts(&Paper::published(), &scores), [false]);
    }
}
