//! What is learnt, in which order, how fast? A JSON file that is committed beside the checkpoint it made.

use serde::{Deserialize, Serialize};
use spare_models::train::Settings;

use super::{Lesson, Targets};
use crate::error::Error;
use crate::eval::world::{Knobs, TRAIN_SEED};

/// A whole training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Stages in order; each begins with the weights that the one before it left.
    pub stages: Vec<Stage>,
}

/// One schedule over one mixture of lessons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its name, also that of its folder.
    pub name: String,
    /// How weights move.
    pub settings: Settings,
    /// What a batch consists of.
    pub batch: Vec<Portion>,
    /// How much tokens count.
    #[serde(default)]
    pub targets: Targets,
    /// The step at which the next stage begins, where that is before the end of the schedule.
    #[serde(default)]
    pub stop: Option<usize>,
    /// Steps between checkpoints.
    #[serde(default = "every")]
    pub save_every: usize,
}

/// Some lessons of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Portion {
    /// Which.
    pub lesson: Lesson,
    /// How many a step.
    pub count: usize,
    /// Of what boards and questions.
    pub knobs: Knobs,
}

fn every() -> usize {
    50
}

impl Recipe {
    /// Reads a recipe. Errors name the field.
    pub fn read(text: &str) -> Result<Self, Error> {
        let wrong = |found: String, expected: &str| Error::Option {
            option: "RECIPE",
            found,
            expected: expected.into(),
        };
        let recipe: Self = serde_json::from_str(text)
            .map_err(|error| wrong(error.to_string(), "a recipe as docs/train describes it"))?;
        for stage in &recipe.stages {
            if stage.name.is_empty() || !stage.name.bytes().all(|b| b.is_ascii_alphanumeric()) {
                return Err(wrong(
                    format!("stage name {:?}", stage.name),
                    "letters and digits",
                ));
            }
            if stage.batch.iter().all(|p| p.count == 0) {
                return Err(wrong(
                    format!("stage {} without lessons", stage.name),
                    "a lesson",
                ));
            }
            if stage.batch.iter().any(|p| p.knobs.kinds.is_empty()) {
                return Err(wrong(
                    format!("stage {} without kinds", stage.name),
                    "a kind of question",
                ));
            }
        }
        Ok(recipe)
    }
}

impl Stage {
    /// Seed of lessons: every stage and portion has boards of its own.
    pub(super) fn seed(number: usize, portion: usize) -> u64 {
        TRAIN_SEED ^ ((number as u64 + 1) << 40) ^ ((portion as u64 + 1) << 32)
    }
}
