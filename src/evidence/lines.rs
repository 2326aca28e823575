//! Does a value stand in one of many lines? The answer of [`occurs`] for each line, without reading them all.

use std::collections::HashMap;

use crate::trajectory::atom::{ascii_runs, occurs};

/// Lines, indexed by the words and the foreign letters that stand in them.
#[derive(Default)]
pub(super) struct Lines {
    all: Vec<String>,
    /// Lines, in order, by their whole runs of ASCII letters and digits: no value parts such a run.
    runs: HashMap<String, Vec<usize>>,
    /// Lines, in order, by their other letters and digits.
    letters: HashMap<char, Vec<usize>>,
}

impl Lines {
    pub(super) fn push(&mut self, line: String) {
        let number = self.all.len();
        for run in ascii_runs(&line).filter_map(|run| line.get(run)) {
            match self.runs.get_mut(run) {
                Some(lines) => note(lines, number),
                None => drop(self.runs.insert(run.to_owned(), vec![number])),
            }
        }
        for letter in line.chars().filter(is_foreign) {
            note(self.letters.entry(letter).or_default(), number);
        }
        self.all.push(line);
    }

    /// `true` if `occurs(line, value)` for one of them.
    pub(super) fn hold(&self, value: &str) -> bool {
        let runs = ascii_runs(value).filter_map(|run| value.get(run));
        let runs = runs.map(|run| self.runs.get(run));
        let letters = value.chars().filter(is_foreign);
        let letters = letters.map(|letter| self.letters.get(&letter));
        let mut rarest: Option<&Vec<usize>> = None;
        for lines in runs.chain(letters) {
            let Some(lines) = lines else {
                return false;
            };
            if rarest.is_none_or(|best| lines.len() < best.len()) {
                rarest = Some(lines);
            }
        }
        match rarest {
            Some(lines) => lines
                .iter()
                .filter_map(|number| self.all.get(*number))
                .any(|line| occurs(line, value)),
            None => self.all.iter().any(|line| occurs(line, value)),
        }
    }
}

impl<'l> FromIterator<&'l str> for Lines {
    fn from_iter<I: IntoIterator<Item = &'l str>>(lines: I) -> Self {
        let mut out = Self::default();
        for line in lines {
            out.push(line.to_owned());
        }
        out
    }
}

fn is_foreign(c: &char) -> bool {
    !c.is_ascii() && c.is_alphanumeric()
}

fn note(lines: &mut Vec<usize>, number: usize) {
    if lines.last() != Some(&number) {
        lines.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::atoms;
    use proptest::prelude::*;

    fn soup() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "\"", "'", "“", "”", "[", "]", "(", ")", ",", ".", ":", "/", "-", "+", "°", "$", " ",
            " ", " ", "5", "12", "0", "e", "A", "Hop", "Inn", "px", "½", "é", "e\u{301}",
            "\u{301}", "中", "停", "[1, 2]", "(1,2)", "Hop Inn", "\"停\"", "5️⃣", "---",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|p| p.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn lines_give_the_answers_of_occurs(lines in prop::collection::vec(soup(), 0..6), other in soup()) {
            let index: Lines = lines.iter().map(String::as_str).collect();
            let of = |text: &str| atoms(text).iter().map(|a| a.text(text).to_owned()).collect::<Vec<_>>();
            let mut asked: Vec<String> = lines.iter().flat_map(|line| of(line)).chain(of(&other)).collect();
            asked.push(other);
            for value in asked {
                let one = lines.iter().any(|line| occurs(line, &value));
                prop_assert_eq!(index.hold(&value), one, "{:?} in {:?}", value, &lines);
            }
        }
    }
}
