//! Everything that can go wrong, as data.

use std::path::PathBuf;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened or read.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
    /// A path that leads out of the root, through `..`, an absolute path or a link.
    #[error("{}: found a path that leads out of {}, expected one below it", path.display(), root.display())]
    Outside {
        /// The path as given.
        path: PathBuf,
        /// The root.
        root: PathBuf,
    },
    /// Neither a regular file nor a folder.
    #[error("{}: found {found}, expected a regular file or a folder", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file that likely holds credentials.
    #[error("{}: found a file that likely holds credentials, expected another: it is not read", path.display())]
    Denied {
        /// The path.
        path: PathBuf,
    },
    /// Content that no reader can read.
    #[error("{}: found {found}, expected text, code, a table, JSON, YAML or XML", path.display())]
    Unsupported {
        /// The path.
        path: PathBuf,
        /// What it seems to be.
        found: &'static str,
    },
    /// Content that is not what its format asks for.
    #[error("{}: line {line}: found {found}, expected {expected}", path.display())]
    Malformed {
        /// The path.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A file in another format than text that cannot be read, or that ended the process that read it.
    #[error("{}: found {found}, expected {expected}", path.display())]
    Broken {
        /// The path.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// More than a limit allows.
    #[error("{}: found {found} {unit}, expected at most {limit}", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// How much there is.
        found: u64,
        /// How much is allowed.
        limit: u64,
        /// Of what.
        unit: &'static str,
    },
    /// A read intent that asks for nothing, or for too much.
    #[error("intent: {field}: found {found}, expected {expected}")]
    Intent {
        /// The field.
        field: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// An anchor that cannot be read.
    #[error("anchor `{found}`: expected PATH:LINE-LINE@BYTE-BYTE#CONTENT")]
    Anchor {
        /// The text.
        found: String,
    },
    /// Gate weights that break the order of the rule.
    #[error("gate weights: {field}: found {found}, expected {expected}")]
    Weights {
        /// The field.
        field: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
