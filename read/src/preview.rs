//! The object preview: what is it, how large, how is it built? Enough to write an intent, never the content.

use serde::Serialize;

use crate::gate::ObjectSize;
use crate::readers::{Kind, Outline};

/// What an object is, from its first bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Card {
    /// The kind of a single file; none where no reader reads it, and of a folder.
    pub kind: Option<Kind>,
    /// Bytes of all files.
    pub bytes: u64,
    /// Files.
    pub files: usize,
    /// Estimated tokens of all content.
    pub tokens: u64,
}

/// A file of a preview.
#[derive(Debug, Clone, Serialize)]
pub struct FilePreview {
    /// Below the root.
    pub path: String,
    /// Bytes.
    pub bytes: u64,
    /// The kind; none where no reader reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Why no reader reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Its encoding, where it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// Its shape.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outline: Option<Outline>,
}

/// A preview.
#[derive(Debug, Clone, Serialize)]
pub struct Preview {
    /// Estimated tokens of all content.
    pub tokens: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Files in all.
    pub file_count: usize,
    /// The first files, or the one file.
    pub files: Vec<FilePreview>,
    /// What a worker says of files whose bytes are not their text: pages, hidden sheets, formulas.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<(String, String)>,
    /// What it could not read of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<(String, String)>,
    /// What was left out of a folder, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<(String, &'static str)>,
    /// For the gate.
    #[serde(skip)]
    pub size: ObjectSize,
}
