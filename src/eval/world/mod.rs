//! A world in which an agent that sees and reasons can be measured from end to end.
//!
//! A board holds things in a 3 by 3 grid; from afar no value can be read. Tools: `crop` and `zoom` show a cell, `read_bar` says a bar's
//! height in text, `summarize_the_task` is the event. Questions take one to eight steps. Readings can be had again from a crop that stays;
//! totals, counts and the largest so far stand in reasoning alone. Knobs say how much is said, how often a value is guessed wrongly at
//! first and how often the guess is repeated, and how much a summary says. Everything follows from a seed and an index.

mod draw;
mod environment;
mod episode;
mod expert;
mod question;
mod scene;

pub use environment::{Environment, tools};
pub use episode::{Conflict, Episode, Opening};
pub use question::{Kind, Task, grade};
#[cfg(feature = "train")]
pub(crate) use scene::names;
pub use scene::{Figure, Mix, Thing};

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::Random;

/// Seeds that agents learn from.
pub const TRAIN_SEED: u64 = 4_120_261_201;
/// Seeds that the world and the method are looked at with.
pub const DEV_SEED: u64 = 5_120_261_201;
/// Seeds that are measured once.
pub const TEST_SEED: u64 = 6_870_231_109;

/// What episodes are like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Knobs {
    /// Questions, each as likely as the others.
    pub kinds: Vec<Kind>,
    /// Fewest and most steps.
    pub steps: (usize, usize),
    /// What boards are made of.
    pub mix: Mix,
    /// Turns with a sentence that says nothing, in per cent.
    pub verbosity: usize,
    /// Values that are guessed wrongly before they are read, in per cent.
    pub guesses: usize,
    /// Later turns that repeat such a guess, in per cent.
    pub repeats: usize,
    /// Read facts that a summary states, in per cent.
    pub completeness: usize,
    /// Episodes of two or more steps in which a summary is made, in per cent.
    pub summaries: usize,
}

impl Default for Knobs {
    fn default() -> Self {
        Self {
            kinds: Kind::ALL.to_vec(),
            steps: (1, 8),
            mix: Mix::default(),
            verbosity: 50,
            guesses: 35,
            repeats: 0,
            completeness: 100,
            summaries: 90,
        }
    }
}

impl Knobs {
    /// The set that agents are measured on: one to five steps, digits, every kind.
    pub fn standard() -> Self {
        Self {
            steps: (1, 5),
            mix: Mix::PLAIN,
            ..Self::default()
        }
    }

    /// The subset in which an early wrong guess, said again and again, contradicts the reading, and the summary may leave the reading out.
    pub fn conflict() -> Self {
        Self {
            kinds: vec![Kind::Read, Kind::Add],
            steps: (2, 4),
            guesses: 100,
            repeats: 100,
            completeness: 50,
            summaries: 100,
            ..Self::standard()
        }
    }

    /// Task number `index` of a seed.
    pub fn task(&self, seed: u64, index: usize) -> Task {
        let mut random = Random::new(seed, index);
        let kind = self.kinds.get(random.below(self.kinds.len())).copied();
        let steps = random.within(self.steps.0, self.steps.1);
        Task::new(&mut random, kind.unwrap_or(Kind::Read), steps, &self.mix)
    }
}
