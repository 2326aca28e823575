//! `spare read verify PATH --receipt FILE`: are the values that pruning kept still where they were read?

use std::fmt::Write as _;
use std::path::Path;

use spare_read::{Anchor, Session, Verdict};

use crate::Error;
use crate::evidence::Line;
use crate::plan::Receipt;
use crate::trajectory::atoms;

/// What became of the lines of a receipt.
pub(super) struct Checked {
    /// A line of text for each, or JSON.
    pub text: String,
    /// Whether every value still stands at its anchor, and every anchor of a masked result still fetches what it did.
    pub all: bool,
}

/// Loads the bytes of every anchored line of evidence again and looks for its values.
pub(super) fn verify(session: &Session, file: &Path, json: bool) -> Result<Checked, Error> {
    let text = std::fs::read_to_string(file).map_err(|source| Error::Io {
        path: file.to_owned(),
        action: "read",
        source,
    })?;
    let mut out = Checked {
        text: String::new(),
        all: true,
    };
    for (at, record) in text.lines().enumerate() {
        let receipt: Receipt = serde_json::from_str(record).map_err(|error| {
            Error::Read(spare_read::Error::Malformed {
                path: file.to_owned(),
                line: at as u64 + 1,
                found: error.to_string(),
                expected: "the receipt of a record",
            })
        })?;
        let segments = receipt.events.iter().flat_map(|event| &event.segments);
        for line in segments.flat_map(|segment| &segment.evidence) {
            let Some(anchor) = &line.anchor else {
                continue;
            };
            let verdict = holds(session, line, anchor)?;
            out.add(json, receipt.record, &line.text, anchor, verdict);
        }
        for one in &receipt.masked {
            for anchor in &one.anchors {
                let verdict = session.verify(&anchor.parse()?, "")?.verdict;
                let what = format!("tool result of message {}", one.message);
                out.add(json, receipt.record, &what, anchor, verdict);
            }
        }
    }
    Ok(out)
}

impl Checked {
    fn add(&mut self, json: bool, record: usize, line: &str, anchor: &str, verdict: Verdict) {
        self.all &= verdict == Verdict::Supported;
        let _ = if json {
            let value = serde_json::json!({"record": record, "line": line, "anchor": anchor, "verdict": verdict});
            writeln!(self.text, "{value}")
        } else {
            let word = super::read::json_word(&verdict);
            writeln!(self.text, "{word}: {line}  {anchor}")
        };
    }
}

/// The worst verdict over the values of a line.
fn holds(session: &Session, line: &Line, anchor: &str) -> Result<Verdict, Error> {
    let anchor: Anchor = anchor.parse()?;
    for atom in atoms(&line.text) {
        let value = atom.text(&line.text).trim_matches(['"', '“', '”']);
        let found = session.verify(&anchor, value)?;
        if found.verdict != Verdict::Supported {
            return Ok(found.verdict);
        }
    }
    Ok(Verdict::Supported)
}
