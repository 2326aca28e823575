//! What does a summary say about the thing that a value is about: the same value, another one, or nothing?
//!
//! Words alone decide, those of the summary's own clauses: `left water meter: 2349` speaks of a value wherever a sentence holds all of
//! `left`, `water` and `meter`. Words that every other sentence has name nothing, and words that only the summary uses (`Evidence`)
//! are its own affair. A sentence that names nothing is about what the sentences before it named. A correction comes later: once the
//! reasoning itself has stated what the summary says, other values near it are something else. What cannot be told this way is
//! `Nothing`: the caller then has to be careful.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use crate::evidence::{clauses, sentences};
use crate::trajectory::{Atom, AtomKind, atoms, occurs};

/// A word in more of the sentences than this names nothing.
const COMMON: f64 = 0.4;
/// English words that name nothing; those of other languages are found by their number.
const FUNCTION: &[&str] = &[
    "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it",
    "of", "on", "or", "so", "that", "the", "there", "this", "to", "was", "were", "which", "with",
];
/// A subject of fewer words is too general to contradict anything.
const SPECIFIC: usize = 2;

/// Sentences that a value's subject may lie back: more would make long segments slow, and the subject a guess.
const BACK: usize = 32;

/// What a summary says about the thing that a value is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Says {
    /// Nothing that words could tell.
    #[default]
    Nothing,
    /// The same value.
    Same,
    /// This value.
    Other(String),
}

/// A summary, clause by clause, against the words of a history.
pub struct Statements {
    stated: Vec<Statement>,
    /// Words that name something in the history or the summary.
    topics: BTreeSet<String>,
}

struct Statement {
    value: String,
    kind: AtomKind,
    about: BTreeSet<String>,
    /// Whether the reasoning has stated it by now.
    settled: bool,
}

impl Statements {
    /// `reasoning`: the texts that are decided on; `stays`: what remains whatever is decided.
    pub fn new<'t>(
        sigma: &str,
        reasoning: impl IntoIterator<Item = &'t str>,
        stays: &'t str,
    ) -> Self {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut count = 0usize;
        for text in reasoning.into_iter().chain(stays.split("\n\0\n")) {
            for range in sentences(text, &atoms(text)) {
                count += 1;
                for word in words(text.get(range).unwrap_or("")) {
                    *seen.entry(word).or_default() += 1;
                }
            }
        }
        let names = |word: &String| {
            let found = seen.get(word).copied().unwrap_or(0);
            number(word).is_none() && found > 0 && found as f64 <= COMMON * count as f64
        };
        let mut topics: BTreeSet<String> = words(stays).into_iter().filter(names).collect();
        let mut stated = Vec::new();
        let values = atoms(sigma);
        for clause in clauses(sigma, &values) {
            // What a colon announces is named before it; what stands behind one names itself.
            let mut named = BTreeSet::new();
            for part in colon_parts(sigma, clause, &values) {
                let inside = |a: &&Atom| part.start <= a.start && a.end <= part.end;
                let own: Vec<&Atom> = values.iter().filter(inside).collect();
                let here: BTreeSet<String> = outside(sigma, part.clone(), &own)
                    .into_iter()
                    .filter(names)
                    .collect();
                let numbers = words(sigma.get(part).unwrap_or(""));
                if !here.is_empty() {
                    named = here;
                }
                topics.extend(named.iter().cloned());
                if named.is_empty() {
                    continue;
                }
                let spoken = numbers.iter().filter_map(|word| number(word));
                let spoken = spoken.map(|n| (n.to_string(), AtomKind::Number));
                let written = own.iter().map(|a| (a.text(sigma).to_owned(), a.kind));
                stated.extend(written.chain(spoken).map(|(value, kind)| Statement {
                    value,
                    kind,
                    about: named.clone(),
                    settled: false,
                }));
            }
        }
        Self { stated, topics }
    }

    /// What is said of the things that the values `all` of `text` are about. To be asked in the order of the history.
    pub fn about(&mut self, text: &str, all: &[Atom]) -> Vec<Says> {
        let inside = |range: &Range<usize>, a: &Atom| range.start <= a.start && a.end <= range.end;
        let mut said: Vec<BTreeSet<String>> = Vec::new();
        let mut out = Vec::with_capacity(all.len());
        let mut rest = all;
        for range in sentences(text, all) {
            let count = rest.iter().take_while(|a| a.start < range.end).count();
            let (here, later) = rest.split_at(count);
            rest = later;
            let own: Vec<&Atom> = here.iter().filter(|a| inside(&range, a)).collect();
            said.push(outside(text, range, &own));
            out.extend(
                here.iter()
                    .map(|atom| self.one(&said, atom.text(text), atom.kind)),
            );
        }
        out.resize(all.len(), Says::Nothing);
        out
    }

    /// What is said of a value in the last of the sentences whose words are `said`.
    fn one(&mut self, said: &[BTreeSet<String>], value: &str, kind: AtomKind) -> Says {
        for (back, here) in said.iter().rev().enumerate() {
            let speaks = |s: &&mut Statement| s.about.is_subset(here);
            let mut matches: Vec<&mut Statement> = self.stated.iter_mut().filter(speaks).collect();
            // The most specific subject, and those that say as much.
            if let Some(most) = matches.iter().map(|s| s.about.len()).max() {
                let mut same = matches
                    .iter_mut()
                    .filter(|s| occurs(&s.value, value) || same_amount(&s.value, value))
                    .peekable();
                if same.peek().is_some() {
                    same.for_each(|s| s.settled |= back == 0);
                    return Says::Same;
                }
                let mut others = matches
                    .iter()
                    .filter(|s| s.about.len() == most && s.kind == kind);
                return match (others.next(), others.next()) {
                    (Some(other), None) if most >= SPECIFIC && !other.settled => {
                        Says::Other(other.value.clone())
                    }
                    _ => Says::Nothing,
                };
            }
            // A sentence that names something else is about that.
            if back == 0 && here.intersection(&self.topics).count() >= SPECIFIC {
                return Says::Nothing;
            }
            if back >= BACK {
                break;
            }
        }
        Says::Nothing
    }
}

/// A clause cut behind each colon that stands in no value.
fn colon_parts(text: &str, clause: Range<usize>, values: &[Atom]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut from = clause.start;
    let own = text.get(clause.clone()).unwrap_or("");
    for (at, colon) in own.match_indices([':', '：']) {
        let at = clause.start + at;
        if !values.iter().any(|a| a.start <= at && at < a.end) {
            out.push(from..at + colon.len());
            from = at + colon.len();
        }
    }
    out.push(from..clause.end);
    out
}

/// An English number word. Summaries like to spell small counts.
fn number(word: &str) -> Option<usize> {
    const WORDS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    WORDS.iter().position(|w| *w == word).filter(|n| *n > 1)
}

/// Whether two numbers are one, written with another unit or currency mark: `$12.50` and `12.50 dollars`. Two units that both stand
/// there and differ make two numbers, unless one is money.
fn same_amount(a: &str, b: &str) -> bool {
    let parts = |text: &str| -> (String, String) {
        let digit = |c: &char| c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | ':' | '/');
        let (core, unit): (String, String) =
            text.chars().filter(|c| !c.is_whitespace()).partition(digit);
        (core, unit.to_lowercase())
    };
    let ((a, unit), (b, other)) = (parts(a), parts(b));
    let money = |unit: &str| {
        unit.contains(['$', '€', '£', '¥'])
            || ["dollar", "euro", "pound", "yen"]
                .iter()
                .any(|m| unit.starts_with(m))
    };
    let agree =
        unit.is_empty() || other.is_empty() || unit == other || (money(&unit) && money(&other));
    a.chars().any(|c| c.is_ascii_digit()) && a == b && agree
}

/// The words of a range without those of the values in it.
fn outside(text: &str, range: Range<usize>, values: &[&Atom]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut from = range.start;
    for atom in values {
        out.extend(words(text.get(from..atom.start).unwrap_or("")));
        from = atom.end.max(from);
    }
    out.extend(words(text.get(from..range.end).unwrap_or("")));
    out
}

/// Words of letters, in lower case; one letter alone is none, except in scripts that write words so.
fn words(text: &str) -> BTreeSet<String> {
    let is_word = |w: &&str| {
        !w.chars().any(char::is_numeric) && (w.chars().nth(1).is_some() || !w.is_ascii())
    };
    let found = text.unicode_words().filter(is_word);
    let mut found: BTreeSet<String> = found.map(str::to_lowercase).collect();
    found.retain(|word| !FUNCTION.contains(&word.as_str()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAYS: &str = "Tell me the reading of the left water meter, the reading of the right water meter, and the number of birds by the gate.";

    fn says(sigma: &str, text: &str, value: &str) -> Says {
        let all = atoms(text);
        let mut statements = Statements::new(
            sigma,
            [text, "Let me look.", "I go on.", "So far so good."],
            STAYS,
        );
        let says = statements.about(text, &all);
        let each = all.iter().map(|a| a.text(text)).zip(says);
        let mut found = each.filter(|(found, _)| *found == value);
        found.next().map_or(Says::Nothing, |(_, says)| says)
    }

    #[test]
    fn a_summary_speaks_of_what_it_names() {
        let sigma = "Done: 2 calls. Evidence: left water meter: 2349; birds by the gate = 7. Open: the right one.";
        for (text, value, expected) in [
            ("The left water meter shows 2349.", "2349", Says::Same),
            (
                "The left water meter looks like 2344.",
                "2344",
                Says::Other("2349".into()),
            ),
            (
                "Next I need the left water meter. It might be 2344, but I am not sure.",
                "2344",
                Says::Other("2349".into()),
            ),
            // Another meter: the summary says nothing of it.
            ("The right water meter shows 2344.", "2344", Says::Nothing),
            // The digits stand in the summary, and mean the birds.
            ("The right water meter shows 7.", "7", Says::Nothing),
            ("I see 7 birds by the gate.", "7", Says::Same),
            // What follows from a settled value is no correction of it.
            (
                "The left water meter shows 2349. Together that makes 9001.",
                "9001",
                Says::Nothing,
            ),
            ("The number of birds by the gate is 7.", "7", Says::Same),
            // A place is no count.
            (
                "The birds by the gate are at [1, 2, 3, 4].",
                "[1, 2, 3, 4]",
                Says::Nothing,
            ),
        ] {
            assert_eq!(says(sigma, text, value), expected, "{text}");
        }
    }

    #[test]
    fn what_announces_a_list_names_nothing_in_it() {
        let sigma = "So far I know this much: left water meter = 2349, and birds by the gate: three. Still open: nothing.";
        for (text, value, expected) in [
            ("The left water meter shows 2349.", "2349", Says::Same),
            ("I know there are 3 birds by the gate.", "3", Says::Same),
            ("Maybe 5 birds by the gate.", "5", Says::Other("3".into())),
        ] {
            assert_eq!(says(sigma, text, value), expected, "{text}");
        }
    }

    #[test]
    fn an_amount_is_the_same_in_words_and_marks() {
        for (a, b, same) in [
            ("$12.50", "12.50 dollars", true),
            ("$12.50", "12.50", true),
            ("10 m", "10 cm", false),
            ("10", "10 cm", true),
            ("12.50", "12.5", false),
            ("m", "m", false),
        ] {
            assert_eq!(same_amount(a, b), same, "{a} {b}");
        }
    }

    #[test]
    fn a_subject_of_one_word_contradicts_nothing() {
        let sigma = "birds: 7";
        assert_eq!(
            says(sigma, "There are birds, 9 of them.", "9"),
            Says::Nothing
        );
        assert_eq!(says(sigma, "There are birds, 7 of them.", "7"), Says::Same);
    }
}
