//! A value that the summary corrects is no evidence, and is named with what corrects it. No model.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::prune::tokens;
use serde_json::json;
use spare::formats::openai_chat;
use spare::plan::{Correction, Event, EventInput, EventPlan, PlanOptions, Verdict, build};
use spare::rules::{Decision, Superseded};
use spare::score::{EventScores, SegmentScores};
use spare::summary::Sigma;
use spare::trajectory::{VisibleText, segments};

const GUESS: &str = "Next I need the left water meter, which is small. At this size it looks like 2344, but the label beside it says \"Main Street 17\" quite clearly, so I crop the part and look at it once more. There is a lot in this picture, and only some of it matters for what was asked; the light is dim, the wall is grey, and the shadows of the trees lie over most of what stands in the middle of it.";

/// The plan of one sensitive segment whose values are all sensitive; the first one is corrected, or none is.
fn plan(corrected: bool, keep_atoms: bool, second: &str) -> EventPlan {
    let turn =
        |text: &str| json!({"role": "assistant", "content": "I look.", "reasoning_content": text});
    let run = json!({"messages": [{"role": "user", "content": "Read it."}, turn(GUESS), turn(second), {"role": "user", "content": "And?"}]});
    let run = openai_chat::read(&run.to_string()).unwrap();
    let all = segments(&run, VisibleText::Auto);
    let mut scores = EventScores::default();
    let mut decisions = Vec::new();
    for segment in &all {
        let spans = tokens(&segment.text);
        decisions.push(Decision {
            segment: segment.index,
            sensitive: segment.index == 0,
            tokens: (0..spans.len()).collect(),
            needed: 1,
            superseded: match segment.index {
                0 if corrected => vec![Superseded {
                    atom: 0,
                    by: "2349".into(),
                }],
                _ => Vec::new(),
            },
        });
        scores.segments.push(SegmentScores {
            segment: segment.index,
            token_ids: vec![0; spans.len()],
            spans,
            ..SegmentScores::default()
        });
    }
    build(
        &EventInput {
            run: &run,
            event: &Event {
                index: 0,
                at: 3,
                recorded: None,
                decided: false,
                candidates: all.iter().map(|s| s.index).collect(),
            },
            segments: &all,
            sigma: &Sigma::from_call("left water meter: 2349".into()),
            scores: &scores,
            decisions: &decisions,
            hidden: &[],
            count: &|text| tokens(text).len(),
            writer: None,
        },
        &PlanOptions {
            keep_atoms,
            ..PlanOptions::default()
        },
    )
}

const NOTHING: &str =
    "I keep the question in mind while I work and go on with the next part of the picture.";

#[test]
fn a_corrected_value_is_not_written_and_is_named() {
    for keep_atoms in [false, true] {
        let plan = plan(true, keep_atoms, NOTHING);
        let text = plan.segments[0].text.as_deref().unwrap();
        assert_eq!(plan.segments[0].verdict, Verdict::Evidence);
        assert!(
            text.contains("Main Street 17") && !text.contains("2344"),
            "{text}"
        );
        assert_eq!(plan.survival.lost, Vec::<String>::new());
        let named = Correction {
            value: "2344".into(),
            by: "2349".into(),
        };
        assert_eq!(plan.survival.superseded, [named]);
    }
}

#[test]
fn without_a_correction_it_is_written() {
    let plan = plan(false, false, NOTHING);
    assert!(plan.segments[0].text.as_deref().unwrap().contains("2344"));
    assert_eq!(plan.survival.superseded, []);
}

/// The same digits mean something else in another sentence: gone there, they are lost and not corrected.
#[test]
fn another_mention_is_a_value_of_its_own() {
    let other = "The house across the road has the number 2344 as well, which is a coincidence, and I keep that in mind for the answer.";
    let plan = plan(true, false, other);
    assert_eq!(plan.survival.lost, ["2344"]);
    assert_eq!(plan.survival.superseded, []);
}
