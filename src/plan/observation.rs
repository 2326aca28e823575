//! Old observations as one line each (observation masking, arXiv 2508.21433), with the anchors of what they showed, so that it can be read again. No model.

use serde::{Deserialize, Serialize};

use super::receipt::{Receipt, TextHash};
use crate::Error;
use crate::evidence::anchors;
use crate::formats::{self, Edit, provider};
use crate::trajectory::{Part, Role, Trajectory};

/// Observations that stay as they are: what the paper found best.
pub const KEPT: usize = 10;
/// Anchors of one observation that are kept; of an answer that showed more, the first.
const ANCHORS: usize = 12;
/// How a masked observation begins.
const HEAD: &str = "[Old tool result: ";

/// An observation that became one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedReceipt {
    /// Its message.
    pub message: usize,
    /// Lines that were left out.
    pub lines: usize,
    /// Where its statements were read, if an answer of `spare read` showed them: `PATH:LINES@BYTES#CONTENT`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<String>,
}

/// Replaces the texts of all but the last `keep` tool results. Pictures, reasoning and calls stay; so does a text that is signed, or shorter than the line in its place.
///
/// # Errors
/// A run that cannot be read, or one that would break rules of its format or provider that it does not break.
pub fn mask_observations(
    text: &str,
    record: usize,
    keep: usize,
    format: Option<&str>,
) -> Result<(String, Receipt), Error> {
    let value = formats::parse(text)?;
    let known = formats::format_of(&value, format)?;
    let mut run = known.read(&value)?;
    for provider in provider::of(known, None)? {
        provider.freeze(&value, &mut run);
    }
    let (edits, masked) = edits(&run, keep);
    let (after, replaced) = formats::apply(text, &edits)?;
    if !replaced.is_empty() {
        let broken = |text: &str| -> Result<_, Error> {
            Ok(formats::check(&formats::parse(text)?, format, None)?.violations)
        };
        let violations = formats::worse(&broken(text)?, &broken(&after)?);
        if !violations.is_empty() {
            return Err(Error::Worse { violations });
        }
    }
    let receipt = Receipt {
        schema: 1,
        record,
        id: run.id.clone(),
        before: TextHash::of(text),
        after: TextHash::of(&after),
        replaced,
        masked,
        ..Receipt::default()
    };
    Ok((after, receipt))
}

fn edits(run: &Trajectory, keep: usize) -> (Vec<Edit>, Vec<MaskedReceipt>) {
    let results: Vec<usize> = run
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.role == Role::Tool)
        .map(|(at, _)| at)
        .collect();
    let old = results.len().saturating_sub(keep);
    let (mut edits, mut masked) = (Vec::new(), Vec::new());
    for message in results.into_iter().take(old) {
        let Some(said) = run.messages.get(message) else {
            continue;
        };
        for part in &said.parts {
            let Part::Text(shown) = part else {
                continue;
            };
            let Some(place) = shown.place.clone().filter(|_| shown.frozen.is_none()) else {
                continue;
            };
            let one = MaskedReceipt {
                message,
                lines: shown.text.lines().count(),
                anchors: anchors(&shown.text).into_iter().take(ANCHORS).collect(),
            };
            let line = line(&one);
            if shown.text.starts_with(HEAD) || line.len() >= shown.text.len() {
                continue;
            }
            edits.push(Edit::Text { place, text: line });
            masked.push(one);
        }
    }
    (edits, masked)
}

fn line(masked: &MaskedReceipt) -> String {
    let plural = if masked.lines == 1 { "" } else { "s" };
    let mut line = format!("{HEAD}{} line{plural} left out.", masked.lines);
    if !masked.anchors.is_empty() {
        line.push_str(" `spare read raw` shows again: ");
        line.push_str(&masked.anchors.join("; "));
    }
    line.push(']');
    line
}
