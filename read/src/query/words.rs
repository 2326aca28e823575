//! Which terms does a question consist of?

use unicode_segmentation::UnicodeSegmentation;

use super::stem::{Forms, stem};
use super::stop::{between_stops, is_stop};

/// One term of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// As it was asked.
    pub text: String,
    /// A name, a number, an identifier: where it is missing, the answer is missing.
    pub key: bool,
    /// How it is found.
    pub form: Form,
    /// Terms of one unbroken run of a script without spaces have the same number.
    pub run: Option<usize>,
}

/// How a term is found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// Any form of a word, from its stem.
    Word(String, Forms),
    /// These letters, not within a longer number or name.
    Literal(String),
    /// Words that are joined by nothing, a space, `_` or `-`.
    Joined(Vec<String>),
    /// These letters anywhere (scripts without spaces).
    Free(String),
}

/// Whether a script writes without spaces.
pub fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' | '々')
}

fn is_hiragana(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{309F}')
}

/// The terms of a question, each once.
pub fn terms(question: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let mut first = true;
    for chunk in question.split_whitespace() {
        for run in runs(chunk) {
            if run.chars().next().is_some_and(is_unspaced) {
                terms.extend(unspaced(run, terms.len()));
            } else {
                terms.extend(spaced(run, first));
                first &= !run.chars().any(char::is_alphanumeric);
            }
        }
    }
    if terms.is_empty() {
        // A question of function words alone: take them as they are.
        terms = question
            .unicode_words()
            .map(|word| Term {
                text: word.to_owned(),
                key: false,
                form: Form::Free(word.to_lowercase()),
                run: None,
            })
            .collect();
    }
    let mut seen = Vec::new();
    terms.retain(|term| {
        let fresh = !seen.contains(&term.form);
        seen.push(term.form.clone());
        fresh
    });
    terms
}

/// Maximal runs of one kind of script.
fn runs(chunk: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut start = 0;
    let mut last: Option<bool> = None;
    for (at, letter) in chunk.char_indices() {
        let kind = is_unspaced(letter);
        if last.is_some_and(|last| last != kind) {
            runs.push(chunk.get(start..at).unwrap_or_default());
            start = at;
        }
        last = Some(kind);
    }
    runs.push(chunk.get(start..).unwrap_or_default());
    runs
}

/// Pairs of neighbouring letters between words without content.
fn unspaced(run: &str, first: usize) -> Vec<Term> {
    let content = |part: &&str| !part.chars().all(is_hiragana);
    let mut terms = Vec::new();
    let parts: Vec<&str> = run
        .split(is_hiragana)
        .flat_map(between_stops)
        .filter(|part| !part.is_empty())
        .filter(content)
        .collect();
    for part in parts {
        let run = Some(first + terms.len());
        let letters: Vec<char> = part.chars().collect();
        if letters.len() == 1 {
            terms.push(Term {
                text: part.to_owned(),
                key: false,
                form: Form::Free(part.to_owned()),
                run,
            });
        }
        for pair in letters.windows(2) {
            let text: String = pair.iter().collect();
            terms.push(Term {
                text: text.clone(),
                key: false,
                form: Form::Free(text),
                run,
            });
        }
    }
    terms
}

/// Words and identifiers of a chunk without spaces.
fn spaced(chunk: &str, first: bool) -> Vec<Term> {
    let chunk = chunk.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let chunk = ["'s", "’s"]
        .iter()
        .find_map(|ending| chunk.strip_suffix(ending))
        .unwrap_or(chunk);
    if chunk.is_empty() {
        return Vec::new();
    }
    let digits = chunk.chars().any(|letter| letter.is_numeric());
    if digits {
        return vec![Term {
            text: chunk.to_owned(),
            key: true,
            form: Form::Literal(chunk.to_lowercase()),
            run: None,
        }];
    }
    let pieces: Vec<&str> = chunk
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|piece| !piece.is_empty())
        .collect();
    let joints: Vec<char> = chunk
        .chars()
        .filter(|letter| !letter.is_alphanumeric())
        .collect();
    let named = joints
        .iter()
        .all(|joint| matches!(joint, '_' | '-' | '.' | ':'));
    let humps: Vec<String> = pieces.iter().flat_map(|piece| humps(piece)).collect();
    if humps.len() > 1 && named && humps.iter().all(|hump| !hump.is_empty()) {
        return vec![Term {
            text: chunk.to_owned(),
            key: true,
            form: Form::Joined(humps),
            run: None,
        }];
    }
    pieces
        .into_iter()
        .filter_map(|piece| word(piece, first))
        .collect()
}

fn word(piece: &str, first: bool) -> Option<Term> {
    let lower = piece.to_lowercase();
    if is_stop(&lower) {
        return None;
    }
    let initial = piece.chars().next().unwrap_or(' ');
    // A script without capitals does not tell names from other words: any of them may be one.
    let uncased = initial.is_alphabetic() && !initial.is_lowercase() && !initial.is_uppercase();
    let key = uncased || (!first && initial.is_uppercase());
    let (stem, forms) = stem(&lower);
    Some(Term {
        text: piece.to_owned(),
        key,
        form: Form::Word(stem, forms),
        run: None,
    })
}

/// `loadManifest` as `load`, `manifest`; a word of one case as itself.
fn humps(word: &str) -> Vec<String> {
    let mut humps: Vec<String> = Vec::new();
    let mut lower_before = false;
    for letter in word.chars() {
        if humps.is_empty() || (letter.is_uppercase() && lower_before) {
            humps.push(String::new());
        }
        lower_before = letter.is_lowercase();
        if let Some(hump) = humps.last_mut() {
            hump.extend(letter.to_lowercase());
        }
    }
    humps
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn texts(question: &str) -> Vec<String> {
        terms(question).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn words_without_content_are_no_terms_and_all_others_are() {
        assert_eq!(
            texts("What is the annual budget of the Harbor Lane depot?"),
            ["annual", "budget", "Harbor", "Lane", "depot"]
        );
        assert_eq!(
            texts("Каков годовой бюджет: Северный склад?"),
            ["годовой", "бюджет", "Северный", "склад"]
        );
        assert_eq!(
            texts("东港仓库的年度预算是多少？"),
            ["东港", "港仓", "仓库", "年度", "度预", "预算"]
        );
        assert_eq!(
            texts("西山倉庫の床面積はいくらですか？"),
            ["西山", "山倉", "倉庫", "床面", "面積"]
        );
        assert_eq!(
            texts("ما هو رقم العقد في متحف النخيل؟"),
            ["رقم", "العقد", "متحف", "النخيل"]
        );
    }

    #[test]
    fn names_numbers_and_identifiers_are_keys() {
        let keys = |question: &str| {
            terms(question)
                .into_iter()
                .filter(|term| term.key)
                .map(|term| term.text)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            keys("Which price belongs to order ORD-17 of Ada in 2026-03-01?"),
            ["ORD-17", "Ada", "2026-03-01"]
        );
        assert_eq!(
            keys("Where is loadManifest or page_limit defined?"),
            ["loadManifest", "page_limit"]
        );
    }
}
