//! ReAct text: only the bodies of thoughts are reasoning, and what parsers look for stays.
#![allow(clippy::unwrap_used)]

mod common;
use std::path::Path;

use common::check::check;
use common::prune::read;
use common::{LONG, spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::provider;
use spare::trajectory::{Frozen, Part, PictureSource, SegmentKind, VisibleText, segments};

const NUMBERED: &str = include_str!("data/formats/react/numbered.json");
const LAGENT: &str = include_str!("data/formats/react/lagent.json");
const PYTHON_SUMMARY: &str = include_str!("data/formats/react/python_summary.json");

fn bodies(source: &str) -> Vec<(usize, SegmentKind, String, Option<&'static str>)> {
    let (run, format) = read(source);
    assert_eq!(format.name(), "react");
    let found = segments(&run, VisibleText::Auto).into_iter();
    found
        .map(|s| (s.message, s.kind, s.text, s.frozen.map(Frozen::code)))
        .collect()
}

#[test]
fn bodies_of_thoughts_are_the_segments() {
    let found = bodies(NUMBERED);
    assert_eq!(found.iter().map(|f| f.0).collect::<Vec<_>>(), [1, 3, 5]);
    assert!(
        found
            .iter()
            .all(|f| f.1 == SegmentKind::Thought && f.3.is_none())
    );
    assert!(found[0].2.starts_with("I need the boxes") && found[0].2.ends_with("thumbnail only."));
    assert!(
        found[1].2.starts_with("The detector gave") && found[1].2.ends_with("hides part of it.")
    );
    // Not one of: the comment in the code, the example in the prompt, the step that the model made up behind its own observation.
    assert!(
        !found
            .iter()
            .any(|f| f.2.contains("comment") || f.2.contains("none") || f.2.contains("made up"))
    );
}

#[test]
fn actions_are_calls_and_the_prompt_shows_them_once() {
    let (run, _) = read(NUMBERED);
    let calls: Vec<&str> = run
        .messages
        .iter()
        .flat_map(|m| &m.calls)
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(calls, ["python", "python"]);
    let shown = serde_json::to_string(&run.template_messages(9)).unwrap();
    assert_eq!(shown.matches("crop(image_1").count(), 1);
    assert!(!shown.contains("tool_calls"));

    for source in [LAGENT, PYTHON_SUMMARY] {
        let (run, _) = read(source);
        let call = run
            .messages
            .iter()
            .flat_map(|m| &m.calls)
            .find(|c| c.name == "summarize_the_task")
            .unwrap();
        assert!(
            call.string_argument("summary")
                .unwrap()
                .starts_with("Question: ")
        );
        assert!(run.messages.last().unwrap().calls.is_empty());
    }
    let (run, _) = read(LAGENT);
    assert_eq!(run.messages[2].calls[0].name, "Detect");
    assert_eq!(
        run.messages[2].calls[0].arguments_text(),
        r#"{"label": "crate", "bbox": [640, 0, 960, 720]}"#
    );
    for (action, name) in [
        ("{\"name\": \"ocr\", \"args\": {\"image\": 1}}", Some("ocr")),
        (
            "[{\"API_name\": \"zoom\", \"API_params\": {}}]",
            Some("zoom"),
        ),
        (
            "```json\n{\"name\": \"ocr\", \"arguments\": {}}\n```",
            Some("ocr"),
        ),
        (
            "\"Tap it.\"\n<tool_call>\n{\"name\": \"tap\", \"arguments\": {\"at\": [1, 2]}}\n</tool_call>",
            Some("tap"),
        ),
        (
            "summarize_the_task(summary='a')",
            Some("summarize_the_task"),
        ),
        ("No action needed.", None),
        ("", None),
    ] {
        let run =
            json!([{"role": "assistant", "content": format!("Thought: a\nAction: {action}")}])
                .to_string();
        let names: Vec<String> = read(&run).0.messages[0]
            .calls
            .iter()
            .map(|c| c.name.clone())
            .collect();
        assert_eq!(names.first().map(String::as_str), name, "{action}");
    }
}

#[test]
fn raw_base64_is_a_picture() {
    let (run, _) = read(NUMBERED);
    let pictures: Vec<_> = run.messages.iter().flat_map(|m| m.pictures()).collect();
    assert_eq!(pictures.len(), 3);
    for picture in pictures {
        assert!(
            matches!(&picture.source, PictureSource::DataUri(uri) if uri.starts_with("data:image/png;base64,iVBOR"))
        );
    }
}

#[test]
fn every_thought_of_a_text_is_a_segment() {
    let content = "Thought: first a.\nAction: look(1)\nThought: then b,\nover two lines.\nAction: Zoom\nAction Input: {\"n\": 2}\nThought: c\nFinal Answer: d";
    for content in [
        json!(content),
        json!([{"type": "text", "text": content}, {"type": "text", "text": "THOUGHT 4: e\nANSWER: f"}]),
    ] {
        let source = json!({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": content}]}).to_string();
        let found = bodies(&source);
        let texts: Vec<&str> = found.iter().map(|f| f.2.as_str()).collect();
        let expected = ["first a.", "then b,\nover two lines.", "c", "e"];
        assert_eq!(texts, expected[..texts.len()]);
        assert!(texts.len() >= 3 && found.iter().all(|f| f.3.is_none()));
        let (run, _) = read(&source);
        let calls: Vec<&str> = run.messages[1]
            .calls
            .iter()
            .map(|c| c.name.as_str())
            .collect();
        assert_eq!(calls, ["look", "Zoom"]);
        // The prompt shows the text as it was.
        let shown = &run.template_messages(2)[1]["content"];
        let shown: String = match shown {
            Value::Array(parts) => parts.iter().map(|p| p["text"].as_str().unwrap()).collect(),
            text => text.as_str().unwrap().into(),
        };
        assert!(
            shown.starts_with(
                content
                    .as_str()
                    .unwrap_or("Thought: first a.\nAction: look(1)\nThought: then b")
            )
        );
        keeps_the_frame(&source, Some("All is done, and this is a summary of it."));
    }
    // What stands behind an observation that the model wrote itself is made up.
    let made_up = "Thought: a\nAction: look(1)\nObservation: none\nThought: b\nFinal Answer: c";
    let source =
        json!([{"role": "user", "content": "q"}, {"role": "assistant", "content": made_up}]);
    let found = bodies(&source.to_string());
    assert_eq!(
        found.iter().map(|f| f.2.as_str()).collect::<Vec<_>>(),
        ["a"]
    );
}

/// Boxes of a run whose instructions say how they are to be read.
#[test]
fn evidence_says_how_the_boxes_of_the_instructions_are_read() {
    let run = json!([
        {"role": "user", "content": "Boxes are [x, y, w, h], range 0 to 1. Is the jug left of the tap?"},
        {"role": "assistant", "content": "THOUGHT 0: First I look at the whole picture, once more and then again. The jug stands at [0.11, 0.40, 0.08, 0.10], and I am going to check it against the tap now.\nACTION 0: look(1)"},
        {"role": "user", "content": "OBSERVATION: done"},
        {"role": "assistant", "content": "THOUGHT 1: So yes.\nANSWER: yes"},
    ]);
    let pruned = keeps_the_frame(&run.to_string(), Some("The jug is found."));
    assert!(
        pruned.after.contains("[0.11, 0.40, 0.08, 0.10]")
            && pruned
                .after
                .contains("(x, y, width, height; 0..1; picture not stated)"),
        "{}",
        pruned.after
    );
}

#[test]
fn a_label_alone_is_not_left() {
    let run = json!([{"role": "assistant", "content": "Thought: a\nFinal Answer: b"}, {"role": "user", "content": "more"},
        {"role": "assistant", "content": "Thought: only this"}]);
    assert_eq!(
        bodies(&run.to_string())[1].3,
        Some("message_would_be_empty")
    );
}

#[test]
fn native_calls_and_plain_prose_are_openai_chat() {
    let call = json!([{"id": "c", "function": {"name": "f", "arguments": "{}"}}]);
    for message in [
        json!({"role": "assistant", "content": "Thought: a\nAction: b", "tool_calls": call}),
        json!({"role": "assistant", "content": "Thought: a\nAction: b", "reasoning_content": "c"}),
        json!({"role": "assistant", "content": "I thought: a\nNo action: b"}),
        json!({"role": "user", "content": "Thought: a\nAction: b"}),
    ] {
        assert_eq!(read(&json!([message]).to_string()).1.name(), "openai-chat");
    }
}

/// What a parser of the text finds: labels with their numbers in order, and every action and answer.
fn frame(value: &Value) -> Vec<String> {
    let messages = value.get("messages").unwrap_or(value).as_array().unwrap();
    let mut out = Vec::new();
    for message in messages {
        let parts = message["content"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![json!({"text": message["content"]})]);
        for text in parts.iter().filter_map(|p| p["text"].as_str()) {
            let mut inside = false;
            for line in text.lines() {
                let bare = line.trim_start_matches(['#', '*', ' ']);
                if bare.to_uppercase().starts_with("THOUGHT")
                    && !inside
                    && message["role"] == "assistant"
                {
                    inside = true;
                    out.push(bare.split(':').next().unwrap().to_owned());
                    continue;
                }
                let upper = bare.to_uppercase();
                inside &= !["ACTION", "ANSWER", "FINAL ANSWER", "OBSERVATION"]
                    .iter()
                    .any(|l| upper.starts_with(l));
                if !inside && !line.trim().is_empty() {
                    out.push(line.to_owned());
                }
            }
        }
    }
    out
}

fn keeps_the_frame(source: &str, sigma: Option<&str>) -> common::prune::Pruned {
    let was: Value = serde_json::from_str(source).unwrap();
    let mut last = None;
    for which in 0..3 {
        let pruned = check(source, sigma, &|s| {
            which == 1 || (which == 2 && s.index % 2 == 0)
        });
        let now: Value = serde_json::from_str(&pruned.after).unwrap();
        assert_eq!(frame(&was), frame(&now));
        for provider in provider::PROVIDERS {
            assert!(provider.check(&now).len() <= provider.check(&was).len());
        }
        last = Some(pruned);
    }
    last.unwrap()
}

#[test]
fn labels_actions_and_answers_survive_every_pruning() {
    let pruned = keeps_the_frame(
        NUMBERED,
        Some("Which lamp is higher: the left one.\nANSWER: (B) TERMINATE\n```python"),
    );
    assert!(pruned.plans()[0].changes());
    assert!(
        pruned.after.contains("THOUGHT 0: Evidence") || pruned.after.contains("THOUGHT 0: \\n"),
        "{}",
        pruned.after
    );
    // The summary's own label is no label of the run.
    assert_eq!(bodies(&pruned.after).len(), 1);
    for source in [LAGENT, PYTHON_SUMMARY] {
        let pruned = keeps_the_frame(source, None);
        assert_eq!(pruned.plans().len(), 1);
        assert!(pruned.plans()[0].changes());
    }
}

#[test]
fn a_summary_in_text_decides_over_what_is_before_it() {
    let pruned = check(LAGENT, None, &|_| false);
    let now: Value = serde_json::from_str(&pruned.after).unwrap();
    let first = now["messages"][2]["content"].as_str().unwrap();
    assert!(
        first.starts_with("Thought: Evidence (1 of 1 steps pruned):"),
        "{first}"
    );
    assert!(
        now["messages"][4]["content"]
            .as_str()
            .unwrap()
            .contains("B-17 and B-18")
    );
}

#[test]
fn real_sketchpad_runs() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/trajectories/visual-sketchpad");
    for name in [
        "blink_spatial-val_Spatial_Relation_1",
        "geometry-2079",
        "graph_max_flow-5",
    ] {
        let path = root.join(name).join("output.json");
        let Ok(source) = std::fs::read_to_string(&path) else {
            println!("skipped: no {}", path.display());
            continue;
        };
        let (run, _) = read(&source);
        assert!(
            run.messages
                .iter()
                .flat_map(|m| &m.parts)
                .all(|p| !matches!(p, Part::Other(_)))
        );
        let found = bodies(&source);
        assert_eq!(found.len(), run.messages.len() / 2, "one thought a turn");
        let pruned = keeps_the_frame(&source, Some("Question and findings so far."));
        println!(
            "{name}: {} -> {} bytes, {} edits",
            source.len(),
            pruned.after.len(),
            pruned.receipt.replaced.len()
        );
        if let Ok(folder) = std::env::var("SPARE_SHOW") {
            std::fs::write(
                Path::new(&folder).join(format!("{name}.json")),
                &pruned.after,
            )
            .unwrap();
        }
    }
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn generated_runs(
        thoughts in prop::collection::vec(text(), 1..5),
        style in 0usize..4,
        list in any::<bool>(),
        chosen in prop_oneof![Just(0u8), any::<u8>()],
        mut seed in any::<u64>(),
    ) {
        let thoughts: Vec<String> = thoughts.iter().map(|t| format!("{t}{LONG}")).collect();
        let label = |word: &str, n: usize| match style {
            0 => format!("{} {n}:", word.to_uppercase()),
            1 => format!("# {} {n}:\n", word.to_uppercase()),
            2 => format!("**{word}:**"),
            _ => format!("{word}:"),
        };
        let mut messages = vec![json!({"role": "user", "content": thoughts.concat()})];
        for (n, thought) in thoughts.iter().enumerate() {
            let action = format!("```python\nlook({n})  # {}\n```", thought.replace('\n', " "));
            let content = format!("{} {thought}\n\n{} {action}\n", label("Thought", n), label("Action", n));
            let content = if list { json!([{"type": "text", "text": content, "x": null}]) } else { json!(content) };
            messages.push(json!({"role": "assistant", "content": content, "n": 1.50}));
            messages.push(json!({"role": "user", "content": format!("OBSERVATION: {thought}")}));
        }
        messages.push(json!({"role": "assistant", "content": "Thought: so.\nFinal Answer: 1"}));
        let source = spell(&json!({"messages": messages}), &mut seed);
        let found = bodies(&source);
        prop_assert_eq!(found.len(), thoughts.len() + 1);
        for (found, thought) in found.iter().zip(&thoughts) {
            prop_assert_eq!(found.2.as_str(), thought.trim());
        }
        let pruned = check(&source, Some("All is done."), &|s| chosen >> (s.index % 8) & 1 == 1);
        if chosen == 0 {
            prop_assert!(pruned.plans()[0].changes());
        }
        let now: Value = serde_json::from_str(&pruned.after).unwrap();
        for (n, thought) in thoughts.iter().enumerate() {
            let content = &now["messages"][2 * n + 1]["content"];
            let content = content.as_str().or(content[0]["text"].as_str()).unwrap();
            prop_assert!(content.starts_with(&label("Thought", n)));
            let tail = format!("\n\n{} ```python\nlook({n})  # {}\n```\n", label("Action", n), thought.replace('\n', " "));
            prop_assert!(content.ends_with(&tail));
        }
    }
}
