//! Does a value stand in a text, whole?

use super::class::{char_at, char_before, is_boundary, is_digit, is_word};
use super::quote;
use super::run::run_at;

/// How far back a token is looked for around a border; longer tokens are machine text.
const LOOK_BACK: usize = 512;

/// `true` if `atom` stands in `haystack` verbatim and at token borders.
///
/// - Numbers count with sign, decimals, currency and glued unit: `8` is not found in `88`, `8.5` or `v8`, `12.5`
///   not in `12.50`, `5` not in `-5`, `+5`, `$5` or `5%`, `14` not in `2026-08-14`. A unit after a space is a token of
///   its own: `5` is found in `5 m`, `5 m` is not found in `5`.
/// - A quoted atom is compared by its content: `'Stop'` is found in `"Stop"` and in a bare `Stop`, not in `Stops`.
/// - A list is compared with its brackets; spaces inside do not matter: `[1,2]` is found in `[1, 2]`, not in `(1, 2)`
///   nor in `[0, 1, 2]`.
/// - Elsewhere any run of whitespace equals any other. Letters count with their case.
///
/// Whatever [`super::atoms`] finds in a text occurs in that text.
#[must_use]
pub fn occurs(haystack: &str, atom: &str) -> bool {
    match Needle::of(atom) {
        None => false,
        Some(Needle::List(list)) => squeeze(haystack).contains(&squeeze(list)),
        Some(Needle::Words { first, rest }) => haystack
            .match_indices(first)
            .any(|(start, _)| stands_at(haystack, start, first, rest)),
    }
}

/// What is looked for.
pub(super) enum Needle<'a> {
    /// A bracketed list, compared without its spaces.
    List(&'a str),
    /// The first word, and what follows it.
    Words { first: &'a str, rest: &'a str },
}

impl<'a> Needle<'a> {
    /// None where there is nothing to look for.
    pub(super) fn of(atom: &'a str) -> Option<Self> {
        let needle = quote::inner(atom.trim()).trim();
        let bracketed = needle.starts_with(['[', '(', '{']) && needle.ends_with([']', ')', '}']);
        if bracketed && needle.contains(is_digit) {
            return Some(Needle::List(needle));
        }
        let first = needle.split_whitespace().next()?;
        let rest = needle.get(first.len()..)?;
        Some(Needle::Words { first, rest })
    }
}

/// One spelling for all that [`occurs`] takes for the same value: without quotes, spaces as they do not matter.
pub(crate) fn canonical(value: &str) -> String {
    match Needle::of(value) {
        None => String::new(),
        Some(Needle::List(list)) => squeeze(list),
        Some(Needle::Words { first, rest }) => {
            let words: Vec<&str> = std::iter::once(first)
                .chain(rest.split_whitespace())
                .collect();
            words.join(" ")
        }
    }
}

/// `true` if the words stand at byte `start`, with token borders around them.
pub(super) fn stands_at(haystack: &str, start: usize, first: &str, rest: &str) -> bool {
    if !haystack.get(start..).is_some_and(|t| t.starts_with(first)) {
        return false;
    }
    let mut end = start + first.len();
    for word in rest.split_whitespace() {
        let rest = haystack.get(end..).unwrap_or("");
        let next = rest.trim_start();
        if next.len() == rest.len() || !next.starts_with(word) {
            return false;
        }
        end = haystack.len() - next.len() + word.len();
    }
    is_border(haystack, start) && is_border(haystack, end)
}

/// Whitespace removed next to anything but word characters, else one space.
pub(super) fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for c in text.chars() {
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if space && is_word(c) && out.ends_with(is_word) {
            out.push(' ');
        }
        space = false;
        out.push(c);
    }
    out
}

/// `true` if no token and no grapheme cluster goes across byte `at`.
fn is_border(text: &str, at: usize) -> bool {
    let (Some(before), Some(after)) = (char_before(text, at), char_at(text, at)) else {
        return true;
    };
    if before.is_whitespace() || after.is_whitespace() {
        return is_boundary(text, at);
    }
    // a closing quote, an inch or a possessive ends the value; 5'10 goes on
    if "\"'’".contains(after) && !char_at(text, at + after.len_utf8()).is_some_and(is_digit) {
        return true;
    }
    let far = text.floor_char_boundary(at.saturating_sub(LOOK_BACK));
    let near = text.get(far..at).unwrap_or("");
    let mut from = near
        .rfind(char::is_whitespace)
        .map_or(far, |space| far + space);
    while from < at {
        match run_at(text, from, true) {
            Some(run) if run.end > at => return false,
            Some(run) => from = run.end,
            None => from += char_at(text, from).map_or(1, char::len_utf8),
        }
    }
    is_boundary(text, at)
}
