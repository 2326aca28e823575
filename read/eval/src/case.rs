//! A case: files, what is read, what is asked, and where the answers lie.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The twelve sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// E1: facts in prose of five languages and eight encodings.
    NeedleDocument,
    /// E2: the same, but the answer is not there.
    AbsentFact,
    /// E3: one row of a delimited table.
    TableLookup,
    /// E4: workbooks.
    Workbook,
    /// E5: JSON, JSON lines, YAML and XML.
    Tree,
    /// E6: folders whose files disagree.
    BundleAudit,
    /// E7: source code.
    Code,
    /// E8: PDF reports.
    Pdf,
    /// E9: pictures.
    Picture,
    /// E10: what is better read whole.
    NativeFit,
    /// E11: files that mean harm.
    Hostile,
    /// E12: more than one round on one object.
    Rounds,
}

/// One file of a case.
#[derive(Debug, Clone)]
pub struct CaseFile {
    /// Path below the case's folder, with `/`.
    pub path: String,
    /// What it holds.
    pub bytes: Vec<u8>,
}

/// Bytes that answer a need.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gold {
    /// The file.
    pub path: String,
    /// The bytes in the file that an agent must have read.
    pub bytes: Range<usize>,
    /// The words of the answer, as a reader of the text sees them.
    pub answer: String,
    /// Where it stands, in a format whose bytes are not its text; `bytes` says nothing then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spot: Option<Spot>,
}

/// A place in a format whose bytes are not its text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spot {
    /// A row of a sheet, from 1.
    Row {
        /// The sheet.
        sheet: String,
        /// The row.
        row: u32,
    },
    /// A box of a page.
    Area {
        /// From 1.
        page: u32,
        /// Left, top, right, bottom from the upper left corner, in points.
        area: [f64; 4],
    },
}

/// One thing that is asked.
#[derive(Debug, Clone, Serialize)]
pub struct Asked {
    /// The question in words.
    pub question: String,
    /// All places that must be read; none means that the object does not say.
    pub gold: Vec<Gold>,
    /// How the fact and the question were made, for the breakdown of a table.
    pub kind: &'static str,
}

/// What an agent should do with the object as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// A small part answers.
    Sparse,
    /// The whole is needed, or the whole is cheap.
    Native,
}

/// What the agent wants to do with what it reads; it knows that from its own task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Find facts.
    Lookup,
    /// Compute over all of it.
    Compute,
    /// Change it.
    Edit,
    /// Read all of it word for word.
    Whole,
}

/// An object and what is asked of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The set.
    pub set: Set,
    /// The seed it came from.
    pub seed: u64,
    /// Language, encoding, size class or format.
    pub kind: String,
    /// The files.
    pub files: Vec<CaseFile>,
    /// The file or folder that is read, relative to the case's folder; empty for the folder itself.
    pub target: String,
    /// What is asked, one after the other.
    pub asked: Vec<Asked>,
    /// Whether a small part answers.
    pub fit: Fit,
    /// What for.
    pub purpose: Purpose,
}

impl Case {
    /// Writes the files below `folder` and returns the path that is read.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, folder: &Path) -> std::io::Result<PathBuf> {
        for file in &self.files {
            let path = folder.join(&file.path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, &file.bytes)?;
        }
        Ok(folder.join(&self.target))
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> usize {
        self.files.iter().map(|file| file.bytes.len()).sum()
    }
}
