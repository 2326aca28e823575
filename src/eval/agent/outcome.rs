//! What came of an episode?

use serde::Serialize;

use super::{Method, Skill};
use crate::eval::world::{Conflict, Kind, Task, grade};
use crate::trajectory::Trajectory;

/// Which episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Set {
    /// The agent acts from the first turn on.
    Standard,
    /// The expert opens with a wrong guess that is said again and again; the agent goes on behind the summary.
    Conflict,
}

/// What one method made of one episode.
#[derive(Clone, Debug, Serialize)]
pub struct Played {
    /// The method.
    pub method: Method,
    /// The episode's index.
    pub index: usize,
    /// What was asked.
    pub kind: String,
    /// Its steps.
    pub steps: usize,
    /// The answer; what the model wrote instead, where it gave none.
    pub answer: String,
    /// What would have been right.
    pub expected: String,
    /// Whether the answer is right.
    pub right: bool,
    /// Whether the answer is the one that a stale guess leads to.
    pub stale: bool,
    /// How it ended: `answer`, `broken`, `turns`.
    pub end: &'static str,
    /// Summaries that were made.
    pub summaries: usize,
    /// Tokens of reasoning that were written, the opening's included.
    pub reasoning: usize,
    /// Those that the history held at the end, evidence and marks included.
    pub kept: usize,
    /// Tokens that the model read or wrote, from the first one that is the method's own.
    pub pushed: u64,
    /// What the agent did right, where its reasoning still stands.
    pub skill: Skill,
    /// The run as it stands at the end.
    #[serde(skip)]
    pub run: Trajectory,
    /// Seconds from the first summary on.
    pub seconds: f64,
}

/// Whether an answer is the one that a guess in the place of the reading leads to; where every value is said, whether it says the guess.
pub(super) fn stale(task: &Task, conflict: &Conflict, answer: &str) -> bool {
    let mut values = task.values();
    if let Some(value) = values.get_mut(conflict.step) {
        value.clone_from(&conflict.stale);
    }
    let Some(thing) = task.asked().get(conflict.step) else {
        return false;
    };
    let said = format!("{} = {}", thing.name(), conflict.stale);
    match task.kind {
        Kind::Read => answer.split(',').any(|item| grade(item, &said)),
        _ => grade(answer, &task.answer(&values)),
    }
}
