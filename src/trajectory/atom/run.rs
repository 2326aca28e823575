//! Where does an unbroken token begin and end, and is it a number, a code or a word?
//!
//! A run is the smallest thing that is never cut: word characters and the joiners between them
//! (`1.5e-4`, `AX-00731-Q`, `C:\Users\x`, `don't`), no whitespace. Both the recogniser and the border test of
//! [`super::occurs`] read runs with this one function, so what is an atom here is found there.

use super::class::{
    char_at, char_before, grapheme_end, is_boundary, is_digit, is_letter, is_mark, is_word,
};
use super::unit;

/// What a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunKind {
    /// Digits, their joiners, sign, currency, exponent and glued unit.
    Number,
    /// A letter and a digit, or one of the marks of paths and identifiers.
    Code,
    /// Anything else.
    Word,
}

/// An unbroken token as a byte range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) kind: RunKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The signs a number may carry; the dash counts only after a space or an opening bracket.
const SIGNS: &str = "+-−–";

/// The run that begins exactly at `at`, where `at` is not inside another run. `commas` says whether a comma
/// between two digits joins them (`1,234`), which it does not inside a list (`[574,301]`).
pub(super) fn run_at(text: &str, at: usize, commas: bool) -> Option<Run> {
    if let Some(end) = url_end(text, at) {
        return Some(Run {
            kind: RunKind::Code,
            start: at,
            end,
        });
    }
    if !is_boundary(text, at) || char_at(text, at).is_some_and(is_mark) {
        return None; // a mark that belongs to the character before, or would if there were one
    }
    let body = prefix_end(text, at);
    char_at(text, body).filter(|&c| is_word(c))?;
    let end = body_end(text, body, commas);
    let end = unit::glued_symbol_end(text, at, end);
    let end = grapheme_end(text, end);
    let token = text.get(at..end)?;
    Some(Run {
        kind: kind(token),
        start: at,
        end,
    })
}

fn kind(token: &str) -> RunKind {
    if unit::is_number(token) {
        return RunKind::Number;
    }
    let letters = token.chars().any(is_letter);
    let digits = token.chars().any(is_digit);
    let inner = token.trim_matches('_');
    // `_word_` is emphasis and `____` a blank to fill in; `__init__` and `_hidden` are names
    let emphasis = token.starts_with('_') && token.ends_with('_') && !token.starts_with("__");
    let marked =
        inner.contains(['/', '_', '#', ':', '\\', '@']) || (inner.len() < token.len() && !emphasis);
    if (letters && digits) || (marked && (letters || digits)) || is_file_name(inner) {
        RunKind::Code
    } else {
        RunKind::Word
    }
}

/// `report.pdf`, `example.com`: the last part is a short lower-case suffix, the part before has two letters.
fn is_file_name(token: &str) -> bool {
    let Some((stem, suffix)) = token.rsplit_once('.') else {
        return false;
    };
    (2..=5).contains(&suffix.len())
        && suffix.chars().all(|c| c.is_ascii_lowercase())
        && stem
            .chars()
            .rev()
            .take_while(|&c| c != '.')
            .filter(|&c| is_word(c))
            .count()
            >= 2
}

/// Where the word characters of a run begin that starts at `at` with a sign, a currency, `.5`, `#tag` or a path.
fn prefix_end(text: &str, at: usize) -> usize {
    let before = char_before(text, at);
    let starts_number = |from: usize| {
        let from = char_at(text, from)
            .filter(|&c| unit::is_currency(c))
            .map_or(from, |c| from + c.len_utf8());
        let from = if char_at(text, from) == Some('.') {
            from + 1
        } else {
            from
        };
        char_at(text, from).is_some_and(is_digit).then_some(from)
    };
    let Some(c) = char_at(text, at) else {
        return at;
    };
    let next = at + c.len_utf8();
    if SIGNS.contains(c) {
        let free = match before {
            None => true,
            Some(b) if c == '–' => b.is_whitespace() || "([{".contains(b),
            Some(b) => !is_word(b) && !")]}.%°".contains(b) && !SIGNS.contains(b),
        };
        return starts_number(next).filter(|_| free).unwrap_or(at);
    }
    let after_word = before.is_some_and(|b| is_word(b) || b == c);
    match c {
        _ if unit::is_currency(c) => starts_number(at).unwrap_or(at),
        '.' if !after_word && char_at(text, next).is_some_and(is_digit) => next,
        '#' if !after_word && char_at(text, next).is_some_and(is_word) => next,
        '/' | '.' | '~' if !after_word && before != Some('<') => path_prefix_end(text, at),
        _ => at,
    }
}

/// `/`, `./`, `../` or `~/` before a word character, else `at`.
fn path_prefix_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    let length = ["/.", "./", "../", "~/.", "~/", "/"]
        .iter()
        .filter(|p| {
            rest.strip_prefix(**p)
                .and_then(|r| r.chars().next())
                .is_some_and(is_word)
        })
        .map(|p| p.len())
        .max();
    at + length.unwrap_or(0)
}

/// The end of the word characters and joiners from `at` on.
fn body_end(text: &str, body: usize, commas: bool) -> usize {
    let mut at = body;
    let mut last = None; // the last word character
    while let Some(c) = char_at(text, at) {
        let next = at + c.len_utf8();
        if is_word(c) {
            last = Some(c);
            at = next;
        } else if !is_boundary(text, at) {
            at = next; // an accent or a joiner of emoji belongs to what it follows
        } else if let Some(joined) = joiner_end(text, at, c, last, commas) {
            at = joined;
        } else if c == '/' && text.get(body..at).is_some_and(|t| t.contains('/')) {
            at = next; // a folder's closing slash
            break;
        } else {
            break;
        }
    }
    at
}

/// Where the next word character stands if `c` at `at` joins it to `last`.
fn joiner_end(text: &str, at: usize, c: char, last: Option<char>, commas: bool) -> Option<usize> {
    let last = last?;
    let next = at + c.len_utf8();
    let after = char_at(text, next);
    let word = after.is_some_and(is_word);
    let digits = is_digit(last) && after.is_some_and(is_digit);
    match c {
        '.' if word => {
            // "carries 9.The next": a missing space, not a file name
            let mut rest = text.get(next..)?.chars();
            let opens = rest.next().is_some_and(char::is_uppercase)
                && rest.next().is_some_and(char::is_lowercase);
            (!opens || last.is_uppercase()).then_some(next)
        }
        ',' => (commas && digits).then_some(next),
        '\'' | '’' if word => {
            let rest = text.get(next..)?;
            let possessive =
                rest.starts_with(['s', 'S']) && !rest.chars().nth(1).is_some_and(is_word);
            (!possessive).then_some(next)
        }
        '-' | '\u{2011}' | '/' | ':' | '\\' | '@' | '#' if word => Some(next),
        '#' if is_letter(last) => Some(next),
        '&' => (is_letter(last) && after.is_some_and(is_letter)).then_some(next),
        '−' | '–' | '×' | '±' | '°' | '⁻' => digits.then_some(next),
        '^' => match after {
            Some(sign) if "+-−".contains(sign) => {
                let power = next + sign.len_utf8();
                char_at(text, power).is_some_and(is_digit).then_some(power)
            }
            _ => after.is_some_and(is_digit).then_some(next),
        },
        '+' if matches!(last, 'e' | 'E') => after.is_some_and(is_digit).then_some(next),
        '+' if is_letter(last) && after == Some('+') => Some(next + 1), // C++
        '/' | ':' | '.' | '\\' => marks_end(text, at),
        _ => None,
    }
}

/// `::`, `/../`, `:\\`: up to four marks of a path before a word character.
fn marks_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let length: usize = rest
        .chars()
        .take(5)
        .take_while(|c| "/:.\\".contains(*c))
        .map(char::len_utf8)
        .sum();
    let marks = rest.get(..length)?;
    let path = marks.contains(['/', '\\']) || marks == "::";
    (length <= 4 && path && rest.get(length..)?.chars().next().is_some_and(is_word))
        .then_some(at + length)
}

/// The end of a URL that begins at `at`: up to a space, a quote or an angle bracket, less closing punctuation.
fn url_end(text: &str, at: usize) -> Option<usize> {
    char_at(text, at).filter(char::is_ascii_alphabetic)?;
    let rest = text.get(at..)?;
    let scheme = rest
        .bytes()
        .take(16)
        .take_while(|b| b.is_ascii_alphanumeric() || b"+.-".contains(b))
        .count();
    let address = rest.get(scheme..)?.strip_prefix("://")?;
    let stop =
        |c: char| c.is_whitespace() || "\"'`<>“”‘’\\".contains(c) || (!c.is_ascii() && !is_word(c));
    let body = address.split(stop).next()?;
    let body = body.trim_end_matches(|c| ".,;:!?*|".contains(c));
    let closing = |open: char, close: char| body.ends_with(close) && !body.contains(open);
    let body = if closing('(', ')') || closing('[', ']') || closing('{', '}') {
        body.trim_end_matches([')', ']', '}', '.', ',', ';', ':', '!', '?', '*'])
    } else {
        body
    };
    (!body.is_empty()).then(|| grapheme_end(text, at + scheme + 3 + body.len()))
}
