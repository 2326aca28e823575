//! Where do sentences end, and which of them speak of what the sentence before them named?

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::query::is_unspaced;

/// Longest piece that counts as one sentence.
const LONGEST: usize = 2_000;

/// The sentences of a block of text; line breaks inside the block are no ends.
pub fn sentences(block: &str) -> Vec<Range<usize>> {
    let flat: String = block
        .chars()
        .map(|letter| {
            if letter == '\n' || letter == '\r' {
                ' '
            } else {
                letter
            }
        })
        .collect();
    let mut out: Vec<Range<usize>> = Vec::new();
    for (start, piece) in flat.split_sentence_bound_indices() {
        let end = start + piece.len();
        match out.last_mut() {
            Some(last) if is_abbreviation(flat.get(last.clone()).unwrap_or_default()) => {
                last.end = end
            }
            _ => out.push(start..end),
        }
    }
    let mut cut = Vec::with_capacity(out.len());
    for sentence in out {
        let mut start = sentence.start;
        while sentence.end - start > LONGEST {
            let mut end = start + LONGEST;
            while !block.is_char_boundary(end) {
                end -= 1;
            }
            let space = block
                .get(start..end)
                .and_then(|piece| piece.rfind(' '))
                .filter(|at| *at > LONGEST / 2);
            let end = space.map_or(end, |at| start + at + 1);
            cut.push(start..end);
            start = end;
        }
        cut.push(start..sentence.end);
    }
    cut.retain(|range| {
        block
            .get(range.clone())
            .is_some_and(|text| !text.trim().is_empty())
    });
    cut
}

/// Whether a piece ends in an abbreviation: a short word with a point.
fn is_abbreviation(piece: &str) -> bool {
    let word = piece.trim_end().rsplit(' ').next().unwrap_or_default();
    let Some(stem) = word.strip_suffix('.') else {
        return false;
    };
    let letters = stem.chars().count();
    (1..=3).contains(&letters)
        && stem.chars().all(char::is_alphabetic)
        && (stem.chars().next().is_some_and(char::is_uppercase) && letters <= 2
            || ["dr", "mr", "mrs", "st", "no", "vs", "cf", "fig", "vol"]
                .contains(&stem.to_lowercase().as_str()))
}

const EARLY: [&str; 34] = [
    "its",
    "it",
    "their",
    "they",
    "this",
    "these",
    "his",
    "her",
    "he",
    "she",
    "that",
    "there",
    "его",
    "её",
    "ее",
    "их",
    "он",
    "она",
    "оно",
    "они",
    "там",
    "этот",
    "эта",
    "это",
    "эти",
    "هو",
    "هي",
    "هذا",
    "هذه",
    "لديه",
    "لديها",
    "فهو",
    "وهو",
    "وهي",
];
const UNSPACED: [&str; 12] = [
    "其", "该", "它", "这", "此", "その", "それ", "同所", "同社", "当該", "この", "これ",
];

/// Whether a sentence opens with a word that points back.
pub fn points_back(sentence: &str) -> bool {
    let sentence = sentence.trim_start();
    if sentence.chars().next().is_some_and(is_unspaced) {
        return UNSPACED.iter().any(|word| sentence.starts_with(word));
    }
    let arabic = sentence
        .chars()
        .next()
        .is_some_and(|letter| ('\u{0600}'..='\u{06FF}').contains(&letter));
    sentence
        .unicode_words()
        .take(if arabic { 4 } else { 2 })
        .any(|word| EARLY.contains(&word.to_lowercase().as_str()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_five_scripts_end_where_they_end() {
        let count = |text: &str| sentences(text).len();
        assert_eq!(count("One is here. Dr. Two came\nlate. Is it three?"), 3);
        assert_eq!(count("预算为五。其期限为六。"), 2);
        assert_eq!(count("予算は五です。その期限は六です。"), 2);
        assert_eq!(count("Первый. Второй!"), 2);
        assert_eq!(count("الأول. الثاني؟"), 2);
        assert!(
            sentences(&"a".repeat(9_000))
                .iter()
                .all(|range| range.len() <= LONGEST)
        );
    }

    #[test]
    fn a_pronoun_at_the_start_points_back() {
        assert!(
            points_back("Its budget is 5.")
                && points_back("其预算为五。")
                && points_back("وكان الحد لديه 5.")
                && points_back("Его срок: 5.")
        );
        assert!(
            !points_back("The office reports 5 as its budget.") && !points_back("东港的预算为五。")
        );
    }
}
