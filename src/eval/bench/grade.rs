//! How right is an answer?

use super::Answer;
use crate::trajectory::Trajectory;

/// From 0 to 1; `None` where nothing can be graded. `run` is the whole run: plans are graded by its calls, everything else by `answer`.
pub fn grade(right: &Answer, answer: &str, run: &Trajectory) -> Option<f64> {
    let yes = |yes: bool| Some(f64::from(u8::from(yes)));
    match right {
        Answer::Choice { letter, options } => yes(chosen(answer, options) == Some(*letter)),
        Answer::Phrases { all, none } => {
            let says = |phrases: &[String]| phrases.iter().any(|phrase| holds(answer, phrase));
            yes(all.iter().all(|aliases| says(aliases)) && !says(none))
        }
        Answer::Texts(texts) => {
            let alike = texts
                .iter()
                .map(|text| overlap(&words(answer), &words(text)));
            Some(alike.fold(0.0, f64::max))
        }
        Answer::Says(text) => yes(holds(answer, text)),
        Answer::Plans(plans) => {
            let calls = run.messages.iter().flat_map(|m| &m.calls);
            let own: Vec<String> = calls
                .map(|call| call.name.clone())
                .filter(|name| name != "summarize_the_task" && name != "crop")
                .collect();
            Some(
                plans
                    .iter()
                    .map(|plan| overlap(&own, plan))
                    .fold(0.0, f64::max),
            )
        }
        Answer::Ungraded => None,
    }
}

/// The letter that an answer chooses: the last one in brackets, else a letter alone or before a stop, else the only option whose text it says.
fn chosen(answer: &str, options: &[String]) -> Option<char> {
    let last = (b'A' + u8::try_from(options.len().clamp(1, 26)).unwrap_or(26) - 1) as char;
    let known = |c: char| ('A'..=last).contains(&c).then_some(c);
    let letters: Vec<char> = answer.chars().collect();
    let bracketed = letters.windows(3).rev().find_map(|w| match w {
        ['(', c, ')'] => known(c.to_ascii_uppercase()),
        _ => None,
    });
    if bracketed.is_some() {
        return bracketed;
    }
    let bare = answer.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let mut chars = word.chars();
        match (chars.next(), chars.next()) {
            // A small letter may be a word.
            (Some(c), None) if c.is_ascii_uppercase() => known(c),
            _ => None,
        }
    });
    // `A` at the beginning of a longer sentence is an article.
    let bare: Vec<char> = bare.collect();
    let alone = answer.split_whitespace().count() == 1;
    if let Some(letter) = bare.last()
        && (alone || *letter != 'A' || answer.trim_end_matches('.').ends_with('A'))
    {
        return Some(*letter);
    }
    let said: Vec<usize> = (0..options.len())
        .filter(|i| options.get(*i).is_some_and(|option| holds(answer, option)))
        .collect();
    match said.as_slice() {
        [only] => known((b'A' + u8::try_from(*only).ok()?) as char),
        _ => None,
    }
}

/// Whether a text holds a phrase, whole words, whatever the case and the spaces between.
fn holds(text: &str, phrase: &str) -> bool {
    let plain = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    let (text, phrase) = (plain(text), plain(phrase));
    let phrase = phrase.trim_matches('.');
    if phrase.is_empty() {
        return false;
    }
    // A border only matters beside a letter or digit of the phrase itself.
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(phrase).any(|(at, found)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let behind = text.get(at + found.len()..).and_then(|t| t.chars().next());
        let joined = |outer: Option<char>, inner: Option<char>| word(outer) && word(inner);
        !joined(before, phrase.chars().next()) && !joined(behind, phrase.chars().next_back())
    })
}

fn words(text: &str) -> Vec<String> {
    let each = text.split(|c: char| !c.is_alphanumeric());
    each.filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// F1 of two bags of words.
fn overlap(own: &[String], right: &[String]) -> f64 {
    let mut left = right.to_vec();
    let mut both = 0usize;
    for word in own {
        if let Some(at) = left.iter().position(|other| other == word) {
            left.swap_remove(at);
            both += 1;
        }
    }
    match both {
        0 => 0.0,
        both => 2.0 * both as f64 / (own.len() + right.len()) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::{Message, ToolCall};

    #[test]
    fn letters_however_they_are_said() {
        let options = ["red", "dark red", "blue", "white"].map(str::to_owned);
        for (answer, letter) in [
            ("(B)", Some('B')),
            ("The answer is (b).", Some('B')),
            ("First (A), but then (C)", Some('C')),
            ("C", Some('C')),
            ("C.", Some('C')),
            ("The answer is D.", Some('D')),
            ("A white car", Some('D')),
            ("It is blue", Some('C')),
            ("The answer is A", Some('A')),
            ("dark red", None),
            ("(E)", None),
            ("", None),
        ] {
            assert_eq!(chosen(answer, &options), letter, "{answer}");
        }
    }

    #[test]
    fn phrases_are_whole_words() {
        for (text, phrase, there) in [
            ("It costs 12 dollars.", "12", true),
            ("It costs 120 dollars.", "12", false),
            ("It costs $12.", "$12", true),
            ("New  York", "new york", true),
            ("blueish", "blue", false),
            ("anything", "", false),
        ] {
            assert_eq!(holds(text, phrase), there, "{text} / {phrase}");
        }
        let right = Answer::Phrases {
            all: vec![vec!["two".into(), "2".into()], vec!["cats".into()]],
            none: vec!["dogs".into()],
        };
        let run = Trajectory::default();
        assert_eq!(grade(&right, "2 cats", &run), Some(1.0));
        assert_eq!(grade(&right, "2 cats and dogs", &run), Some(0.0));
        assert_eq!(grade(&right, "cats", &run), Some(0.0));
        assert_eq!(grade(&Answer::Ungraded, "x", &run), None);
        let alike = grade(
            &Answer::Texts(vec!["a red car".into(), "no".into()]),
            "the red car",
            &run,
        );
        assert!(
            alike.is_some_and(|f1| (f1 - 2.0 / 3.0).abs() < 1e-9),
            "{alike:?}"
        );
    }

    #[test]
    fn plans_are_graded_by_their_tools() {
        let mut run = Trajectory::default();
        for name in ["ocr", "summarize_the_task", "count"] {
            let call = ToolCall::new("a", name, serde_json::json!({}));
            run.push(Message::assistant(None, "", vec![call]));
        }
        let plan = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let of = |plans: Vec<Vec<String>>| grade(&Answer::Plans(plans), "", &run);
        assert_eq!(of(vec![plan(&["ocr", "count"])]), Some(1.0));
        assert_eq!(of(vec![plan(&["ocr"]), plan(&["tag"])]), Some(2.0 / 3.0));
        assert_eq!(of(vec![plan(&["tag"])]), Some(0.0));
    }
}
