//! Recall on documents that no generator made: README and CHANGELOG files of crates of the lock file, with questions by hand, worded otherwise than the text where that came naturally.

use std::path::Path;

use serde::Deserialize;
use spare_read::{ReadRequest, Root, Session, Status};

use crate::Error;
use crate::measure::flat;

/// A question about a file of a package.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    /// Name and version, as the registry's folder is called.
    pub package: String,
    /// The file.
    pub file: String,
    /// The question.
    pub question: String,
    /// Words that must be shown.
    pub answer: String,
}

/// The committed questions.
///
/// # Errors
/// They are no JSON.
pub fn documents() -> Result<Vec<Document>, Error> {
    Ok(serde_json::from_str(include_str!("../documents.json"))?)
}

/// The status and whether the answer was shown; none where the package is not on this machine or does not hold the answer.
///
/// # Errors
/// What the reader says.
pub fn ask(
    document: &Document,
    sources: &Path,
    budget_tokens: usize,
) -> Result<Option<(Status, bool)>, Error> {
    let folder = sources.join(&document.package);
    let Ok(text) = std::fs::read_to_string(folder.join(&document.file)) else {
        return Ok(None);
    };
    if !flat(&text).contains(&flat(&document.answer)) {
        return Ok(None);
    }
    let mut session = Session::new(Root::open(&folder)?);
    let request = ReadRequest {
        force: true,
        budget_tokens,
        ..ReadRequest::question(document.question.as_str())
    };
    let pack = session.read(Path::new(&document.file), &request)?;
    let shown = pack
        .spans
        .iter()
        .any(|span| flat(&span.text).contains(&flat(&document.answer)));
    Ok(Some((
        pack.needs
            .first()
            .map_or(Status::NotSearched, |need| need.status),
        shown,
    )))
}
