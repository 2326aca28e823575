//! A compiled intent: terms, which needs want them, and one automaton that finds all of them in one pass over the text.

mod find;
mod stem;
mod stop;
mod words;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

use crate::error::{Error, Result};
use crate::intent::Intent;
use find::{spellings, stands};

pub use stem::Forms;
pub use words::{Form, Term, is_unspaced};

/// A set of terms.
pub type Mask = u128;

/// A term at a place of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Index of the term.
    pub term: usize,
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// A need as terms.
#[derive(Debug, Clone)]
pub struct NeedTerms {
    /// Its name.
    pub id: String,
    /// Its question.
    pub question: String,
    /// The terms of the question.
    pub terms: Mask,
    /// Terms that stand in for the keys.
    pub aliases: Mask,
    /// Terms that evidence must contain.
    pub must: Mask,
}

/// A compiled intent.
#[derive(Debug)]
pub struct Query {
    /// All terms.
    pub terms: Vec<Term>,
    /// The needs.
    pub needs: Vec<NeedTerms>,
    automaton: AhoCorasick,
    /// The term of each pattern.
    patterns: Vec<usize>,
}

impl Query {
    /// Compiles an intent.
    ///
    /// # Errors
    /// An intent that asks for nothing or for more than 128 terms.
    pub fn new(intent: &Intent) -> Result<Self> {
        let mut terms: Vec<Term> = Vec::new();
        let mut add = |term: Term| -> Mask {
            let at = terms
                .iter()
                .position(|known| known.form == term.form)
                .unwrap_or_else(|| {
                    terms.push(term.clone());
                    terms.len() - 1
                });
            if let Some(known) = terms.get_mut(at) {
                known.key |= term.key;
            }
            1_u128
                .checked_shl(u32::try_from(at).unwrap_or(u32::MAX))
                .unwrap_or(0)
        };
        let literal = |text: &str| Term {
            text: text.to_owned(),
            key: true,
            form: Form::Literal(text.trim().to_lowercase()),
            run: None,
        };
        let must = intent
            .must_keep
            .iter()
            .filter(|text| !text.trim().is_empty())
            .map(|text| add(literal(text)))
            .fold(0, |all, one| all | one);
        let mut needs = Vec::new();
        for need in intent.all_needs()? {
            let of_question = words::terms(&need.question)
                .into_iter()
                .map(&mut add)
                .fold(0, |all, one| all | one);
            let aliases = need
                .aliases
                .iter()
                .filter(|text| !text.trim().is_empty())
                .map(|text| add(literal(text)))
                .fold(0, |all, one| all | one);
            needs.push(NeedTerms {
                id: need.id,
                question: need.question,
                terms: of_question,
                aliases,
                must,
            });
        }
        if !intent.goal.trim().is_empty() || !intent.needs.is_empty() {
            for needle in intent
                .needles
                .iter()
                .filter(|needle| !needle.trim().is_empty())
            {
                needs.push(NeedTerms {
                    id: needle.clone(),
                    question: needle.clone(),
                    terms: add(literal(needle)),
                    aliases: 0,
                    must: 0,
                });
            }
        }
        if terms.len() > 128 {
            return Err(Error::Intent {
                field: "needs",
                found: format!("{} terms", terms.len()),
                expected: "at most 128 different words",
            });
        }
        let mut texts = Vec::new();
        let mut patterns = Vec::new();
        for (at, term) in terms.iter().enumerate() {
            for text in spellings(term) {
                texts.push(text);
                patterns.push(at);
            }
        }
        let automaton = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(&texts);
        let automaton = automaton.map_err(|error| Error::Intent {
            field: "needs",
            found: error.to_string(),
            expected: "shorter words",
        })?;
        Ok(Self {
            terms,
            needs,
            automaton,
            patterns,
        })
    }

    /// All places of all terms, by their ends.
    pub fn hits(&self, text: &str, hits: &mut Vec<Hit>) {
        for found in self.automaton.find_overlapping_iter(text) {
            let Some(term) = self.patterns.get(found.pattern().as_usize()).copied() else {
                continue;
            };
            let valid = self
                .terms
                .get(term)
                .is_some_and(|known| stands(&known.form, text, found.start(), found.end()));
            if valid {
                hits.push(Hit {
                    term,
                    start: found.start(),
                    end: found.end(),
                });
            }
        }
    }

    /// The terms that occur in a text.
    pub fn mask(&self, text: &str) -> Mask {
        let mut mask = 0;
        for found in self.automaton.find_overlapping_iter(text) {
            let Some(term) = self.patterns.get(found.pattern().as_usize()).copied() else {
                continue;
            };
            if mask & (1 << term) == 0
                && self
                    .terms
                    .get(term)
                    .is_some_and(|known| stands(&known.form, text, found.start(), found.end()))
            {
                mask |= 1 << term;
            }
        }
        mask
    }

    /// Whether a bare number is looked for.
    pub fn has_number(&self) -> bool {
        self.terms.iter().any(|term| matches!(&term.form, Form::Literal(text) if text.chars().all(|letter| letter.is_numeric() || matches!(letter, '.' | ','))))
    }

    /// The words of a set of terms.
    pub fn words(&self, mask: Mask) -> Vec<String> {
        self.terms
            .iter()
            .enumerate()
            .filter(|(at, _)| mask & (1 << at) != 0)
            .map(|(_, term)| term.text.clone())
            .collect()
    }

    /// The terms that are keys, when `seen` occur in the object: also what does not occur of a run that occurs in part, since that is a name nobody used.
    pub fn keys(&self, seen: Mask) -> Mask {
        let known = |run: Option<usize>| {
            run.is_some()
                && self
                    .terms
                    .iter()
                    .enumerate()
                    .any(|(at, term)| term.run == run && seen & (1 << at) != 0)
        };
        let is_key =
            |at: usize, term: &Term| term.key || (seen & (1 << at) == 0 && known(term.run));
        self.terms
            .iter()
            .enumerate()
            .filter(|(at, term)| is_key(*at, term))
            .fold(0, |mask, (at, _)| mask | (1 << at))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn finds(question: &str, text: &str) -> Vec<String> {
        let query = Query::new(&Intent::question(question)).unwrap();
        query.words(query.mask(text))
    }

    #[test]
    fn a_term_is_found_in_its_forms_and_not_inside_other_words() {
        assert_eq!(finds("cat", "concatenate the category"), [""; 0]);
        assert_eq!(
            finds("delivery fees", "The delivery fee; deliveries"),
            ["delivery", "fees"]
        );
        assert_eq!(
            finds("opening date", "listen_port openingDate"),
            ["opening", "date"]
        );
        assert_eq!(
            finds("годового бюджета", "Годовой бюджет вырос"),
            ["годового", "бюджета"]
        );
        assert_eq!(
            finds("ميزانية سنوية", "الميزانية السنوية"),
            ["ميزانية", "سنوية"]
        );
        assert_eq!(
            finds("loadManifest", "fn load_manifest(x)"),
            ["loadManifest"]
        );
        assert_eq!(finds("loadManifest", "fn preload_manifests2(x)"), [""; 0]);
        assert_eq!(
            finds("TempDir::into_path", "`TempDir::into_path` is gone"),
            ["TempDir::into_path"]
        );
        assert_eq!(finds("ORD-17", "ORD-171 and XORD-17"), [""; 0]);
        assert_eq!(finds("3.2", "v3.2.1"), [""; 0]);
    }
}
