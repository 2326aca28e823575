//! Everything that can go wrong, as data: what was found, where, and what was expected.

use std::path::PathBuf;

use crate::formats::provider::Violation;
use crate::formats::{EditError, FormatError};
use crate::plan::RestoreError;

/// The one error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file; `-` for standard input or output.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
    /// A run that is not what it should be.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// An object that could not be read.
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Read(#[from] spare_read::Error),
    /// Training.
    #[cfg(feature = "train")]
    #[error(transparent)]
    Train(#[from] spare_models::train::TrainError),
    /// What failed, with the record it belongs to.
    #[error("{place}: {source}")]
    Record {
        /// File and line.
        place: String,
        /// Why.
        source: Box<Error>,
    },
    /// A picture that cannot be opened.
    #[error("{pointer}: picture {address}: {problem}")]
    Picture {
        /// JSON pointer of its address.
        pointer: String,
        /// The address, shortened.
        address: String,
        /// What is wrong with it.
        problem: PictureProblem,
    },
    /// A content part that cannot be replayed.
    #[error(
        "/messages/{message}/content/{part}: found a part of type `{found}`, expected text or image_url: this version cannot replay it"
    )]
    Part {
        /// The message.
        message: usize,
        /// The part.
        part: usize,
        /// Its type.
        found: String,
    },
    /// A picture for a model that cannot see.
    #[error(
        "{pointer}: found a picture, expected none: {family} has no vision tower (--pictures placeholder lets it read `[image]` instead)"
    )]
    Blind {
        /// Where the picture stands.
        pointer: String,
        /// The loaded model's family.
        family: String,
    },
    /// An edit that does not fit.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A record that cannot be restored.
    #[error("{place}: {source}")]
    Restore {
        /// File and line.
        place: String,
        /// Why.
        source: RestoreError,
    },
    /// A pruned history that breaks rules which the run did not break. Nothing of it is written.
    #[error(
        "the pruned history would break rules that the run does not break: {}",
        list(violations)
    )]
    Worse {
        /// What it would break.
        violations: Vec<Violation>,
    },
    /// An interrupted pruning that cannot be continued.
    #[error("--resume: {place}: found {found}, expected {expected}")]
    Resume {
        /// File and line.
        place: String,
        /// What stands there.
        found: String,
        /// What goes.
        expected: String,
    },
    /// A receipt file that cannot be read.
    #[error("{place}: not a receipt: {message}")]
    Receipt {
        /// File and line.
        place: String,
        /// The parser's words.
        message: String,
    },
    /// An option that does not go with the others.
    #[error("{option}: found {found}, expected {expected}")]
    Option {
        /// The option.
        option: &'static str,
        /// What was given.
        found: String,
        /// What goes.
        expected: String,
    },
    /// A model that could not be found by its name, or not be downloaded.
    #[cfg(feature = "engine")]
    #[error(transparent)]
    Hub(#[from] spare_models::hub::HubError),
    /// The caller raised the cancel flag.
    #[error("cancelled")]
    Cancelled,
    /// The chat template or the tokenizer.
    #[cfg(feature = "engine")]
    #[error(transparent)]
    Prompt(#[from] spare_models::prompt::PromptError),
    /// The model or its checkpoint.
    #[cfg(feature = "engine")]
    #[error(transparent)]
    Model(#[from] spare_models::ModelError),
    /// The checkpoint's picture preprocessing.
    #[cfg(feature = "engine")]
    #[error("preprocessor_config.json: {0}")]
    Preprocessor(#[from] spare_models::image::ImageError),
    /// The divergence head.
    #[cfg(feature = "engine")]
    #[error(transparent)]
    Head(#[from] spare_kernels::HeadError),
}

fn list(violations: &[Violation]) -> String {
    let lines: Vec<String> = violations.iter().map(Violation::to_string).collect();
    lines.join("; ")
}

/// What is wrong with a picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureProblem {
    /// The file is not there.
    #[error("no such file below {}", root.display())]
    Missing {
        /// The picture folder.
        root: PathBuf,
    },
    /// A link leads out of the picture folder.
    #[error("it leads out of {}", root.display())]
    Outside {
        /// The picture folder.
        root: PathBuf,
    },
    /// A URL, or a path that leaves the picture folder.
    #[error(
        "found an address that is not opened, expected a data URI or a relative path inside the picture folder"
    )]
    Unopened,
    /// The file cannot be read.
    #[error("{0}")]
    Unreadable(std::io::Error),
    /// A data URI without base64 content.
    #[error("found a data URI that is not base64 ({0}), expected `data:image/...;base64,...`")]
    DataUri(String),
    /// The bytes are not a picture this program reads.
    #[cfg(feature = "engine")]
    #[error("{0}")]
    Image(#[from] spare_models::image::ImageError),
}

impl Error {
    /// Whether it concerns one record only, so that the records behind it can still be read.
    pub fn is_of_one_record(&self) -> bool {
        match self {
            Error::Format(_)
            | Error::Picture { .. }
            | Error::Part { .. }
            | Error::Blind { .. }
            | Error::Edit(_)
            | Error::Worse { .. } => true,
            Error::Record { source, .. } => source.is_of_one_record(),
            #[cfg(feature = "engine")]
            Error::Prompt(_) => true,
            _ => false,
        }
    }

    /// The same error, with the record it came from.
    pub fn in_record(self, place: impl Into<String>) -> Self {
        Error::Record {
            place: place.into(),
            source: Box::new(self),
        }
    }
}
