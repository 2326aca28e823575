//! What short text may stand where reasoning was removed, without a value lost or invented?
//!
//! [`extract`] picks the clauses of a segment that hold its values, word for word; [`check`] says whether lines,
//! extracted or written by a model, are faithful; [`render`] and [`is_evidence`] write and read the marks.
//! No model and no tensor: cost is near linear in the segment and its call.
//!
//! Source: SPARE (arXiv 2608.22963), visual evidence preservation; the exact rules are this project's, see [`check`].

mod anchor;
mod check;
mod extract;
#[cfg(feature = "engine")]
mod generate;
mod lines;
mod mark;
mod piece;
mod space;
mod window;
mod word;

use std::collections::HashSet;
use std::ops::Range;

use crate::trajectory::Haystack;
use crate::trajectory::atom::{self, Atom, AtomKind};

pub use anchor::{Anchored, anchored, anchors, fill};
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
        let (call, visible) = (Texts::of_call(self.call), Texts::of(self.visible));
        self.required_beside(atoms, &Standing::of(&call), &Standing::of(&visible))
    }

    /// [`Source::required`] with the texts of the same turn read already.
    fn required_beside(
        &self,
        atoms: &[Atom],
        call: &Standing<'_>,
        visible: &Standing<'_>,
    ) -> Vec<usize> {
        let touched = Touched::by(self.sensitive);
        let only_here: HashSet<usize> = self.only_here.iter().copied().collect();
        let superseded: HashSet<usize> = self.superseded.iter().copied().collect();
        let stays = |a: &Atom| {
            let value = a.text(self.text);
            call.holds(value, a.kind) || visible.holds(value, a.kind)
        };
        (atoms.iter().enumerate())
            .filter(|(i, a)| touched.meets(a) || only_here.contains(i))
            .filter(|(i, a)| !superseded.contains(i) && !stays(a))
            .map(|(i, _)| i)
            .collect()
    }
}

/// Ranges that are asked whether one of them meets an atom.
struct Touched {
    /// Their starts, sorted, each with the furthest end up to it.
    ranges: Vec<(usize, usize)>,
}

impl Touched {
    fn by(ranges: &[Range<usize>]) -> Self {
        let mut ranges: Vec<_> = ranges.iter().map(|r| (r.start, r.end)).collect();
        ranges.sort_unstable();
        let mut furthest = 0;
        for (_, end) in &mut ranges {
            furthest = furthest.max(*end);
            *end = furthest;
        }
        Self { ranges }
    }

    fn meets(&self, atom: &Atom) -> bool {
        let before = self.ranges.partition_point(|(start, _)| *start < atom.end);
        let last = before.checked_sub(1).and_then(|at| self.ranges.get(at));
        last.is_some_and(|(_, end)| atom.start < *end)
    }
}

/// A text in which values may stand already.
struct Texts {
    /// The text, and a second time with JSON escapes resolved where it has any.
    plain: Vec<String>,
    /// The same with bracketed lists blanked out: a number of a box is not the box's value.
    flat: Vec<String>,
}

impl Texts {
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

    fn build(plain: Vec<String>) -> Self {
        let flat = plain.iter().map(|t| atom::blank_lists(t)).collect();
        Self { plain, flat }
    }
}

/// [`Texts`], indexed.
struct Standing<'t> {
    plain: Vec<Haystack<'t>>,
    flat: Vec<Haystack<'t>>,
}

impl<'t> Standing<'t> {
    fn of(texts: &'t Texts) -> Self {
        let index = |texts: &'t [String]| texts.iter().map(|t| Haystack::new(t)).collect();
        Self {
            plain: index(&texts.plain),
            flat: index(&texts.flat),
        }
    }

    /// `true` if the value stands here as a value of its own. A single character is too often a coincidence
    /// (a digit on a sign, an image index in the call): it does not count.
    fn holds(&self, value: &str, kind: AtomKind) -> bool {
        let texts = if kind == AtomKind::List {
            &self.plain
        } else {
            &self.flat
        };
        value.chars().nth(1).is_some() && texts.iter().any(|t| t.holds(value))
    }

    /// `true` if the value occurs at all.
    fn mentions(&self, value: &str) -> bool {
        self.plain.iter().any(|t| t.holds(value))
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
    /// Where the value was read, if an answer of `spare read` showed it: [`fill`] says, and `spare read raw` fetches the bytes again.
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
