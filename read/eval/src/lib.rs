//! How well does sparse reading read? Sets of documents, tables, trees, folders and code are generated from seeds, so that the bytes of every answer are known by construction; nothing here knows how a reader works.
//!
//! Weights are fitted on [`seeds::DEV`] and numbers are reported on [`seeds::TEST`].

pub mod baselines;
pub mod case;
pub mod documents;
pub mod fit;
pub mod language;
pub mod measure;
pub mod seeds;
pub mod sets;
pub mod simulate;
pub mod statistics;
pub mod table;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of a case could not be written or read.
    #[error("case files: {0}")]
    Io(#[from] std::io::Error),
    /// The reader refused.
    #[error(transparent)]
    Read(#[from] spare_read::Error),
    /// Results that cannot be written as JSON.
    #[error("results: {0}")]
    Json(#[from] serde_json::Error),
    /// Words on the command line that make no sense.
    #[error("{0}")]
    Usage(String),
}
