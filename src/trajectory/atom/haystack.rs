//! Which of many values stand in one long text? The same answers as [`occurs`](super::occurs()), without reading the text for each.
//!
//! An index of its runs of ASCII letters and digits: two such characters side by side are never parted by a token border, so a
//! value stands only where each of its runs is a whole run of the text.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::occurs::{Needle, squeeze, stands_at};

/// A text, indexed.
pub(crate) struct Haystack<'t> {
    text: &'t str,
    /// Where each run begins.
    runs: HashMap<&'t str, Vec<usize>>,
    /// The text as lists are compared.
    squeezed: OnceCell<Squeezed>,
}

/// A text without the spaces that do not matter in lists, and where each of its runs begins.
struct Squeezed {
    text: String,
    runs: HashMap<String, Vec<usize>>,
}

impl Squeezed {
    fn of(text: &str) -> Self {
        let text = squeeze(text);
        let mut runs: HashMap<String, Vec<usize>> = HashMap::new();
        for range in ascii_runs(&text) {
            let run = text.get(range.clone()).unwrap_or_default();
            match runs.get_mut(run) {
                Some(places) => places.push(range.start),
                None => drop(runs.insert(run.to_owned(), vec![range.start])),
            }
        }
        Self { text, runs }
    }

    /// Brackets part the runs of a list from what stands around it, so each is a whole run of the text too.
    fn holds(&self, list: &str) -> bool {
        let mut rarest: Option<(usize, &Vec<usize>)> = None;
        for run in ascii_runs(list) {
            let Some(places) = list.get(run.clone()).and_then(|run| self.runs.get(run)) else {
                return false;
            };
            if rarest.is_none_or(|(_, best)| places.len() < best.len()) {
                rarest = Some((run.start, places));
            }
        }
        let Some((offset, places)) = rarest else {
            return self.text.contains(list);
        };
        let at = |place: &usize| {
            let rest = place.checked_sub(offset).and_then(|at| self.text.get(at..));
            rest.is_some_and(|rest| rest.starts_with(list))
        };
        places.iter().any(at)
    }
}

impl<'t> Haystack<'t> {
    /// Reads the text once.
    pub(crate) fn new(text: &'t str) -> Self {
        let mut runs: HashMap<&str, Vec<usize>> = HashMap::new();
        for range in ascii_runs(text) {
            if let Some(run) = text.get(range.clone()) {
                runs.entry(run).or_default().push(range.start);
            }
        }
        Self {
            text,
            runs,
            squeezed: OnceCell::new(),
        }
    }

    /// `occurs(text, atom)`.
    pub(crate) fn holds(&self, atom: &str) -> bool {
        let Some(needle) = Needle::of(atom) else {
            return false;
        };
        match needle {
            Needle::List(list) => self
                .squeezed
                .get_or_init(|| Squeezed::of(self.text))
                .holds(&squeeze(list)),
            Needle::Words { first, rest } => self.holds_words(first, rest),
        }
    }

    fn holds_words(&self, first: &str, rest: &str) -> bool {
        let words = || std::iter::once(first).chain(rest.split_whitespace());
        // Where the rarest run stands, the word it is of, and its place in that word.
        let mut rarest: Option<(&Vec<usize>, usize, usize)> = None;
        for (number, word) in words().enumerate() {
            for run in ascii_runs(word) {
                let Some(places) = word.get(run.clone()).and_then(|run| self.runs.get(run)) else {
                    return false;
                };
                if rarest.is_none_or(|(best, ..)| places.len() < best.len()) {
                    rarest = Some((places, number, run.start));
                }
            }
        }
        let stands = |start: usize| stands_at(self.text, start, first, rest);
        let Some((places, number, offset)) = rarest else {
            return self.text.match_indices(first).any(|(at, _)| stands(at));
        };
        let before: Vec<&str> = words().take(number).collect();
        places.iter().any(|place| {
            let word = place.checked_sub(offset);
            word.and_then(|word| self.start(word, &before))
                .is_some_and(stands)
        })
    }

    /// Where the first of `words` begins, if they stand before byte `at`.
    fn start(&self, mut at: usize, words: &[&str]) -> Option<usize> {
        for word in words.iter().rev() {
            let before = self.text.get(..at)?;
            let text = before.trim_end();
            if text.len() == before.len() {
                return None;
            }
            at = text.strip_suffix(word)?.len();
        }
        Some(at)
    }
}

/// Whole runs of ASCII letters and digits.
pub(crate) fn ascii_runs(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let is = |b: &u8| b.is_ascii_alphanumeric();
        let start = at + bytes.get(at..)?.iter().position(is)?;
        let rest = bytes.get(start..)?;
        at = start + rest.iter().position(|b| !is(b)).unwrap_or(rest.len());
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{atoms, occurs};
    use super::*;
    use proptest::prelude::*;

    fn soup() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            1 => any::<char>().prop_map(String::from),
            8 => prop::sample::select(vec![
                "\"", "'", "`", "“", "”", "[", "]", "(", ")", "{", "}", ",", ".", ":", "/", "\\", "-", "+", "#", "_", "@", "°", "%",
                "$", "×", " ", " ", "  ", "\n", "5", "5", "12", "0", "e", "x", "A", "Hop", "Inn", "Hop", "px", "m", "http://", "½",
                "é", "e\u{301}", "\u{301}", "中", "5️⃣", "'s", "[1, 2]", "(1,2)", "Hop Inn", "C",
            ]).prop_map(String::from),
        ];
        prop::collection::vec(piece, 0..16).prop_map(|p| p.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 6000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_index_gives_the_answers_of_occurs(text in soup(), other in soup(), from: prop::sample::Index, to: prop::sample::Index) {
            let index = Haystack::new(&text);
            let mut asked: Vec<&str> = [&text, &other].iter().flat_map(|t| atoms(t).into_iter().map(|a| a.text(t))).collect();
            let (a, b) = (from.index(text.len() + 1), to.index(text.len() + 1));
            let piece = &text[text.floor_char_boundary(a.min(b))..text.floor_char_boundary(a.max(b))];
            asked.extend([piece, other.as_str()]);
            for atom in asked {
                prop_assert_eq!(index.holds(atom), occurs(&text, atom), "{:?} in {:?}", atom, &text);
            }
        }
    }
}
