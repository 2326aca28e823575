//! Which capitalised words in a row are one name, and which only open a sentence?

use super::AtomKind;
use super::class::{char_at, char_before, is_digit, is_letter, is_word};
use super::run::{Run, RunKind, run_at};

/// Words that are capitalised because a sentence begins, in lower case.
const OPENERS: &str = "\
    a about according after all also although an and another are as at based because before \
    below besides both but by can could did do does each either even every field finally \
    first for from given had has have he her here his how however if in into is it its last \
    let like looking maybe my near neither next no not note now of oh ok okay on once one \
    only or our out over perhaps please second she should since so some still such than that \
    the their then there therefore these they third this those though through thus to two \
    under until up upon wait was we well were what when where whether which while who why \
    will with would yes yet you your";

/// What the run and the capitalised words after it are.
pub(super) struct Chain {
    /// Kind and first byte, if they are an atom.
    pub(super) atom: Option<(AtomKind, usize)>,
    /// One past the last byte.
    pub(super) end: usize,
}

/// The run `first` with the capitalised words that follow it in a row.
pub(super) fn chain_at(text: &str, first: Run) -> Chain {
    let alone = |run: &Run| (run.kind == RunKind::Code).then_some((AtomKind::Code, run.start));
    if !is_member(text, &first) {
        return Chain {
            atom: alone(&first),
            end: first.end,
        };
    }
    let mut members = vec![first];
    let mut end = first.end;
    while let Some(next) = link_end(text, end).and_then(|at| run_at(text, at, true)) {
        if !is_member(text, &next) {
            break;
        }
        end = next.end;
        members.push(next);
    }
    let opens = opens_sentence(text, first.start);
    let dropped = members
        .iter()
        .take_while(|run| opens && is_opener(text, run))
        .count();
    let kept = members.get(dropped..).unwrap_or(&[]);
    let atom = match kept {
        [] => None,
        [one] => alone(one),
        [head, ..] if kept.iter().any(|r| r.kind == RunKind::Code) => {
            Some((AtomKind::Code, head.start))
        }
        [head, ..] => Some((AtomKind::Name, head.start)),
    };
    Chain { atom, end }
}

/// A capitalised word, or a token of capitals and digits (`4QY`); never `I`, a path or an identifier.
fn is_member(text: &str, run: &Run) -> bool {
    let token = text.get(run.start..run.end).unwrap_or("");
    let stem = token.split(['\'', '’']).next().unwrap_or("");
    let capital = token
        .chars()
        .next()
        .is_some_and(|c| c.is_uppercase() && is_letter(c));
    let plate = token
        .chars()
        .all(|c| is_digit(c) || (is_letter(c) && c.is_uppercase()));
    run.kind != RunKind::Number
        && (capital || plate)
        && (stem != "I" || token.starts_with("I-"))
        && !token.contains(['/', '_', '#', ':', '\\', '@'])
        && !(run.kind == RunKind::Code && token.contains('.'))
}

fn is_opener(text: &str, run: &Run) -> bool {
    let token = text.get(run.start..run.end).unwrap_or("");
    run.kind == RunKind::Word
        && OPENERS
            .split(' ')
            .any(|o| token.len() == o.len() && token.eq_ignore_ascii_case(o))
}

/// Where the next word of a name may begin after one that ends at `at`: one space, ` & `, or `'s `.
fn link_end(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let rest = ["'s", "’s", "'S", "’S"]
        .iter()
        .find_map(|p| rest.strip_prefix(p))
        .unwrap_or(rest);
    let after = rest
        .strip_prefix(" & ")
        .or_else(|| rest.strip_prefix([' ', '\u{A0}']))?;
    after.starts_with(is_word).then(|| text.len() - after.len())
}

/// `true` at the start of the text or a line and after the end of a sentence, quotes and list marks skipped.
fn opens_sentence(text: &str, at: usize) -> bool {
    let mut head = at;
    while let Some(c) = char_before(text, head) {
        match c {
            '\n' | '.' | '!' | '?' | ':' | ';' | '…' | '。' | '！' | '？' | '：' => {
                return true;
            }
            ' ' | '\t' | '*' | '_' | '#' | '>' | '-' | '•' | '"' | '\'' | '(' | '[' | '“' | '‘' => {
                head -= c.len_utf8()
            }
            _ => return false,
        }
        if at - head > 16 {
            return false;
        }
    }
    char_at(text, 0).is_some()
}
