//! Which segments stay without anybody asking the model about them?

use serde_json::{Value, json};

use crate::eval::Random;
use crate::rules::{Covered, Decision, Pass, Rule, Strength};
use crate::score::EventScores;

/// A rule that looks at no score; of what stays, every value is evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// No segment stays.
    Nothing,
    /// Every segment stays.
    Everything,
    /// As many stay as under the default, drawn with this seed.
    Drawn(u64),
}

impl Rule for Choice {
    fn name(&self) -> &str {
        match self {
            Self::Nothing => "delete-all",
            Self::Everything => "evidence-only",
            Self::Drawn(_) => "random",
        }
    }

    fn card(&self) -> Value {
        match self {
            Self::Drawn(seed) => json!({"seed": seed}),
            _ => json!({}),
        }
    }

    /// Only the default, whose number of deletions is taken over, needs passes.
    fn needs(&self) -> &[Pass] {
        match self {
            Self::Drawn(_) => &[Pass::Student, Pass::Teacher],
            _ => &[],
        }
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let count = scores.segments.len();
        let stays = match self {
            Self::Nothing => vec![false; count],
            Self::Everything => vec![true; count],
            Self::Drawn(seed) => {
                let own = Covered::default().decide(scores);
                let mut stays: Vec<bool> = own.iter().map(|d| d.sensitive).collect();
                Random::new(*seed, count).shuffle(&mut stays);
                stays
            }
        };
        let each = scores.segments.iter().zip(stays);
        each.map(|(segment, sensitive)| Decision {
            segment: segment.segment,
            sensitive,
            tokens: segment
                .atoms
                .iter()
                .flat_map(|a| a.tokens.clone())
                .collect(),
            needed: 0,
            superseded: Vec::new(),
        })
        .collect()
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        let each = scores.segments.iter();
        each.map(|s| Strength {
            segment: 0.0,
            atoms: vec![0.0; s.atoms.len()],
        })
        .collect()
    }

    fn threshold(&self) -> f64 {
        0.0
    }

    fn at(&self, _: f64) -> Box<dyn Rule> {
        Box::new(*self)
    }
}
