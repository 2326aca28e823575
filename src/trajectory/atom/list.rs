//! Where does a bracketed list of numbers end, and which numbers only count the items of a list?

use super::class::{char_at, char_before, is_boundary};
use super::run::{Run, RunKind, run_at};
use super::unit;

/// A list of numbers in brackets.
pub(super) struct List {
    /// One past the closing bracket.
    pub(super) end: usize,
    /// Numbers in it and in the lists within it.
    pub(super) numbers: usize,
}

/// Deeper nesting is no list of values; the limit keeps the recogniser linear on `[[[[`.
const MAX_DEPTH: usize = 3;

/// The list that begins at `at`: two or more numbers in one pair of brackets, parted by commas, semicolons or spaces.
pub(super) fn list_at(text: &str, at: usize) -> Option<List> {
    char_at(text, at).filter(|c| "[({".contains(*c))?;
    nested(text, at, MAX_DEPTH).filter(|list| list.numbers >= 2 && is_boundary(text, list.end))
}

fn nested(text: &str, at: usize, depth: usize) -> Option<List> {
    let close = match char_at(text, at)? {
        '[' => ']',
        '(' => ')',
        '{' => '}',
        _ => return None,
    };
    let mut at = at + 1;
    let mut numbers = 0;
    let mut parted = true;
    loop {
        let item = skip_space(text, at);
        parted |= item > at;
        at = item;
        let c = char_at(text, at)?;
        if c == close {
            return (numbers > 0).then_some(List {
                end: at + 1,
                numbers,
            });
        }
        if (c == ',' || c == ';') && numbers > 0 {
            at += 1;
            parted = true;
        } else if !parted {
            return None;
        } else if "[({".contains(c) {
            let inner = nested(text, at, depth.checked_sub(1)?)?;
            numbers += inner.numbers;
            at = inner.end;
            parted = false;
        } else {
            let run = run_at(text, at, false).filter(|r| r.kind == RunKind::Number)?;
            at = unit::number_end(text, &run);
            numbers += 1;
            parted = false;
        }
    }
}

fn skip_space(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    at + (rest.len() - rest.trim_start().len())
}

/// `text` with every list of numbers replaced by a space, those inside quotations too.
pub(crate) fn blank_lists(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = char_at(text, at) {
        match list_at(text, at) {
            Some(list) => {
                out.push(' ');
                at = list.end;
            }
            None => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
    out
}

/// `true` for the `2` of a line `2. Second`, if `1.` came before: it counts, it is no value.
pub(super) fn is_item_number(text: &str, run: &Run, next_item: &mut u32) -> bool {
    let Some(token) = text
        .get(run.start..run.end)
        .filter(|t| t.len() <= 3 && t.bytes().all(|b| b.is_ascii_digit()))
    else {
        return false;
    };
    let mut head = run.start;
    while let Some(c) = char_before(text, head).filter(|c| " \t#*>".contains(*c)) {
        head -= c.len_utf8();
        if run.start - head > 16 {
            return false;
        }
    }
    let opens = char_before(text, head).is_none_or(|c| c == '\n');
    let mut rest = text.get(run.end..).unwrap_or("").chars();
    let marked = matches!(rest.next(), Some('.' | ')')) && matches!(rest.next(), Some(' ' | '\t'));
    let says = || {
        rest.as_str()
            .split('\n')
            .next()
            .is_some_and(|line| !line.trim().is_empty())
    };
    let value = token.parse::<u32>().ok();
    let counts = value == Some(1) || value == Some(*next_item);
    let item = opens && marked && counts && says();
    if item {
        *next_item = value.map_or(1, |v| v + 1);
    }
    item
}
