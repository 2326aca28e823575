//! smolagents memory steps: thoughts, plans, and every copy of them.
#![allow(clippy::unwrap_used)]

mod common;
use common::check::check;
use common::prune::read;
use common::{LONG, spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::{Smolagents, WireFormat};
use spare::trajectory::{Frozen, Part, Role, SegmentKind, VisibleText, segments};

const CODE: &str = include_str!("data/formats/smolagents/code_agent.json");
const TOOLS: &str = include_str!("data/formats/smolagents/tool_agent.json");
const STRUCTURED: &str = include_str!("data/formats/smolagents/structured.json");

#[test]
fn plans_and_thoughts_are_the_segments() {
    let (run, format) = read(CODE);
    assert_eq!(format.name(), "smolagents");
    let found = segments(&run, VisibleText::Auto);
    let starts: Vec<&str> = found.iter().map(|s| &s.text[..14]).collect();
    assert_eq!(
        starts,
        [
            "1. Crop the sh",
            "The picture is",
            "Seven jars on ",
            "Together it is"
        ]
    );
    assert!(
        found
            .iter()
            .all(|s| s.kind == SegmentKind::Thought && s.frozen.is_none() && s.may_be_empty)
    );
    assert!(
        found
            .iter()
            .all(|s| !s.text.contains("code>") && !s.text.contains("```"))
    );
    assert_eq!(run.messages[0].pictures().count(), 1);
    // A thought stands in its step, twice in the step's raw answer, and in the input of every later step.
    assert_eq!(
        found.iter().map(|s| s.places.len()).collect::<Vec<_>>(),
        [1 + 2 + 3, 1 + 2 + 2, 1 + 2 + 1, 1 + 2]
    );
    let value: Value = serde_json::from_str(CODE).unwrap();
    for segment in &found {
        for place in &segment.places {
            let text = value.pointer(&place.pointer).unwrap().as_str().unwrap();
            assert_eq!(
                &text[place.range.clone()],
                segment.text,
                "{}",
                place.pointer
            );
        }
    }
}

#[test]
fn code_is_shown_once_and_its_summary_is_a_call() {
    let (run, _) = read(CODE);
    let call = run
        .messages
        .iter()
        .flat_map(|m| &m.calls)
        .find(|c| c.name == "summarize_the_task")
        .unwrap();
    assert_eq!(
        call.string_argument("summary").unwrap(),
        "Question: jars. Done: lower board, 7 jars."
    );
    assert!(
        !serde_json::to_string(&run.template_messages(99))
            .unwrap()
            .contains("tool_calls")
    );
    let (run, _) = read(TOOLS);
    assert!(
        serde_json::to_string(&run.template_messages(99))
            .unwrap()
            .contains("tool_calls")
    );
    let tool = run.messages.iter().find(|m| m.role == Role::Tool).unwrap();
    assert_eq!(tool.answers.as_deref(), Some("a"));
    // Raw pixels have no size: they are carried.
    assert!(tool.parts.iter().any(|p| matches!(p, Part::Other(_))));
}

#[test]
fn a_thought_that_is_the_whole_text_never_becomes_empty() {
    let (run, _) = read(TOOLS);
    let found = segments(&run, VisibleText::Auto);
    // Not the text without a call: that was an answer to the parser.
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|s| !s.may_be_empty));
    let pruned = check(
        TOOLS,
        Some("The gate is A4, flight QF 118, gate A9."),
        &|_| false,
    );
    let now: Value = serde_json::from_str(&pruned.after).unwrap();
    for step in [1, 3] {
        assert!(
            !now["steps"][step]["model_output"]
                .as_str()
                .unwrap()
                .is_empty()
        );
    }
}

#[test]
fn a_thought_in_json_stays() {
    let (run, _) = read(STRUCTURED);
    let found = segments(&run, VisibleText::Auto);
    assert_eq!(
        found
            .iter()
            .map(|s| s.frozen.map(Frozen::code))
            .collect::<Vec<_>>(),
        [Some("smolagents_thought_in_json")]
    );
    assert_eq!(
        check(STRUCTURED, Some("Door."), &|_| false).after,
        STRUCTURED
    );
}

#[test]
fn all_copies_change_and_nothing_else() {
    for sigma in [None, Some("Jars: 7 below, QK-55 above.")] {
        for which in 0..3 {
            let pruned = check(CODE, sigma, &|s| {
                which == 1 || (which == 2 && s.index % 2 == 0)
            });
            assert!(pruned.plans().iter().any(|p| p.changes()));
            for segment in &pruned.segments {
                let old = CODE.matches(&segment.text[..16]).count();
                let new = pruned.after.matches(&segment.text[..16]).count();
                assert!(
                    new == 0 || new == old,
                    "{new} of {old} copies of {} are left",
                    segment.text
                );
            }
            for code in [
                "n = count(crop(image, [12, 30, 200, 310]))",
                "final_answer(9)",
                "Calling tools:",
                "</code>",
                "Thought: ",
            ] {
                assert_eq!(
                    pruned.after.matches(code).count(),
                    CODE.matches(code).count(),
                    "{code}"
                );
            }
        }
    }
}

#[test]
fn bad_steps_say_what_and_where() {
    let good = json!({"task": "a", "task_images": null});
    for (value, says) in [
        (
            json!([good, {"step_number": 1, "model_output": 5}]),
            vec!["/1/model_output", "the number 5"],
        ),
        (
            json!([good, {"step_number": 1, "model_output": "a", "tool_calls": 5}]),
            vec!["/1/tool_calls", "the number 5"],
        ),
        (
            json!([good, {"step_number": 1, "model_output": "a", "tool_calls": [{"id": "c"}]}]),
            vec!["/1/tool_calls/0", "function.name"],
        ),
        (
            json!([good, {"step_number": 1, "model_output": "a", "observations": []}]),
            vec!["/1/observations", "an array of 0"],
        ),
        (
            json!([{"task": 3, "task_images": null}]),
            vec!["/0/task", "the number 3"],
        ),
        (
            json!([{"task": "a", "task_images": 3}]),
            vec!["/0/task_images", "the number 3"],
        ),
    ] {
        assert!(Smolagents.detect(&value));
        let error = Smolagents.read(&value).unwrap_err().to_string();
        for part in says {
            assert!(error.contains(part), "`{error}` lacks {part}");
        }
    }
    let error = Smolagents
        .read(&json!({"steps": [{"a": 1}]}))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/steps/0: found an object without any key of a step (its keys: `a`)"),
        "{error}"
    );
    for other in [
        json!([{"role": "user", "content": "a"}]),
        json!([]),
        json!({"steps": [{"step_id": 1, "source": "user"}]}),
        json!(3),
        json!([{"task": "a"}]),
    ] {
        assert!(!Smolagents.detect(&other), "{other}");
    }
}

/// What the generated runs reason: nothing that reads as the start of code.
fn reasoning() -> impl Strategy<Value = String> {
    text().prop_map(|t| t.replace(['`', '<', ':', '{'], "-"))
}

proptest! {
    #![proptest_config(common::runs(300))]

    /// Outputs may repeat each other, and the history of each step repeats all of them.
    #[test]
    fn generated_runs(
        texts in prop::collection::vec(reasoning(), 1..5),
        twice in any::<bool>(),
        merged in any::<bool>(),
        label in any::<bool>(),
        chosen in prop_oneof![Just(0u8), any::<u8>()],
        mut seed in any::<u64>(),
    ) {
        let mut texts: Vec<String> = texts.iter().map(|t| format!("{t}{LONG}")).collect();
        if twice {
            texts.push(texts[0].clone());
        }
        let mut steps = vec![json!({"task": texts.concat(), "task_images": null})];
        let mut history: Vec<String> = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            let output = format!(" {}{text}\n<code>\nlook({n})\n</code>\n", if label { "Thought: " } else { "" });
            let assistant = |t: &String| json!({"role": "assistant", "content": [{"type": "text", "text": t}]});
            let input: Vec<Value> = match merged {
                true => vec![assistant(&history.join("\n"))],
                false => history.iter().map(assistant).collect(),
            };
            steps.push(json!({"step_number": n + 1, "model_input_messages": input, "model_output": output, "code_action": format!("look({n})"),
                "model_output_message": {"role": "assistant", "content": output, "raw": null}, "observations": text,
                "tool_calls": [{"id": "call", "type": "function", "function": {"name": "python_interpreter", "arguments": format!("look({n})")}}]}));
            history.push(output.trim().to_owned());
        }
        let source = spell(&json!(steps), &mut seed);
        let (run, format) = read(&source);
        prop_assert_eq!(format.name(), "smolagents");
        let found = segments(&run, VisibleText::Auto);
        prop_assert_eq!(found.iter().map(|s| s.text.as_str()).collect::<Vec<_>>(), texts.iter().map(|t| t.trim()).collect::<Vec<_>>());
        for (n, segment) in found.iter().enumerate() {
            prop_assert_eq!(segment.places.len(), 2 + (texts.len() - 1 - n));
        }
        let pruned = check(&source, Some("All is done."), &|s| chosen >> (s.index % 8) & 1 == 1);
        // A covered thought without values leaves the file, wherever it stood.
        if chosen == 0 {
            prop_assert!(pruned.plans()[0].changes());
        }
    }
}
