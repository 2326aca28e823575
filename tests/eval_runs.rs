//! Are the labelled runs what they say? Every value of every candidate is labelled, every label is true, and the same seed gives the same bytes.

#![cfg(feature = "engine")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use sha2::{Digest, Sha256};
use spare::eval::text::{Verbosity, Wording};
use spare::eval::{DEV_SEED, Labelled, Labels, MentionKind, TEST_SEED, board, text};
use spare::formats;
use spare::trajectory::{Trajectory, VisibleText, atoms, segments};

fn read(run: &Labelled) -> (Trajectory, Labels) {
    let format = formats::format_of(&run.json, None).unwrap();
    let labels = serde_json::from_value(run.json["metadata"].clone()).unwrap();
    (format.read(&run.json).unwrap(), labels)
}

fn texts(test: bool) -> impl Iterator<Item = Labelled> {
    let seed = if test { TEST_SEED } else { DEV_SEED };
    [Verbosity::Terse, Verbosity::Standard, Verbosity::Verbose]
        .into_iter()
        .flat_map(move |v| (0..60).map(move |i| text::run(seed, i, v, Wording::Plain, test)))
}

fn boards(test: bool) -> impl Iterator<Item = Labelled> {
    let seed = if test { TEST_SEED } else { DEV_SEED };
    (0..20).map(move |i| board::run(seed, i, test).unwrap())
}

#[test]
fn every_value_of_a_candidate_has_one_label() {
    for run in texts(false).chain(texts(true)).chain(boards(false)) {
        let (trajectory, labels) = read(&run);
        let last = labels.mentions.iter().map(|m| m.message).max().unwrap();
        for segment in segments(&trajectory, VisibleText::Auto)
            .iter()
            .filter(|s| s.message <= last)
        {
            let own: Vec<_> = labels
                .mentions
                .iter()
                .filter(|m| m.message == segment.message)
                .collect();
            for atom in atoms(&segment.text) {
                let over = own
                    .iter()
                    .filter(|m| m.start < atom.end && atom.start < m.end);
                assert_eq!(
                    over.count(),
                    1,
                    "{:?} of {:?}",
                    atom.text(&segment.text),
                    segment.text
                );
            }
            for mention in own {
                assert_eq!(&segment.text[mention.start..mention.end], mention.value);
            }
        }
    }
}

#[test]
fn summaries_state_what_they_say_and_nothing_else() {
    for run in texts(false).chain(texts(true)).chain(boards(true)) {
        let (_, labels) = read(&run);
        for variant in &labels.variants {
            for (i, fact) in labels.facts.iter().enumerate() {
                let stated = variant
                    .text
                    .to_lowercase()
                    .contains(&fact.statement.to_lowercase());
                let wrong = variant.name == "wrong" && variant.fact == Some(i);
                assert_eq!(
                    stated,
                    variant.states.contains(&i) && !wrong,
                    "{} in {}",
                    fact.statement,
                    variant.text
                );
            }
            if variant.name == "omit" {
                assert!(!variant.states.contains(&variant.fact.unwrap()));
            }
        }
    }
}

#[test]
fn a_guess_is_corrected_and_a_place_stands_in_its_call() {
    for run in texts(true).chain(boards(false)) {
        let (trajectory, labels) = read(&run);
        for mention in &labels.mentions {
            match mention.kind {
                MentionKind::Stale => {
                    assert_ne!(mention.value, labels.facts[mention.fact.unwrap()].value)
                }
                MentionKind::Fact => {
                    assert_eq!(mention.value, labels.facts[mention.fact.unwrap()].value)
                }
                MentionKind::Place => {
                    let call = trajectory.messages[mention.message].calls[0].arguments_text();
                    let digits = |t: &str| {
                        t.chars()
                            .filter(|c| c.is_ascii_digit() || *c == ',')
                            .collect::<String>()
                    };
                    assert_eq!(digits(&call), digits(&mention.value));
                }
                MentionKind::Filler => assert_eq!(mention.fact, None),
            }
        }
    }
}

#[test]
fn the_runs_are_those_that_the_rules_were_settled_with() {
    let hash = |runs: &mut dyn Iterator<Item = Labelled>| {
        let mut hash = Sha256::new();
        for run in runs {
            hash.update(run.json.to_string());
            run.pictures
                .iter()
                .for_each(|(_, bytes)| hash.update(bytes));
        }
        spare::plan::hex(&hash.finalize())[..16].to_owned()
    };
    let found = [
        hash(&mut texts(false)),
        hash(&mut texts(true)),
        hash(&mut boards(false)),
        hash(&mut boards(true)),
    ];
    assert_eq!(
        found,
        [
            "2c159dd4bdbd05f3",
            "175fb1a7ee3a4d25",
            "34b6578296e7b90d",
            "ac1f23a98dad747f"
        ]
    );
}
