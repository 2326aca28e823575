//! The expert's episodes against the world that they are about.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::trajectory::{Message, Part, Role};

fn worlds(knobs: &Knobs, count: usize) -> impl Iterator<Item = (usize, Environment)> {
    let world = |index| Environment::new(knobs.task(DEV_SEED, index), DEV_SEED, index).unwrap();
    (0..count)
        .map(move |index| (index, world(index)))
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn every_kind_and_length_is_answered_by_the_expert() {
    let mut seen = std::collections::BTreeSet::new();
    for knobs in [Knobs::default(), Knobs::standard(), Knobs::conflict()] {
        for (index, world) in worlds(&knobs, 60) {
            let episode = world.episode(&knobs, DEV_SEED, index).unwrap();
            let last = episode.run.messages.last().unwrap();
            assert!(grade(&last.text(), &episode.answer), "{}", last.text());
            seen.insert((world.task.kind, world.task.steps));
            // What the tools bring is what the world answers, and every call is answered.
            let mut calls = episode.run.messages.iter().flat_map(|m| &m.calls);
            for message in episode.run.messages.iter().filter(|m| m.role == Role::Tool) {
                let call = calls.next().unwrap();
                assert_eq!(message.parts, world.answer(call).unwrap());
                assert_ne!(message.parts, vec![Part::text("There is no such cell.")]);
            }
            assert_eq!(calls.next(), None);
        }
    }
    for kind in Kind::ALL {
        assert!(seen.iter().any(|(k, _)| *k == kind), "{kind:?}");
    }
    assert!(
        (1..=8).all(|n| seen.iter().any(|(_, steps)| *steps == n)),
        "{seen:?}"
    );
}

#[test]
fn the_same_seed_is_the_same_run_and_another_index_another() {
    let knobs = Knobs::default();
    let line = |index| {
        let world = Environment::new(knobs.task(7, index), 7, index).unwrap();
        let (run, pictures) = world.episode(&knobs, 7, index).unwrap().to_openai();
        (run.to_string(), pictures)
    };
    assert_eq!(line(3), line(3));
    assert_ne!(line(3), line(4));
}

#[test]
fn openings_hold_a_guess_that_the_reading_contradicts() {
    let knobs = Knobs::conflict();
    let mut left_out = 0;
    for (index, world) in worlds(&knobs, 40) {
        let opening = world.opening(&knobs, DEV_SEED, index).unwrap();
        let values = world.task.values();
        let thoughts: Vec<String> = opening
            .run
            .messages
            .iter()
            .filter_map(Message::reasoning_text)
            .collect();
        let thoughts = thoughts.join(" ");
        assert!(!opening.conflicts.is_empty());
        for conflict in &opening.conflicts {
            assert_ne!(conflict.stale, values[conflict.step]);
            assert!(
                thoughts.contains(&conflict.stale) && thoughts.contains(&values[conflict.step])
            );
        }
        left_out += usize::from(opening.conflicts.iter().any(|c| !c.stated));
        let last = opening.run.messages.last().unwrap();
        assert_eq!(last.text(), crate::summary::SUMMARY_ANSWER);
    }
    assert!((10..40).contains(&left_out), "{left_out}");
}

#[test]
fn what_follows_from_values() {
    let task = |kind| {
        let thing = |colour, cell, value: &str| Thing {
            colour,
            figure: Figure::Circle,
            cell,
            value: value.into(),
        };
        Task {
            kind,
            things: vec![
                thing(0, (0, 1), "7"),
                thing(1, (2, 2), "3"),
                thing(2, (1, 1), "9"),
            ],
            steps: 3,
        }
    };
    let answer = |kind| task(kind).answer(&task(kind).values());
    assert_eq!(answer(Kind::Add), "total = 19");
    assert_eq!(answer(Kind::Count), "count = 2");
    assert_eq!(answer(Kind::Compare), "largest = blue circle");
    assert_eq!(
        answer(Kind::Order),
        "order = green circle, red circle, blue circle"
    );
    assert_eq!(answer(Kind::Locate), "cell = (0, 1)");
    assert_eq!(
        answer(Kind::Read),
        "red circle = 7, green circle = 3, blue circle = 9"
    );
    assert!(grade(" Total = 19. ", "total = 19") && !grade("total = 9", "total = 19"));
}

#[test]
fn calls_that_make_no_sense_are_answered_in_words() {
    let (_, world) = worlds(&Knobs::standard(), 1).next().unwrap();
    let call = |name: &str, arguments| crate::trajectory::ToolCall::new("c", name, arguments);
    let cases = [
        (
            call("crop", serde_json::json!({"cell": [3, 0]})),
            "There is no such cell.",
        ),
        (
            call("crop", serde_json::json!({})),
            "There is no such cell.",
        ),
        (
            call("fly", serde_json::json!({"cell": [0, 0]})),
            "There is no such tool.",
        ),
        (
            call("read_bar", serde_json::json!({"cell": [0, 0]})),
            "There is no bar in this cell.",
        ),
    ];
    for (call, words) in cases {
        assert_eq!(world.answer(&call).unwrap(), [Part::text(words)]);
    }
}
