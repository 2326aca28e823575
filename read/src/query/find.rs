//! How a term is spelled, and whether letters that look like it are one and not a part of something else.

use super::{Form, Term, is_unspaced, stem};

/// The letters to search for; ASCII letters match in both cases anyway.
pub(super) fn spellings(term: &Term) -> Vec<String> {
    let cased = |text: &str| {
        let mut all = vec![text.to_owned()];
        if !text.is_ascii() {
            let mut letters = text.chars();
            let title: String = letters
                .next()
                .into_iter()
                .flat_map(char::to_uppercase)
                .chain(letters)
                .collect();
            all.extend([title, text.to_uppercase()]);
            all.dedup();
        }
        all
    };
    match &term.form {
        Form::Word(text, _) | Form::Literal(text) | Form::Free(text) => cased(text),
        Form::Joined(words) => {
            let joined = ["", " ", "_", "-", "."]
                .iter()
                .map(|joint| words.join(joint));
            joined
                .chain([term.text.to_lowercase()])
                .flat_map(|text| cased(&text))
                .collect()
        }
    }
}

/// Whether the letters at a place are the term and not a part of something else.
pub(super) fn stands(form: &Form, text: &str, start: usize, end: usize) -> bool {
    let (Some(before), Some(found), Some(after)) =
        (text.get(..start), text.get(start..end), text.get(end..))
    else {
        return false;
    };
    match form {
        Form::Free(_) => true,
        Form::Word(_, forms) => {
            let rest_before = word_before(before, found);
            let rest_after = word_after(found, after);
            stem::is_form(
                *forms,
                found.chars().count(),
                rest_before,
                &rest_after.to_lowercase(),
            )
        }
        Form::Joined(_) => {
            word_before(before, found).is_empty() && matches!(word_after(found, after), "" | "s")
        }
        Form::Literal(_) => {
            let edge = |inner: Option<char>, outer: Option<char>| match (inner, outer) {
                (Some(inner), Some(outer)) => {
                    !inner.is_alphanumeric()
                        || !outer.is_alphanumeric()
                        || is_unspaced(inner) != is_unspaced(outer)
                        || (is_unspaced(inner) && is_unspaced(outer))
                }
                _ => true,
            };
            // A number is not a part of a longer one: neither 3.2 of 3.2.1 nor 12 of 12,500.
            let number = found
                .chars()
                .all(|letter| letter.is_numeric() || matches!(letter, '.' | ','));
            let decimal = |point: Option<char>, next: Option<char>, inner: Option<char>| {
                inner.is_some_and(char::is_numeric)
                    && next.is_some_and(char::is_numeric)
                    && (point == Some('.') || (number && point == Some(',')))
            };
            let (mut back, mut forth) = (before.chars().rev(), after.chars());
            let (previous, next) = ([back.next(), back.next()], [forth.next(), forth.next()]);
            let (first, last) = (found.chars().next(), found.chars().next_back());
            edge(first, previous[0])
                && edge(last, next[0])
                && !decimal(previous[0], previous[1], first)
                && !decimal(next[0], next[1], last)
        }
    }
}

/// The letters of the same word before a match; none behind a hump of `camelCase`.
fn word_before<'a>(before: &'a str, found: &str) -> &'a str {
    let upper = found.chars().next().is_some_and(char::is_uppercase);
    let mut start = before.len();
    for (at, letter) in before.char_indices().rev().take(8) {
        if !letter.is_alphanumeric()
            || is_unspaced(letter)
            || (start == before.len() && upper && !letter.is_uppercase())
        {
            break;
        }
        start = at;
    }
    before.get(start..).unwrap_or_default()
}

/// The letters of the same word behind a match; none where a hump begins.
fn word_after<'a>(found: &str, after: &'a str) -> &'a str {
    let mut lower = found
        .chars()
        .next_back()
        .is_some_and(|letter| !letter.is_uppercase());
    let mut end = 0;
    for (at, letter) in after.char_indices().take(8) {
        if !letter.is_alphanumeric() || is_unspaced(letter) || (letter.is_uppercase() && lower) {
            break;
        }
        lower = letter.is_lowercase();
        end = at + letter.len_utf8();
    }
    after.get(..end).unwrap_or_default()
}
