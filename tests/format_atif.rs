//! ATIF documents of versions 1.7 and 1.8.
#![allow(clippy::unwrap_used)]

mod common;
use common::check::check;
use common::prune::read;
use common::{LONG, spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::{Atif, WireFormat};
use spare::trajectory::{Frozen, Part, PictureSource, Role, SegmentKind, VisibleText, segments};

const V1_7: &str = include_str!("data/formats/atif/v1_7.json");
const V1_8: &str = include_str!("data/formats/atif/v1_8.json");

#[test]
fn steps_become_messages_with_their_results() {
    let (run, format) = read(V1_7);
    assert_eq!(format.name(), "atif");
    let roles: Vec<Role> = run.messages.iter().map(|m| m.role).collect();
    use Role::{Assistant, System, Tool, User};
    assert_eq!(
        roles,
        [System, User, Assistant, Tool, Assistant, Tool, Assistant]
    );
    assert_eq!((run.id.as_deref(), run.tools.len()), (Some("t-1"), 1));
    assert_eq!(run.messages[3].answers.as_deref(), Some("c1"));
    assert_eq!(run.messages.iter().flat_map(|m| m.pictures()).count(), 2);
    let call = &run.messages[4].calls[0];
    assert_eq!(
        call.string_argument("summary").as_deref(),
        Some("Question: the meter. Seen: 42.7 on the dial.")
    );
    let found = segments(&run, VisibleText::Auto);
    assert!(
        found
            .iter()
            .all(|s| s.kind == SegmentKind::Field && s.frozen.is_none() && s.may_be_empty)
    );
    assert_eq!(
        found.iter().map(|s| s.message).collect::<Vec<_>>(),
        [2, 4, 6]
    );
}

#[test]
fn nothing_of_version_1_8_is_dropped() {
    let (run, format) = read(V1_8);
    assert_eq!(format.name(), "atif");
    let other: Vec<&Value> = run
        .messages
        .iter()
        .flat_map(|m| &m.parts)
        .filter_map(|p| match p {
            Part::Other(value) => Some(value),
            _ => None,
        })
        .collect();
    // Audio is carried; a picture at a URL is one that is not opened.
    assert_eq!(other.len(), 1);
    let mut pictures = run.messages.iter().flat_map(|m| m.pictures());
    assert!(pictures.any(|p| matches!(p.source, PictureSource::Unopened(_))));
    // A step that no model wrote holds no reasoning; the visible text of the other is.
    let found = segments(&run, VisibleText::Auto);
    assert_eq!(
        found
            .iter()
            .map(|s| s.frozen.map(Frozen::code))
            .collect::<Vec<_>>(),
        [Some("atif_no_model_call"), None]
    );
    assert!(found[1].text.starts_with("I compare"));
    // A run inside the run is its own.
    assert!(!found.iter().any(|s| s.text.contains("child")));
}

#[test]
fn only_reasoning_changes() {
    for which in 0..3 {
        for (source, sigma) in [
            (V1_7, None),
            (V1_7, Some("The meter: 42.7.")),
            (V1_8, Some("Door 13.")),
        ] {
            let pruned = check(source, sigma, &|s| {
                which == 1 || (which == 2 && s.index % 2 == 0)
            });
            assert!(
                pruned.plans().iter().any(|p| p.changes()),
                "{}",
                pruned.after
            );
            let (mut was, mut now): (Value, Value) = (
                serde_json::from_str(source).unwrap(),
                serde_json::from_str(&pruned.after).unwrap(),
            );
            for segment in &pruned.segments {
                for value in [&mut was, &mut now] {
                    *value.pointer_mut(&segment.places[0].pointer).unwrap() = Value::Null;
                }
            }
            assert_eq!(was, now);
            // Keys stay, as strings.
            let now: Value = serde_json::from_str(&pruned.after).unwrap();
            assert!(
                pruned
                    .segments
                    .iter()
                    .all(|s| now.pointer(&s.places[0].pointer).unwrap().is_string())
            );
            assert!(pruned.after.contains("-3e-2") || source == V1_8);
        }
    }
}

#[test]
fn bad_documents_say_what_and_where() {
    let step = |step: Value| json!({"schema_version": "ATIF-v1.7", "steps": [step]});
    for (value, says) in [
        (
            json!({"schema_version": "ATIF-v1.7"}),
            vec!["top level", "without `steps`", "`schema_version`"],
        ),
        (
            json!({"schema_version": "ATIF-v1.7", "steps": []}),
            vec!["/steps", "empty list"],
        ),
        (
            json!({"schema_version": "ATIF-v1.7", "steps": 3}),
            vec!["/steps", "the number 3"],
        ),
        (step(json!(1)), vec!["/steps/0", "the number 1"]),
        (
            step(json!({"step_id": 1})),
            vec!["/steps/0", "without `source`", "`step_id`"],
        ),
        (
            step(json!({"source": "robot"})),
            vec!["/steps/0/source", "`robot`", "system, user or agent"],
        ),
        (
            step(json!({"source": "user", "message": 5})),
            vec!["/steps/0/message", "the number 5"],
        ),
        (
            step(json!({"source": "user", "message": [{"text": "a"}]})),
            vec!["/steps/0/message/0", "`type`"],
        ),
        (
            step(json!({"source": "user", "message": [{"type": "image"}]})),
            vec!["/steps/0/message/0", "`source.path`"],
        ),
        (
            step(json!({"source": "agent", "message": "", "reasoning_content": ["a"]})),
            vec!["/steps/0/reasoning_content", "an array of 1"],
        ),
        (
            step(json!({"source": "agent", "message": "", "tool_calls": [{"tool_call_id": "c"}]})),
            vec!["/steps/0/tool_calls/0", "`function_name`"],
        ),
        (
            step(
                json!({"source": "agent", "message": "", "observation": {"results": [{"source_call_id": "z"}]}}),
            ),
            vec!["/steps/0/observation/results/0", "result for call `z`"],
        ),
    ] {
        assert!(Atif.detect(&value));
        let error = Atif.read(&value).unwrap_err().to_string();
        for part in says {
            assert!(error.contains(part), "`{error}` lacks {part}");
        }
    }
}

/// What the generated runs reason.
fn reasoning() -> impl Strategy<Value = String> {
    text().prop_map(|t| t.replace("think>", "thing>"))
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn generated_runs(
        texts in prop::collection::vec(reasoning(), 1..5),
        field in any::<bool>(),
        named in any::<bool>(),
        chosen in prop_oneof![Just(0u8), any::<u8>()],
        mut seed in any::<u64>(),
    ) {
        let texts: Vec<String> = texts.iter().map(|t| format!("{t}{LONG}")).collect();
        let mut steps = vec![json!({"step_id": 1, "source": "user", "message": texts.concat()})];
        for (n, text) in texts.iter().enumerate() {
            let mut step = json!({"step_id": n + 2, "source": "agent", "message": "", "metrics": {"cost_usd": 0.10},
                "tool_calls": [{"tool_call_id": "same", "function_name": "zoom", "arguments": {"n": n}}],
                "observation": {"results": [{"source_call_id": "same", "content": text}]}});
            step[if field { "reasoning_content" } else { "message" }] = text.as_str().into();
            steps.push(step);
        }
        steps.push(json!({"step_id": 9, "source": "agent", "message": "Done."}));
        let mut value = json!({"steps": steps});
        if named {
            value["schema_version"] = "ATIF-v1.8".into();
        }
        let source = spell(&value, &mut seed);
        let (run, format) = read(&source);
        prop_assert_eq!(format.name(), "atif");
        let found: Vec<String> = segments(&run, VisibleText::Auto).into_iter().map(|s| s.text).collect();
        prop_assert_eq!(&found, &texts);
        let pruned = check(&source, Some("All is done."), &|s| chosen >> (s.index % 8) & 1 == 1);
        if chosen == 0 {
            prop_assert!(pruned.plans()[0].changes());
        }
    }
}
