//! Is a piece of evidence faithful to the segment it replaces?
//!
//! The rules (for lines of [`super::extract`] and of a model alike; labels and box notes are template and not read):
//! 1. every atom of a line occurs in the segment or in the call of its turn;
//! 2. every required atom ([`Source::required`]) occurs in a line;
//! 3. no line holds a superseded value, unless another mention of it is required;
//! 4. no line repeats a value of the call (of three bytes or more: shorter ones are often mere context);
//! 5. a box is followed by its order, unit and picture, or by what of them is not stated;
//! 6. a line is one line and says something.

use std::collections::HashSet;

use super::lines::Lines;
use super::{Line, Source, Standing, Texts, space};
use crate::trajectory::Haystack;
use crate::trajectory::atom::{Atom, AtomKind, atoms, canonical};

/// The labels a line may begin with.
const LABELS: [&str; 6] = ["Box: ", "List: ", "Text: ", "Code: ", "Number: ", "Name: "];

/// Values of the call of fewer bytes may stand in a line: often they are mere context.
const DISTINCT_BYTES: usize = 3;

/// Why a line or the lines together are not evidence. `line` counts from 0.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfaithful {
    /// A value that the segment and the call do not hold.
    #[error(
        "evidence line {line}: found value {value:?}, expected only values of the segment or its call"
    )]
    Invented {
        /// Line of the value.
        line: usize,
        /// The value.
        value: String,
    },
    /// A value that must stay and does not.
    #[error(
        "evidence: found no line with value {value:?} (bytes {start}..{end} of the segment), expected one"
    )]
    Missing {
        /// The value.
        value: String,
        /// Its first byte in the segment.
        start: usize,
        /// One past its last byte.
        end: usize,
    },
    /// A value that the summary corrects.
    #[error("evidence line {line}: found superseded value {value:?}, expected none")]
    Superseded {
        /// Line of the value.
        line: usize,
        /// The value.
        value: String,
    },
    /// A value that stands in the call of the same turn.
    #[error(
        "evidence line {line}: found value {value:?} of the call of the same turn, expected no repetition"
    )]
    Repeated {
        /// Line of the value.
        line: usize,
        /// The value.
        value: String,
    },
    /// A box without its order, unit and picture.
    #[error(
        "evidence line {line}: found box {value:?} without its reading, expected the line to end {expected:?}"
    )]
    Unread {
        /// Line of the box.
        line: usize,
        /// The box.
        value: String,
        /// The note that must follow.
        expected: String,
    },
    /// A line that is empty or has a line break.
    #[error("evidence line {line}: found {found:?}, expected one line of text")]
    NotALine {
        /// Its number.
        line: usize,
        /// Its text.
        found: String,
    },
}

/// Checks `lines` against the segment that they replace, by the rules at the head of this module.
///
/// # Errors
/// The first rule that is broken, with the value and its place.
pub fn check(source: &Source<'_>, lines: &[Line]) -> Result<(), Unfaithful> {
    let found = atoms(source.text);
    let (call, visible) = (Texts::of_call(source.call), Texts::of(source.visible));
    let call = Standing::of(&call);
    let required = source.required_beside(&found, &call, &Standing::of(&visible));
    let rules = Rules::new(source, &found, &required, &call);
    for (number, line) in lines.iter().enumerate() {
        rules.line(&line.text).map_err(|broken| broken.at(number))?;
    }
    let shown: Lines = lines.iter().map(|l| rules.variable(&l.text)).collect();
    for atom in required.iter().filter_map(|&i| found.get(i)) {
        let value = atom.text(source.text);
        if !shown.hold(value) {
            return Err(Unfaithful::Missing {
                value: value.to_owned(),
                start: atom.start,
                end: atom.end,
            });
        }
    }
    Ok(())
}

impl Unfaithful {
    fn at(mut self, number: usize) -> Self {
        match &mut self {
            Self::Invented { line, .. }
            | Self::Superseded { line, .. }
            | Self::Repeated { line, .. }
            | Self::Unread { line, .. }
            | Self::NotALine { line, .. } => *line = number,
            Self::Missing { .. } => {}
        }
        self
    }
}

/// What one line is held against.
pub(super) struct Rules<'a> {
    text: &'a str,
    own: Haystack<'a>,
    call: &'a Standing<'a>,
    /// Superseded values, without those that another mention requires.
    forbidden: HashSet<String>,
    /// How boxes are read.
    pub(super) note: String,
}

impl<'a> Rules<'a> {
    /// `found` are the atoms of the segment, `required` the indexes of those that must stay.
    pub(super) fn new(
        source: &Source<'a>,
        found: &[Atom],
        required: &[usize],
        call: &'a Standing<'a>,
    ) -> Self {
        let values = |indexes: &[usize]| -> HashSet<String> {
            let atoms = indexes.iter().filter_map(|&i| found.get(i));
            atoms.map(|a| canonical(a.text(source.text))).collect()
        };
        Self {
            text: source.text,
            own: Haystack::new(source.text),
            call,
            forbidden: &values(source.superseded) - &values(required),
            note: space::note(source.space.as_ref()),
        }
    }

    /// The rules that one line can break; the error counts it as line 0.
    pub(super) fn line(&self, text: &str) -> Result<(), Unfaithful> {
        let shown = self.variable(text);
        if shown.trim().is_empty() || text.contains(['\n', '\r']) {
            return Err(Unfaithful::NotALine {
                line: 0,
                found: text.to_owned(),
            });
        }
        let noted = text.trim_end().ends_with(&self.note);
        for atom in atoms(shown) {
            let value = atom.text(shown).to_owned();
            if !self.own.holds(&value) && !self.call.mentions(&value) {
                return Err(Unfaithful::Invented { line: 0, value });
            }
            if self.forbids(&value) {
                return Err(Unfaithful::Superseded { line: 0, value });
            }
            if self.repeats(&atom, &value) {
                return Err(Unfaithful::Repeated { line: 0, value });
            }
            if space::is_box(&atom, shown) && !noted {
                return Err(Unfaithful::Unread {
                    line: 0,
                    value,
                    expected: self.note.clone(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn variable<'l>(&self, text: &'l str) -> &'l str {
        variable(text, &self.note)
    }

    /// `true` for a value that no line may hold, if `atom` of the segment is not required itself.
    pub(super) fn bars(&self, atom: &Atom) -> bool {
        let value = atom.text(self.text);
        self.forbids(value) || self.repeats(atom, value)
    }

    fn forbids(&self, value: &str) -> bool {
        !self.forbidden.is_empty() && self.forbidden.contains(&canonical(value))
    }

    /// `true` for a value of the call that is distinct enough to be the same value.
    fn repeats(&self, atom: &Atom, value: &str) -> bool {
        (atom.kind == AtomKind::List || value.len() >= DISTINCT_BYTES)
            && self.call.holds(value, atom.kind)
    }
}

/// A line without its label and the note behind its boxes: what the segment must vouch for.
pub(super) fn variable<'l>(line: &'l str, note: &str) -> &'l str {
    let shown = LABELS
        .iter()
        .find_map(|label| line.strip_prefix(label))
        .unwrap_or(line);
    shown
        .trim_end()
        .strip_suffix(note)
        .map_or(shown, str::trim_end)
}

/// The label of a line that keeps values of these kinds; the flag says whether a list is a box.
pub(super) fn label(values: impl Iterator<Item = (AtomKind, bool)>) -> &'static str {
    let rank = |(kind, boxed): (AtomKind, bool)| match kind {
        AtomKind::List if boxed => 0,
        AtomKind::List => 1,
        AtomKind::Quoted => 2,
        AtomKind::Code => 3,
        AtomKind::Number => 4,
        AtomKind::Name => 5,
    };
    values
        .map(rank)
        .min()
        .and_then(|r| LABELS.get(r).copied())
        .unwrap_or("")
}
