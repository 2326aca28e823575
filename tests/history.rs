//! Reading runs, finding reasoning, editing bytes and undoing it. No model.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Style, run, spell, style, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::{Edit, apply, openai_chat};
use spare::plan::{Receipt, TextHash, restore};
use spare::trajectory::{Frozen, SegmentKind, VisibleText, segments};

#[test]
fn bad_runs_say_what_where_and_what_was_expected() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("data/bad_runs.json")).unwrap();
    assert!(cases.len() > 20);
    for case in cases {
        let error = openai_chat::read(case["run"].as_str().unwrap())
            .unwrap_err()
            .to_string();
        for part in case["says"].as_array().unwrap() {
            assert!(
                error.contains(part.as_str().unwrap()),
                "{}: `{error}` lacks {part}",
                case["name"]
            );
        }
    }
}

fn found(run: &Value, visible: VisibleText) -> Vec<(usize, SegmentKind, String, Option<Frozen>)> {
    let run = openai_chat::read(&run.to_string()).unwrap();
    segments(&run, visible)
        .into_iter()
        .map(|s| (s.message, s.kind, s.text, s.frozen))
        .collect()
}

#[test]
fn visible_text_is_reasoning_only_where_the_run_has_no_other() {
    let call = json!([{"id": "c", "function": {"name": "f", "arguments": "{}"}}]);
    let run = |extra: Value| {
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": "I look.", "tool_calls": call},
               {"role": "tool", "tool_call_id": "c", "content": "r"}, extra])
    };
    let plain = run(json!({"role": "assistant", "content": "The answer."}));
    let visible = (1, SegmentKind::Visible, "I look.".to_owned(), None);
    assert_eq!(
        found(&plain, VisibleText::Auto),
        std::slice::from_ref(&visible)
    );
    assert_eq!(found(&plain, VisibleText::Keep), []);
    let field = run(json!({"role": "assistant", "content": "The answer.", "reasoning": "hm"}));
    assert_eq!(
        found(&field, VisibleText::Auto),
        [(3, SegmentKind::Field, "hm".into(), None)]
    );
    assert_eq!(found(&field, VisibleText::Prune).first(), Some(&visible));
    // Null and empty fields are what some clients write everywhere; they are not reasoning.
    let null = run(
        json!({"role": "assistant", "content": "The answer.", "reasoning_content": null, "reasoning": ""}),
    );
    assert_eq!(found(&null, VisibleText::Auto), [visible]);
    let think = run(json!({"role": "assistant", "content": "<think>hm</think>The answer."}));
    assert_eq!(
        found(&think, VisibleText::Auto),
        [(3, SegmentKind::Think, "hm".into(), None)]
    );
}

#[test]
fn think_tags_are_read_as_models_write_them() {
    let of = |content: &str| {
        found(
            &json!([{"role": "assistant", "content": content}]),
            VisibleText::Auto,
        )
    };
    let one = |text: &str, frozen| vec![(0, SegmentKind::Think, text.to_owned(), frozen)];
    assert_eq!(of("<think>\nhm\n\n</think>\n\nSo."), one("hm", None));
    assert_eq!(
        of("closer to 41.5.</think>\n\n41.5"),
        one("closer to 41.5.", None)
    );
    assert_eq!(
        of("<think>Counting: one, two, fi"),
        one("Counting: one, two, fi", Some(Frozen::UnclosedThink))
    );
    assert_eq!(
        of("<think>Only this.</think>\n\n"),
        one("Only this.", Some(Frozen::MessageWouldBeEmpty))
    );
    assert_eq!(of("There are <think 5 bolts."), []);
    assert_eq!(of("<think>\n\n</think>\n\nSo."), []);
    assert_eq!(of("Write <think>x</think> at the start."), []);
    assert_eq!(of("<think>\nEvidence:\nNumber: 5\n</think>So."), []);
}

#[test]
fn what_must_stay_is_frozen() {
    let of = |message: Value| found(&json!([message]), VisibleText::Auto).remove(0).3;
    assert_eq!(
        of(json!({"role": "assistant", "content": "a", "reasoning": "x"})),
        None
    );
    assert_eq!(
        of(json!({"role": "assistant", "content": null, "reasoning": "x"})),
        Some(Frozen::MessageWouldBeEmpty)
    );
    assert_eq!(
        of(
            json!({"role": "assistant", "content": "a", "reasoning": "x", "reasoning_content": "y"})
        ),
        Some(Frozen::CopiesDisagree)
    );
    assert_eq!(
        of(
            json!({"role": "assistant", "content": "a", "reasoning": "x", "reasoning_details": [{"type": "reasoning.encrypted"}]})
        ),
        Some(Frozen::ReasoningDetails)
    );
}

fn expected(style: Style, reasonings: &[String]) -> Vec<String> {
    let blank = |text: &&String| !text.trim().is_empty();
    let texts = reasonings.iter().filter(blank);
    match style {
        Style::Think => texts.map(|text| text.trim().to_owned()).collect(),
        _ => texts.cloned().collect(),
    }
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn an_edit_changes_its_own_bytes_and_restore_brings_them_back(
        style in style(),
        reasonings in prop::collection::vec(text(), 1..5),
        new in text(),
        chosen in any::<u8>(),
        mut seed in any::<u64>(),
    ) {
        // In a content a tag would be one; a field holds it as any other word.
        let plain = |text: &String| match style {
            Style::Field | Style::NewField | Style::BothFields => text.clone(),
            _ => text.replace("think>", "thing>"),
        };
        let reasonings: Vec<String> = reasonings.iter().map(plain).collect();
        let value = run(style, &reasonings);
        let source = spell(&value, &mut seed);
        let read = openai_chat::read(&source).unwrap();
        let all = segments(&read, VisibleText::Auto);
        prop_assert_eq!(all.iter().map(|s| s.text.clone()).collect::<Vec<_>>(), expected(style, &reasonings));

        let picked: Vec<_> = all.iter().filter(|s| chosen >> (s.index % 8) & 1 == 1).collect();
        let edits: Vec<Edit> = picked
            .iter()
            .flat_map(|s| s.places.iter().map(|place| Edit::Text { place: place.clone(), text: new.clone() }))
            .collect();
        let (after, replaced) = apply(&source, &edits).unwrap();

        // Every other byte is where it was.
        let (mut from, mut at) = (0, 0);
        for r in &replaced {
            let same = r.start - at;
            prop_assert_eq!(&after[from..from + same], &source[at..r.start]);
            prop_assert_eq!(&source[r.start..r.start + r.old.len()], r.old.as_str());
            (from, at) = (from + same + r.new_len, r.start + r.old.len());
        }
        prop_assert_eq!(&after[from..], &source[at..]);

        // The value differs in the picked strings only.
        let mut wanted: Value = serde_json::from_str(&source).unwrap();
        for edit in &edits {
            let Edit::Text { place, .. } = edit else { unreachable!() };
            let slot = wanted.pointer_mut(&place.pointer).unwrap();
            let mut text = slot.as_str().unwrap().to_owned();
            text.replace_range(place.range.clone(), &new);
            *slot = text.into();
        }
        prop_assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), wanted);

        let receipt = Receipt { schema: 1, before: TextHash::of(&source), after: TextHash::of(&after), replaced, ..Receipt::default() };
        let line = serde_json::to_string(&receipt).unwrap();
        let receipt: Receipt = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(restore(&after, &receipt).unwrap(), source.clone());
        if after != source {
            prop_assert!(restore(&source, &receipt).is_err());
        }
    }

    #[test]
    fn no_text_panics(source in "\\PC{0,80}", json in "[\\[\\]{}\":,a-z0-9\\\\ ]{0,60}") {
        let _ = openai_chat::read(&source);
        let _ = openai_chat::read(&json);
        let _ = openai_chat::read(&format!("{{\"messages\": [{{\"role\": \"assistant\", \"content\": {json}}}]}}"));
    }
}
