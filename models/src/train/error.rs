//! What can go wrong in training?

use std::path::{Path, PathBuf};

use crate::ModelError;

/// Everything that training can refuse.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// The checkpoint.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The tensor library.
    #[error("training: {0}")]
    Tensor(#[from] candle_core::Error),
    /// A tensor that the architecture has and the checkpoint lacks.
    #[error("tensor {name}: found none, expected one in the checkpoint to train")]
    Missing {
        /// Its name.
        name: String,
    },
    /// An architecture without a backward pass here.
    #[error("training of {found}, expected Qwen3-VL, Qwen3 or Llama without experts")]
    Architecture {
        /// What it is.
        found: String,
    },
    /// A batch that does not hang together.
    #[error("batch, sequence {sequence}: found {found}, expected {expected}")]
    Batch {
        /// Which of its sequences.
        sequence: usize,
        /// What stands there.
        found: String,
        /// What may stand there.
        expected: String,
    },
    /// A loss or gradient that is no number.
    #[error("step {step}: found a {what} of {value}, expected a finite one")]
    NotFinite {
        /// The step.
        step: usize,
        /// Loss or gradient norm.
        what: &'static str,
        /// What it was.
        value: f64,
    },
    /// A setting.
    #[error("{setting}: found {found}, expected {expected}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// What it was.
        found: String,
        /// What it may be.
        expected: String,
    },
    /// A file of a training run.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl TrainError {
    pub(super) fn file(path: &Path, message: impl std::fmt::Display) -> Self {
        Self::File {
            path: path.into(),
            message: message.to_string(),
        }
    }
}
