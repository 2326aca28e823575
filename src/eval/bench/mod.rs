//! The same measurement on published benchmarks: folders in their own layouts become one task type, a model acts on it, and tools that cannot run
//! here answer from recorded runs.
//!
//! What is read of each layout, how sure that is, and what of a benchmark's own grading is missing stands in docs/benchmarks.md.

mod grade;
mod gta;
mod mnms;
mod play;
mod recorded;
mod rows;
mod task;
mod tools;
mod vstar;
mod wide;

pub use grade::grade;
pub use play::{BenchPlayer, Outcome};
pub use recorded::{recorded, take};
pub use task::{Answer, BenchTask, Earlier, Recorded};
pub use tools::{BenchTools, Replayed};

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::error::Error;
use crate::formats::FormatError;

/// A benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// GTA (arXiv 2407.08713): `dataset.json` beside its pictures.
    Gta,
    /// V* Bench (arXiv 2312.14135): `test_questions.jsonl` beside its pictures.
    VStar,
    /// The Jigsaw task of BLINK (arXiv 2404.12390): Parquet.
    Jigsaw,
    /// VisualToolBench: Parquet.
    VisualToolBench,
    /// m&m's (arXiv 2403.11085): `test_human_verified_filtered.json`.
    Mnms,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Gta,
        Self::VStar,
        Self::Jigsaw,
        Self::VisualToolBench,
        Self::Mnms,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gta => "gta",
            Self::VStar => "vstar",
            Self::Jigsaw => "jigsaw",
            Self::VisualToolBench => "visualtoolbench",
            Self::Mnms => "mnms",
        }
    }

    /// Reads the tasks of a folder, in its own order.
    ///
    /// # Errors
    /// Where a file is missing or is not what the layout has there: file, place, what was found and what was expected.
    pub fn load(self, folder: &Path) -> Result<Vec<BenchTask>, Error> {
        let tasks = match self {
            Self::Gta => gta::load(folder),
            Self::VStar => vstar::load(folder),
            Self::Jigsaw => wide::jigsaw(folder),
            Self::VisualToolBench => wide::visual_tool_bench(folder),
            Self::Mnms => mnms::load(folder),
        }?;
        if tasks.is_empty() {
            let place = folder.display().to_string();
            return Err(shape("", "no task", "at least one").in_record(place));
        }
        Ok(tasks)
    }
}

/// The text of a file of a benchmark.
fn text(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Io {
        path: path.into(),
        action: "reading",
        source,
    })
}

/// What is wrong at a JSON pointer.
fn shape(pointer: &str, found: impl Into<String>, expected: &str) -> Error {
    Error::Format(FormatError::Shape {
        pointer: pointer.into(),
        found: found.into(),
        expected: expected.into(),
    })
}

/// A JSON value for an error message.
fn say(value: Option<&Value>) -> String {
    match value {
        None => "nothing".into(),
        Some(value) => {
            let text = value.to_string();
            match text.char_indices().nth(60) {
                Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
                None => text,
            }
        }
    }
}

/// A string that an object must have.
fn string(value: &Value, name: &str, at: &str) -> Result<String, Error> {
    let found = value.get(name);
    let text = found.and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| shape(&format!("{at}/{name}"), say(found), "a string"))
}

/// The first of some files that a folder or one of its folders `below` holds.
fn find(folder: &Path, below: &[&str], names: &[&str]) -> Result<PathBuf, Error> {
    let places = std::iter::once(folder.to_path_buf()).chain(below.iter().map(|b| folder.join(b)));
    let mut all = places.flat_map(|place| names.iter().map(move |name| place.join(name)));
    all.find(|path| path.is_file()).ok_or_else(|| {
        let place = folder.display().to_string();
        shape("", "none of its files", &names.join(" or ")).in_record(place)
    })
}
