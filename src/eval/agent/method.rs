//! Who decides what is forgotten at a summary?

use std::sync::Arc;

use serde_json::{Value, json};

use crate::engine::Engine;
use crate::error::Error;
use crate::eval::Random;
use crate::plan::Verdict;
use crate::pruner::{PruneOptions, Pruned, Pruner};
use crate::rules::{Covered, Decision, Mean, Paper, Pass, Rule, Strength};
use crate::score::EventScores;
use crate::trajectory::Trajectory;

/// A way of pruning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Nothing is pruned.
    Full,
    /// Every segment goes.
    DeleteAll,
    /// Every segment is rewritten as evidence; the same as reconstruction without selection by divergence.
    EvidenceOnly,
    /// As many segments go as under the default, drawn at random; the others are rewritten.
    Random,
    /// The published rule selects; what is sensitive stays as it is.
    KlOnly,
    /// The published rule with a mean instead of a count.
    Mean,
    /// The published rule.
    Paper,
    /// The default of this crate.
    Default,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Full,
        Self::DeleteAll,
        Self::EvidenceOnly,
        Self::Random,
        Self::KlOnly,
        Self::Mean,
        Self::Paper,
        Self::Default,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::DeleteAll => "delete-all",
            Self::EvidenceOnly => "evidence-only",
            Self::Random => "random",
            Self::KlOnly => "kl-only",
            Self::Mean => "mean",
            Self::Paper => "paper",
            Self::Default => "default",
        }
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The pruner of this method; `None` for [`Full`](Self::Full). `seed` is that of random choices.
    pub(super) fn pruner(self, engine: &Arc<Engine>, seed: u64) -> Option<Pruner> {
        let rule: Arc<dyn Rule> = match self {
            Self::Full => return None,
            Self::DeleteAll => Arc::new(All { sensitive: false }),
            Self::EvidenceOnly => Arc::new(All { sensitive: true }),
            Self::Random => Arc::new(Shuffled { seed }),
            Self::KlOnly | Self::Paper => Arc::new(Paper::published()),
            Self::Mean => Arc::new(Mean::default()),
            Self::Default => Arc::new(Covered::default()),
        };
        let options = PruneOptions {
            rule,
            ..PruneOptions::default()
        };
        Some(Pruner::new(Arc::clone(engine), options))
    }

    /// The history after a pruning.
    pub(super) fn history(self, before: &Trajectory, pruned: Pruned) -> Result<Trajectory, Error> {
        if self != Self::KlOnly {
            return Ok(pruned.history);
        }
        // Only what is deleted changes. No mark says that an event was decided, so only the newest one counts.
        let mut history = before.clone();
        let newest = pruned.events.last().into_iter();
        let plans = newest.flat_map(|event| &event.plan.segments);
        for plan in plans.filter(|plan| plan.verdict == Verdict::Delete) {
            if let Some(segment) = pruned.segments.get(plan.segment) {
                history.replace(segment.message, segment.slot, &segment.range, "");
            }
        }
        Ok(history)
    }
}

/// One decision for every segment, whatever it says; evidence of all its values.
#[derive(Debug)]
struct All {
    sensitive: bool,
}

fn decisions(scores: &EventScores, sensitive: impl Fn(usize) -> bool) -> Vec<Decision> {
    let each = scores.segments.iter().enumerate();
    each.map(|(i, segment)| Decision {
        segment: segment.segment,
        sensitive: sensitive(i),
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

fn flat(scores: &EventScores) -> Vec<Strength> {
    let each = scores.segments.iter();
    each.map(|s| Strength {
        segment: 0.0,
        atoms: vec![0.0; s.atoms.len()],
    })
    .collect()
}

impl Rule for All {
    fn name(&self) -> &str {
        if self.sensitive {
            "evidence-only"
        } else {
            "delete-all"
        }
    }

    fn card(&self) -> Value {
        json!({})
    }

    fn needs(&self) -> &[Pass] {
        &[]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        decisions(scores, |_| self.sensitive)
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        flat(scores)
    }

    fn threshold(&self) -> f64 {
        0.0
    }

    fn at(&self, _: f64) -> Box<dyn Rule> {
        Box::new(Self { ..*self })
    }
}

/// The default's number of deletions on segments drawn at random.
#[derive(Debug)]
struct Shuffled {
    seed: u64,
}

impl Rule for Shuffled {
    fn name(&self) -> &str {
        "random"
    }

    fn card(&self) -> Value {
        json!({"seed": self.seed})
    }

    fn needs(&self) -> &[Pass] {
        &[Pass::Student, Pass::Teacher]
    }

    fn decide(&self, scores: &EventScores) -> Vec<Decision> {
        let own = Covered::default().decide(scores);
        let mut sensitive: Vec<bool> = own.iter().map(|d| d.sensitive).collect();
        Random::new(self.seed, scores.segments.len()).shuffle(&mut sensitive);
        decisions(scores, |i| sensitive.get(i).copied().unwrap_or(true))
    }

    fn strengths(&self, scores: &EventScores) -> Vec<Strength> {
        flat(scores)
    }

    fn threshold(&self) -> f64 {
        0.0
    }

    fn at(&self, _: f64) -> Box<dyn Rule> {
        Box::new(Self { ..*self })
    }
}
