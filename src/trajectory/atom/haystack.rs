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
    squeezed: OnceCell<String>,
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
        let part = |text: &'_ str, range: Range<usize>| self.runs.get(text.get(range)?);
        match needle {
            Needle::List(list) => {
                ascii_runs(list).all(|run| part(list, run).is_some())
                    && self
                        .squeezed
                        .get_or_init(|| squeeze(self.text))
                        .contains(&squeeze(list))
            }
            Needle::Words { first, rest } => {
                let mut places: Option<(usize, &Vec<usize>)> = None;
                for run in ascii_runs(first) {
                    let Some(found) = part(first, run.clone()) else {
                        return false;
                    };
                    if places.is_none_or(|(_, best)| found.len() < best.len()) {
                        places = Some((run.start, found));
                    }
                }
                if ascii_runs(rest).any(|run| part(rest, run).is_none()) {
                    return false;
                }
                let at = |start: usize| stands_at(self.text, start, first, rest);
                match places {
                    Some((offset, found)) => found
                        .iter()
                        .any(|place| place.checked_sub(offset).is_some_and(at)),
                    None => self.text.match_indices(first).any(|(start, _)| at(start)),
                }
            }
        }
    }
}

/// Whole runs of ASCII letters and digits.
fn ascii_runs(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
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
