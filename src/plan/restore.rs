//! Undo: the receipt's replaced bytes back into the pruned text, proved by both hashes.

use super::receipt::{Receipt, TextHash};
use crate::formats::Replaced;

/// Why a record cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The text is not the one that the receipt was written for.
    #[error(
        "found a text with SHA-256 {found}, expected {expected}: it is not the one this receipt was written for"
    )]
    OtherText {
        /// Of the text.
        found: String,
        /// In the receipt.
        expected: String,
    },
    /// The receipt's byte ranges do not fit its own text.
    #[error("the receipt's replaced ranges do not fit: {what}")]
    Broken {
        /// In words.
        what: String,
    },
    /// A receipt of a version this program does not know.
    #[error("found a receipt with schema {found}, expected 1")]
    Schema {
        /// The version.
        found: u32,
    },
}

/// The text before the pruning, byte for byte. Errors: another text, or a damaged receipt.
pub fn restore(pruned: &str, receipt: &Receipt) -> Result<String, RestoreError> {
    if receipt.schema != 1 {
        return Err(RestoreError::Schema {
            found: receipt.schema,
        });
    }
    matches(pruned, &receipt.after)?;
    let mut out = undo(pruned, &receipt.replaced)?;
    for mend in receipt.mends.iter().rev() {
        out = undo(&out, std::slice::from_ref(&mend.replaced))?;
    }
    let found = TextHash::of(&out);
    if found != receipt.before {
        return Err(RestoreError::Broken {
            what: format!(
                "the result has SHA-256 {}, expected {}",
                found.sha256, receipt.before.sha256
            ),
        });
    }
    Ok(out)
}

/// A text with some bytes put back.
fn undo(text: &str, all: &[Replaced]) -> Result<String, RestoreError> {
    // `from` walks the changed text, `at` the one before.
    let (mut out, mut from, mut at) = (String::with_capacity(text.len()), 0usize, 0usize);
    for (index, replaced) in all.iter().enumerate() {
        let broken = || RestoreError::Broken {
            what: format!("entry {index} at byte {}", replaced.start),
        };
        let same = replaced.start.checked_sub(at).ok_or_else(broken)?;
        let end = from.checked_add(same).ok_or_else(broken)?;
        out.push_str(text.get(from..end).ok_or_else(broken)?);
        out.push_str(&replaced.old);
        from = end.checked_add(replaced.new_len).ok_or_else(broken)?;
        at = replaced
            .start
            .checked_add(replaced.old.len())
            .ok_or_else(broken)?;
    }
    out.push_str(text.get(from..).ok_or_else(|| RestoreError::Broken {
        what: "the text is too short".into(),
    })?);
    Ok(out)
}

fn matches(text: &str, expected: &TextHash) -> Result<(), RestoreError> {
    let found = TextHash::of(text);
    if found == *expected {
        return Ok(());
    }
    Err(RestoreError::OtherText {
        found: found.sha256,
        expected: expected.sha256.clone(),
    })
}
