//! What short text may stand where reasoning was removed, without a value lost or invented?
//!
//! [`extract`] picks the clauses of a segment that hold its values, word for word; [`check`] says whether lines,
//! extracted or written by a model, are faithful; [`render`] and [`is_evidence`] write and read the marks.
//! No model and no tensor: cost is linear in the segment times the number of its values.
//!
//! Source: SPARE (arXiv 2608.22963), visual evidence preservation; the exact rules are this project's, see [`check`].

mod check;
mod extract;
#[cfg(feature = "engine")]
mod generate;
mod mark;
mod piece;
mod space;
mod window;
mod word;

use std::ops::Range;

use crate::trajectory::atom::{self, Atom, AtomKind};

pub use check::{Unfaithful, check};
pub use extract::{Layout, extract, extract_within};
#[cfg(feature = "engine")]
pub use generate::MAX_EVIDENCE_TOKENS;
#[cfg(feature = "engine")]
pub(crate) use generate::generate;
pub(crate) use mark::own_words;
pub use mark::{HEADER, Mark, TASK_STATE, is_evidence, mark, render};
pub(crate) use piece::{clauses, sentences};
pub use space::{BoxOrder, BoxSpace, BoxUnit};

/// A segment and what decides which of its values must stay. Indexes count the atoms of `text` in order,
/// as [`atom::atoms`] gives them; those out of range are ignored.
#[derive(Clone, Debug, Default)]
pub struct Source<'a> {
    /// The segment.
    pub text: &'a str,
    /// Byte ranges in `text` of the tokens whose normalised divergence exceeds tau.
    pub sensitive: &'a [Range<usize>],
    /// Names and raw argument texts of the calls of the same turn, joined by line breaks.
    pub call: &'a str,
    /// Visible text of the same turn that stays in the history.
    pub visible: &'a str,
    /// Atoms that stand nowhere else in the history and must not be lost.
    pub only_here: &'a [usize],
    /// Atoms that the summary corrects: they are no evidence, even where sensitive.
    pub superseded: &'a [usize],
    /// How boxes of this turn are to be read, where its call says so.
    pub space: Option<BoxSpace>,
}

impl Source<'_> {
    /// The indexes in `atoms` that evidence must contain: touched by a sensitive token or standing nowhere else,
    /// and neither superseded nor in the call or the visible text of the same turn. `atoms` are those of `text`.
    #[must_use]
    pub fn required(&self, atoms: &[Atom]) -> Vec<usize> {
        let call = Standing::of_call(self.call);
        let visible = Standing::of(self.visible);
        let touched = |a: &Atom| {
            self.sensitive
                .iter()
                .any(|r| r.start < a.end && a.start < r.end)
        };
        let stays = |a: &Atom| {
            let value = a.text(self.text);
            call.holds(value, a.kind) || visible.holds(value, a.kind)
        };
        (atoms.iter().enumerate())
            .filter(|(i, a)| touched(a) || self.only_here.contains(i))
            .filter(|(i, a)| !self.superseded.contains(i) && !stays(a))
            .map(|(i, _)| i)
            .collect()
    }
}

/// A text in which values may stand already.
struct Standing {
    /// The text, and a second time with JSON escapes resolved where it has any.
    texts: Vec<String>,
    /// The same with bracketed lists blanked out: a number of a box is not the box's value.
    flat: Vec<String>,
}

impl Standing {
    fn of(text: &str) -> Self {
        Self::build(vec![text.to_owned()])
    }

    fn of_call(call: &str) -> Self {
        let mut texts = vec![call.to_owned()];
        if call.contains('\\') {
            texts.push(unescape(call));
        }
        Self::build(texts)
    }

    fn build(texts: Vec<String>) -> Self {
        let flat = texts.iter().map(|t| atom::blank_lists(t)).collect();
        Self { texts, flat }
    }

    /// `true` if the value stands here as a value of its own. A single character is too often a coincidence
    /// (a digit on a sign, an image index in the call): it does not count.
    fn holds(&self, value: &str, kind: AtomKind) -> bool {
        let texts = if kind == AtomKind::List {
            &self.texts
        } else {
            &self.flat
        };
        value.chars().nth(1).is_some() && texts.iter().any(|t| atom::occurs(t, value))
    }

    /// `true` if the value occurs at all.
    fn mentions(&self, value: &str) -> bool {
        self.texts.iter().any(|t| atom::occurs(t, value))
    }
}

/// JSON string escapes resolved, wherever they stand; what is no valid escape stays as it is.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let hex = |at: usize| {
            escape
                .get(at..at + 4)
                .and_then(|h| u16::from_str_radix(h, 16).ok())
        };
        let (c, length) = match escape.chars().next() {
            Some('n' | 'r' | 't') => (Some(' '), 1),
            Some(c @ ('"' | '\\' | '/')) => (Some(c), 1),
            Some('u') => {
                let units = [
                    hex(1),
                    escape
                        .get(5..7)
                        .filter(|u| *u == "\\u")
                        .and_then(|_| hex(7)),
                ];
                let pair = char::decode_utf16(units.into_iter().flatten())
                    .next()
                    .and_then(Result::ok);
                (
                    pair,
                    pair.map_or(0, |c| if c.len_utf16() == 2 { 11 } else { 5 }),
                )
            }
            _ => (None, 0),
        };
        out.push(c.unwrap_or('\\'));
        rest = escape.get(length..).unwrap_or("");
    }
    out.push_str(rest);
    out
}

/// One line of evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Line {
    /// The line as it stands in the history, without a line break.
    pub text: String,
    /// Where the value was read, for a reader of the original.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

/// The lines that replace one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Evidence {
    /// In the order of the segment; none where the segment holds nothing that must stay.
    pub lines: Vec<Line>,
}

impl Evidence {
    /// `true` if there is nothing to keep.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Lines written by a model: blank lines, a header line and list bullets dropped, the rest untouched.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let bullet = |line: &str| {
            ["- ", "* ", "• "]
                .iter()
                .find_map(|b| line.strip_prefix(b))
                .map(str::to_owned)
        };
        let lines = (text.lines().map(str::trim))
            .filter(|line| !line.is_empty() && is_evidence(line).is_none())
            .map(|line| Line {
                text: bullet(line).unwrap_or_else(|| line.to_owned()),
                anchor: None,
            })
            .collect();
        Self { lines }
    }

    /// The lines joined by line breaks, without a header.
    #[must_use]
    pub fn body(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().map(|l| l.text.as_str()).collect();
        lines.join("\n")
    }
}
