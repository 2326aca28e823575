//! The part of a word that its forms share, and which rests of a word are a form of it. Light on purpose: a form too many is a weaker match, a form too few is a fact not found.

/// How the forms of a word are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forms {
    /// Latin letters, English endings.
    Latin,
    /// Cyrillic, Greek and other inflected alphabets.
    Inflected,
    /// Arabic: clitics before, endings behind.
    Arabic,
}

const LATIN_ENDINGS: [&str; 10] = ["ings", "ing", "ies", "ied", "ed", "es", "ly", "e", "s", "y"];
const LATIN_RESTS: [&str; 19] = [
    "", "s", "es", "e", "ed", "d", "y", "ies", "ied", "ing", "ings", "er", "ers", "ly", "ion",
    "ions", "al", "ment", "or",
];
const CYRILLIC_ENDINGS: [&str; 40] = [
    "ыми", "ими", "ого", "его", "ому", "ему", "ами", "ями", "ый", "ий", "ой", "ая", "яя", "ое",
    "ее", "ым", "им", "ом", "ем", "ую", "юю", "ые", "ие", "ых", "их", "ах", "ях", "ов", "ев", "ей",
    "а", "я", "о", "е", "и", "ы", "у", "ю", "й", "ь",
];
const ARABIC_PREFIXES: [&str; 6] = ["وال", "بال", "كال", "فال", "ال", "لل"];

/// The forms that a lower-case word has, and what they share.
pub fn stem(word: &str) -> (String, Forms) {
    let count = word.chars().count();
    let first = word.chars().next().unwrap_or(' ');
    match first {
        '\u{0600}'..='\u{06FF}' => (arabic(word, count), Forms::Arabic),
        '\u{0370}'..='\u{052F}' => {
            let least = if count >= 6 { 4 } else { 3 };
            let cut = CYRILLIC_ENDINGS
                .iter()
                .filter_map(|ending| word.strip_suffix(ending))
                .find(|stem| stem.chars().count() >= least);
            (cut.unwrap_or(word).to_owned(), Forms::Inflected)
        }
        letter if letter.is_ascii() => {
            let cut = LATIN_ENDINGS
                .iter()
                .filter_map(|ending| word.strip_suffix(ending))
                .find(|stem| stem.len() >= 4 || (stem.len() == 3 && word.ends_with('s')));
            (cut.unwrap_or(word).to_owned(), Forms::Latin)
        }
        _ => (word.to_owned(), Forms::Inflected),
    }
}

fn arabic(word: &str, count: usize) -> String {
    let mut stem = word;
    if let Some(rest) = ARABIC_PREFIXES
        .iter()
        .filter_map(|prefix| word.strip_prefix(prefix))
        .find(|rest| rest.chars().count() >= 3)
    {
        stem = rest;
    } else if count >= 5 {
        stem = ['و', 'ف', 'ب', 'ل', 'ك']
            .iter()
            .find_map(|prefix| word.strip_prefix(*prefix))
            .unwrap_or(word);
    }
    let cut = ["ات", "ين", "ون", "ة", "ه"]
        .iter()
        .filter_map(|ending| stem.strip_suffix(ending))
        .find(|rest| rest.chars().count() >= 3);
    cut.unwrap_or(stem).to_owned()
}

/// Whether `before` and `after`, the letters around a stem of `length` letters, make a form of it.
pub fn is_form(forms: Forms, length: usize, before: &str, after: &str) -> bool {
    match forms {
        Forms::Latin if length < 3 => before.is_empty() && after.is_empty(),
        Forms::Latin if length == 3 => before.is_empty() && ["", "s", "es", "e"].contains(&after),
        Forms::Latin => before.is_empty() && LATIN_RESTS.contains(&after),
        Forms::Inflected => before.is_empty() && after.chars().count() <= 3,
        Forms::Arabic => before.chars().count() <= 3 && after.chars().count() <= 2,
    }
}
