//! Who decides what is forgotten at a summary?

use std::sync::Arc;

use spare_models::Control;

use super::choice::Choice;
use crate::engine::Engine;
use crate::error::Error;
use crate::plan::Verdict;
use crate::pruner::{PruneOptions, Pruned, Pruner};
use crate::replay::PictureRoot;
use crate::rules::{Covered, Mean, Paper, Rule};
use crate::score::LocalScorer;
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

    /// The history of `run` after this method has pruned at its newest summary. `seed` is that of random choices.
    ///
    /// # Errors
    /// Those of the model.
    pub(crate) fn prune(
        self,
        engine: &Arc<Engine>,
        run: &Trajectory,
        scorer: &mut LocalScorer,
        seed: u64,
        control: &Control<'_>,
    ) -> Result<Trajectory, Error> {
        let rule: Arc<dyn Rule> = match self {
            Self::Full => return Ok(run.clone()),
            Self::DeleteAll => Arc::new(Choice::Nothing),
            Self::EvidenceOnly => Arc::new(Choice::Everything),
            Self::Random => Arc::new(Choice::Drawn(seed)),
            Self::KlOnly | Self::Paper => Arc::new(Paper::published()),
            Self::Mean => Arc::new(Mean::default()),
            Self::Default => Arc::new(Covered::default()),
        };
        let options = PruneOptions {
            rule,
            ..PruneOptions::default()
        };
        let pruner = Pruner::new(Arc::clone(engine), options);
        let pruned = pruner.prune_from(run, scorer, &PictureRoot::new("."), control)?;
        Ok(match self {
            Self::KlOnly => deleted(run, &pruned),
            _ => pruned.history,
        })
    }
}

/// The history in which only what is deleted changes. No mark says that an event was decided, so only the newest one counts.
fn deleted(before: &Trajectory, pruned: &Pruned) -> Trajectory {
    let mut history = before.clone();
    let newest = pruned.events.last().into_iter();
    let plans = newest.flat_map(|event| &event.plan.segments);
    for plan in plans.filter(|plan| plan.verdict == Verdict::Delete) {
        if let Some(segment) = pruned.segments.get(plan.segment) {
            history.replace(segment.message, segment.slot, &segment.range, "");
        }
    }
    history
}
