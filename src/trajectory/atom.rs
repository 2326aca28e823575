//! Which pieces of a text are exact values that must survive whole or not at all?
//!
//! An atom is a maximal match of one of the five kinds of [`AtomKind`]. The recogniser is one pass over the
//! text with bounded look-ahead: `O(n)` time, no allocation but the result. It reads characters, not tokens,
//! and never cuts a grapheme cluster.
//!
//! Decisions where a definition leaves room:
//! - digits joined by `. , : / - × ^` without a space are one number (`2026-08-14`, `12:30`, `3/8`, `40-45`,
//!   `1,234.5`): the parts of a date are no values of their own, so `14` is not found in it;
//! - a unit belongs to its number, glued (`10px`) or after one space (`90 deg`), but the inch `in` only glued;
//! - a capitalised function word that opens a sentence belongs to no name (`The Hop Inn` gives `Hop Inn`,
//!   `The building` nothing);
//! - a number that counts the items of a list (`1.`, `2.` at line starts) is no value;
//! - a quoted string ends on its own line and is at most 300 bytes; outer quotes win over inner ones;
//! - scripts written without spaces (Han, Kana, Hangul) separate tokens as punctuation does.
//!
//! Source: the atom definition of the SPARE method's faithfulness rule, widened by file names
//! (`report.pdf`), e-mail addresses, and plates and postcodes of two tokens (`BW14 WDZ`).

mod class;
mod haystack;
mod list;
mod name;
mod occurs;
mod quote;
mod run;
mod unit;

pub(crate) use class::{is_boundary, is_unspaced};
pub(crate) use haystack::{Haystack, ascii_runs};
pub(crate) use list::blank_lists;
pub(crate) use occurs::canonical;
pub use occurs::occurs;

use run::{RunKind, run_at};

/// What an atom is. Kinds choose a label; faithfulness treats all alike.
#[non_exhaustive]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum AtomKind {
    /// Two or more numbers in brackets: `[118, 64, 402, 92]`, `(1400, 900)`.
    List,
    /// A number with its sign, decimals, exponent, currency and unit; a date, a time, a fraction, a range.
    #[default]
    Number,
    /// A string in quotes or backticks; the range includes the quotes.
    Quoted,
    /// A token with a letter and a digit, or with one of `/ _ # : @`; a URL, a path, a file name.
    Code,
    /// Two or more capitalised words in a row.
    Name,
}

/// One value in a text, as a byte range on character borders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Atom {
    /// What it is.
    pub kind: AtomKind,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Atom {
    /// The atom's own text; empty if `text` is not the text it was found in and the range does not fit.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// How many numbers a list holds, brackets within brackets included; 0 for other kinds.
    #[must_use]
    pub fn list_len(&self, text: &str) -> usize {
        match self.kind {
            AtomKind::List => list::list_at(text, self.start).map_or(0, |found| found.numbers),
            _ => 0,
        }
    }
}

/// All atoms of `text`: maximal, in order, without overlap.
#[must_use]
pub fn atoms(text: &str) -> Vec<Atom> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut next_item = 1; // what the next list item would be numbered
    while let Some(c) = class::char_at(text, at) {
        let atom = |kind, start, end| Atom { kind, start, end };
        if let Some(end) = quote::quote_at(text, at) {
            found.push(atom(AtomKind::Quoted, at, end));
            at = end;
        } else if let Some(list) = list::list_at(text, at) {
            found.push(atom(AtomKind::List, at, list.end));
            at = list.end;
        } else if let Some(run) = run_at(text, at, true) {
            match run.kind {
                RunKind::Number => {
                    if list::is_item_number(text, &run, &mut next_item) {
                        at = run.end;
                        continue;
                    }
                    at = unit::number_end(text, &run);
                    found.push(atom(AtomKind::Number, run.start, at));
                }
                RunKind::Code | RunKind::Word => {
                    let chain = name::chain_at(text, run);
                    if let Some((kind, start)) = chain.atom {
                        found.push(atom(kind, start, chain.end));
                    }
                    at = chain.end;
                }
            }
        } else {
            at += c.len_utf8();
        }
    }
    found
}
