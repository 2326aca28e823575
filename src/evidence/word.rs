//! Which words of a clause carry nothing, and which must never be cut off?

/// Openings that say only that the writer looks or goes on; longest first. Hedges are not among them.
const FILLER: &[&str] = &[
    "i can now clearly see that",
    "i can clearly see that",
    "i can now clearly see",
    "i can clearly see",
    "i can now see that",
    "i can now see",
    "now i can see that",
    "now i can see",
    "i can see that",
    "i can see",
    "now i see that",
    "now i see",
    "i now see that",
    "i now see",
    "i see that",
    "i see",
    "now i can read it",
    "let me see",
    "let me look",
    "looking closely",
    "as we can see",
    "we can see that",
    "we can see",
    "first of all",
    "this means that",
    "okay",
    "ok",
    "alright",
    "so",
    "now",
    "wait",
    "hmm",
    "well",
    "also",
    "then",
    "and",
    "but",
    "oh",
    "right",
    "yes",
    "first",
    "next",
    "finally",
    "additionally",
    "moreover",
    "furthermore",
    "therefore",
    "thus",
    "hence",
    "since",
    "because",
    "that",
    "which",
    "while",
    "great",
    "good",
    "clearly",
    "indeed",
];

/// Words that turn or weaken what a clause says: cutting one off would change a value's meaning.
const HEDGES: &str = "\
    not no never neither nor none cannot without isn't wasn't aren't weren't don't doesn't didn't can't couldn't won't \
    wouldn't shouldn't hasn't haven't might may maybe perhaps possibly probably likely unlikely seems seem seemed \
    appears appear looks guess guessed assume assuming unsure uncertain unclear if unless whether could should would \
    except instead wrong incorrect rather approximately roughly about around almost";

/// First words that point at the sentence before.
const PRONOUNS: &str = "it it's they they're he she";

/// Words that lead on to something, so that no line ends with them.
const LEADING_ON: &str = "\
    a an the this that these those which who whose what where when in on at of to for from with by as into over under \
    near than and or but so because since while is are was were be has have had its their his her my our your it i we \
    they you he she about like";

/// Where a noun phrase begins.
const DETERMINERS: &str = "the a an my its this these two three both";

/// The word as the lists hold it: lower case, straight apostrophes, no punctuation at its ends.
fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase()
        .replace('’', "'")
}

fn listed(list: &str, word: &str) -> bool {
    let word = plain(word);
    !word.is_empty() && list.split_whitespace().any(|w| w == word)
}

pub(super) fn is_hedge(word: &str) -> bool {
    listed(HEDGES, word)
}

pub(super) fn is_pronoun(word: &str) -> bool {
    listed(PRONOUNS, word)
}

pub(super) fn leads_on(word: &str) -> bool {
    listed(LEADING_ON, word)
}

pub(super) fn is_determiner(word: &str) -> bool {
    listed(DETERMINERS, word)
}

/// How many of the words at the head of a clause are filler.
pub(super) fn filler(words: &[&str]) -> usize {
    let words: Vec<String> = words.iter().take(24).map(|w| plain(w)).collect();
    let mut at = 0;
    while let Some(rest) = words.get(at..).filter(|r| !r.is_empty()) {
        let length = FILLER.iter().find_map(|phrase| {
            let count = phrase.split(' ').count();
            let head = rest.get(..count)?;
            phrase
                .split(' ')
                .eq(head.iter().map(String::as_str))
                .then_some(count)
        });
        match length {
            Some(count) => at += count,
            None => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filler_goes_and_hedges_stay() {
        let count = |text: &str| filler(&text.split(' ').collect::<Vec<_>>());
        assert_eq!(count("Okay, now I can see the sign"), 5);
        assert_eq!(count("So it might be a 4"), 1);
        assert_eq!(count("It is"), 0);
        assert_eq!(count("But"), 1);
        assert!(is_hedge("don’t") && is_hedge("Might,") && !is_hedge("mighty") && !is_hedge(","));
    }
}
