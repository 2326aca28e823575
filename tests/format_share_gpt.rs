//! ShareGPT: placeholders, think tags inside texts, and the order of turns.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::format::{data, error, every_way, files, rules, violations};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::trajectory::{Part, PictureSource, SegmentKind};

const FORMAT: &str = "sharegpt";
const SIGMA: &str = "Question: which jar is it? See <image> and <video>. Evidence: label KX-407.";

fn count(text: &str, token: &str) -> usize {
    let value: Value = serde_json::from_str(text).unwrap();
    let turns = value["conversations"].as_array().unwrap();
    turns
        .iter()
        .map(|t| t["value"].as_str().unwrap().matches(token).count())
        .sum()
}

fn file(name: &str) -> String {
    data(&format!("{FORMAT}/{name}"))
}

#[test]
fn every_shape_is_pruned_and_restored() {
    for (name, text) in files(FORMAT) {
        for pruned in every_way(FORMAT, &text, Some(SIGMA)) {
            assert_ne!(pruned.after, text, "{name}");
            let surplus = if name == "literal.json" { 1 } else { 0 };
            assert_eq!(
                count(&pruned.after, "<image>"),
                count(&text, "<image>") - surplus,
                "{name}"
            );
            assert_eq!(
                count(&pruned.after, "<video>"),
                if name == "broken_slots.json" {
                    0
                } else {
                    count(&text, "<video>")
                }
            );
            let (before, after): (Value, Value) = (
                serde_json::from_str(&text).unwrap(),
                serde_json::from_str(&pruned.after).unwrap(),
            );
            for key in ["images", "image", "tools", "system", "id"] {
                assert_eq!(before.get(key), after.get(key));
            }
            // Tags keep their line ends.
            for turn in after["conversations"].as_array().unwrap() {
                let value = turn["value"].as_str().unwrap();
                assert!(
                    !value.starts_with("<think>")
                        || value.starts_with("<think>\n") && value.contains("\n</think>\n\n"),
                    "{value}"
                );
            }
        }
    }
    every_way(FORMAT, &file("calls.json"), None);
}

#[test]
fn calls_and_pictures_stand_where_the_texts_have_them() {
    let (run, _) = read(&file("calls.json"));
    let sources: Vec<_> = run
        .messages
        .iter()
        .flat_map(|m| m.pictures())
        .map(|p| (&p.source, p.pointer.as_str()))
        .collect();
    let path = |name: &str| PictureSource::Path(name.into());
    assert_eq!(
        sources,
        [
            (&path("img/shelf.png"), "/images/0"),
            (&path("img/zoom.png"), "/images/1")
        ]
    );
    assert_eq!(
        run.messages[2].calls[0].arguments,
        json!({"bbox_2d": [118, 64, 402, 92]})
    );
    let names: Vec<_> = run.messages[4]
        .calls
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names, ["summarize_the_task", "ocr"]);
    assert_eq!(run.tools[0]["function"]["name"], "zoom");
    let (run, _) = read(&file("slot_in_thought.json"));
    let kinds: Vec<_> = run.messages[1]
        .parts
        .iter()
        .map(|p| matches!(p, Part::Picture(_)))
        .collect();
    assert_eq!(kinds, [false, true, false]);
    assert_eq!(run.messages[1].calls[0].name, "zoom");
    assert!(
        run.messages[3].calls[0]
            .string_argument("summary")
            .is_some()
    );
    let pruned = every_way(FORMAT, &file("slot_in_thought.json"), None).remove(0);
    let thoughts = pruned
        .segments
        .iter()
        .filter(|s| s.kind == SegmentKind::Thought);
    assert_eq!(thoughts.count(), 2);
    // Without any placeholder the pictures come first.
    let bare = json!({"image": "a.png", "conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]});
    assert!(matches!(
        read(&bare.to_string()).0.messages[0].parts[0],
        Part::Picture(_)
    ));
}

#[test]
fn each_rule_is_told_with_message_and_path() {
    let sound = || json!({"system": "s", "images": ["a.png"], "conversations": [{"from": "human", "value": "<image>q"}, {"from": "function_call", "value": "{\"name\": \"f\", \"arguments\": {}}"}, {"from": "observation", "value": "r"}, {"from": "gpt", "value": "a"}]});
    assert_eq!(rules(&sound().to_string()), [""; 0]);
    type Break = fn(&mut Value);
    let cases: [(&str, Option<usize>, &str, Break); 5] = [
        ("placeholder_count", None, "/images", |r| {
            r["conversations"][3]["value"] = "<image>".into()
        }),
        ("placeholder_count", None, "", |r| {
            r["conversations"][3]["value"] = "<video>".into()
        }),
        ("turn_order", Some(3), "/conversations/2/from", |r| {
            r["conversations"][2]["from"] = "gpt".into()
        }),
        ("empty_message", Some(4), "/conversations/3/value", |r| {
            r["conversations"][3]["value"] = " ".into()
        }),
        ("turn_order", Some(1), "/conversations/0/from", |r| {
            drop(r["conversations"].as_array_mut().unwrap().remove(0))
        }),
    ];
    for (rule, message, path, change) in cases {
        let mut record = sound();
        change(&mut record);
        let found = violations(&record.to_string());
        let one = found.iter().find(|v| v.rule == rule && v.path == path);
        let one = one.unwrap_or_else(|| panic!("{rule} at {path} is not in {found:?}"));
        assert_eq!((one.provider, one.message), ("llama-factory", message));
    }
    let mut record = sound();
    record["conversations"][1]["value"] = "zoom(1)".into();
    assert_eq!(rules(&record.to_string()), ["function_call_json"]);
}

#[test]
fn a_literal_placeholder_is_told_and_may_go_only_where_the_slots_are_filled() {
    assert_eq!(rules(&file("literal.json")), ["placeholder_count"]);
    for pruned in every_way(FORMAT, &file("literal.json"), Some(SIGMA)) {
        assert_eq!(rules(&pruned.after), [""; 0]);
    }
    // One picture more than slots: which `<image>` is the slot is unknown, so the text stays.
    let text = file("literal.json").replace(
        "\"img/shelf.png\"",
        "\"img/shelf.png\", \"b.png\", \"c.png\"",
    );
    let pruned = every_way(FORMAT, &text, Some(SIGMA)).remove(0);
    assert_eq!(count(&pruned.after, "<image>"), 2);
}

#[test]
fn errors_name_the_place() {
    let says = |turn: Value, words: &[&str]| {
        let error = error(FORMAT, &json!({"conversations": [turn]}));
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    says(
        json!({"from": "oracle", "value": "x"}),
        &["/conversations/0/from", "oracle", "human"],
    );
    says(json!({"from": "gpt"}), &["/conversations/0", "value"]);
    says(
        json!({"from": "function_call", "value": "zoom(1)"}),
        &["/conversations/0/value", "zoom(1)", "name"],
    );
    assert!(error(FORMAT, &json!({"conversations": [], "tools": "["})).contains("/conversations"));
    let tools = json!({"conversations": [{"from": "human", "value": "q"}], "tools": "["});
    assert!(error(FORMAT, &tools).contains("/tools"));
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn generated_records_hold_every_invariant(
        turns in prop::collection::vec((0usize..3, any::<bool>(), text(), "[a-z ]{60,90}"), 1..5),
        mut seed in any::<u64>(),
    ) {
        // Tags of its own would end the thought earlier.
        let turns: Vec<_> = turns.into_iter().map(|(shape, slot, odd, long)| (shape, slot, odd.replace("think>", "think"), long)).collect();
        let (mut list, mut images) = (Vec::new(), Vec::new());
        for (shape, slot, odd, long) in &turns {
            let image = if *slot { "<image>" } else { "" };
            list.push(json!({"from": "human", "value": format!("{image}{odd}")}));
            let inner = if *shape == 2 { "<image>" } else { "" };
            let thought = format!("<think>\n{long}{inner}{long} {odd}\n</think>\n\n");
            list.push(match shape {
                0 => json!({"from": "function_call", "value": format!("{thought}{{\"name\": \"f\"}}"), "weight": 1.50}),
                _ => json!({"from": "gpt", "value": format!("{thought}So.<tool_call>{{\"name\": \"f\"}}</tool_call>")}),
            });
            images.extend(std::iter::repeat_n("a.png", usize::from(*slot) + usize::from(*shape == 2)));
        }
        list.push(json!({"from": "human", "value": "q"}));
        list.push(json!({"from": "gpt", "value": "Done."}));
        let record = json!({"conversations": list, "images": images});
        let source = spell(&record, &mut seed);
        for pruned in every_way(FORMAT, &source, Some("All <image> is noted.")) {
            let after: Value = serde_json::from_str(&pruned.after).unwrap();
            prop_assert_eq!(count(&pruned.after, "<image>"), images.len());
            prop_assert_eq!(&after["images"], &record["images"]);
            for (before, after) in list.iter().zip(after["conversations"].as_array().unwrap()) {
                let answer = |turn: &Value| turn["value"].as_str().unwrap().rsplit("</think>").next().unwrap().to_owned();
                prop_assert_eq!(answer(before), answer(after));
                prop_assert_eq!(&before["from"], &after["from"]);
            }
        }
    }
}
