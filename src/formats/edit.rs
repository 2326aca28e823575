//! Writing an edit back: which bytes of the record change, and nothing else.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::located::{escaped, raw_range};
use super::openai_chat::locate;
use crate::trajectory::Place;

/// New text for a place of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Where.
    pub place: Place,
    /// What stands there afterwards, decoded.
    pub text: String,
}

/// An edit that does not fit the text it was made for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// No string at the place, or not that long.
    #[error("{pointer}: found no string with bytes {}..{}", range.start, range.end)]
    NoSuchPlace {
        /// JSON pointer.
        pointer: String,
        /// Bytes of the decoded string.
        range: Range<usize>,
    },
    /// Two edits of the same bytes.
    #[error("{pointer}: two edits touch the same bytes")]
    Overlap {
        /// JSON pointer of the later one.
        pointer: String,
    },
}

/// One replacement of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// First byte in the old text.
    pub start: usize,
    /// The bytes that stood there.
    pub old: String,
    /// Length in bytes of what stands there now.
    pub new_len: usize,
}

/// The record with all edits made, and what was replaced, in the order of the text.
pub fn apply(text: &str, edits: &[Edit]) -> Result<(String, Vec<Replaced>), EditError> {
    let mut found = Vec::with_capacity(edits.len());
    for edit in edits {
        let none = || EditError::NoSuchPlace {
            pointer: edit.place.pointer.clone(),
            range: edit.place.range.clone(),
        };
        let value = locate(text, &edit.place.pointer)
            .ok()
            .flatten()
            .ok_or_else(none)?;
        if value.raw().as_bytes().first() != Some(&b'"') {
            return Err(none());
        }
        let inner = raw_range(value.raw(), &edit.place.range).ok_or_else(none)?;
        let start = value.span().start;
        found.push((start + inner.start..start + inner.end, edit));
    }
    found.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut replaced, mut done) = (String::with_capacity(text.len()), Vec::new(), 0);
    for (range, edit) in found {
        let overlap = || EditError::Overlap {
            pointer: edit.place.pointer.clone(),
        };
        let between = text.get(done..range.start).ok_or_else(overlap)?;
        let new = escaped(&edit.text);
        out.push_str(between);
        out.push_str(&new);
        replaced.push(Replaced {
            start: range.start,
            old: text.get(range.clone()).ok_or_else(overlap)?.to_owned(),
            new_len: new.len(),
        });
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok((out, replaced))
}
