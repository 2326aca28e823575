//! OpenAI Responses items: pairs, encrypted items, and edits inside an item that stays.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::format::{data, error, every_way, files, rules, violations};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::trajectory::{Part, Role, VisibleText, segments};

const FORMAT: &str = "openai-responses";
const SIGMA: &str = "Question: which jar is it? Evidence: label KX-407. Open: nothing.";

#[test]
fn every_shape_is_pruned_and_restored() {
    for (name, text) in files(FORMAT) {
        for sigma in [None, Some(SIGMA)] {
            let ways = every_way(FORMAT, &text, sigma);
            assert_ne!(ways[1].after, text, "{name}");
            assert_eq!(rules(&text), [""; 0], "{name}");
        }
    }
}

fn file(name: &str) -> String {
    data(&format!("{FORMAT}/{name}"))
}

#[test]
fn items_of_a_turn_are_one_message() {
    let (run, _) = read(&file("body.json"));
    let roles: Vec<&str> = run.messages.iter().map(|m| m.role.name()).collect();
    assert_eq!(
        roles.join(" "),
        "system user assistant tool assistant tool tool assistant tool assistant"
    );
    assert_eq!(run.messages[4].reasoning.len(), 3);
    let calls: Vec<_> = run.messages[4]
        .calls
        .iter()
        .map(|c| c.id.as_deref().unwrap())
        .collect();
    assert_eq!(calls, ["call_2", "call_3"]);
    assert_eq!(run.messages[6].answers.as_deref(), Some("call_2"));
    assert_eq!(run.messages.iter().flat_map(|m| m.pictures()).count(), 3);
    assert_eq!(run.tools[0]["function"]["name"], "zoom");
    assert_eq!(run.tools[1], json!({"type": "web_search"}));
    let summary = run.messages[7].calls[0].string_argument("summary");
    assert!(summary.unwrap().starts_with("Question: which jar"));
    // Reasoning before each of two parallel calls keeps its place.
    let (run, _) = read(&file("content.json"));
    let texts: Vec<_> = run
        .messages
        .iter()
        .map(|m| (m.reasoning.len(), m.calls.len()))
        .collect();
    assert_eq!(&texts[1..3], [(1, 1), (1, 1)]);
    // What is not understood is carried.
    let (run, _) = read(&file("encrypted.json"));
    let others = run
        .messages
        .iter()
        .flat_map(|m| &m.parts)
        .filter(|p| matches!(p, Part::Other(_)));
    assert_eq!(others.count(), 2);
}

#[test]
fn encrypted_reasoning_is_frozen_and_so_is_the_item_of_a_call() {
    let text = file("encrypted.json");
    let before: Value = serde_json::from_str(&text).unwrap();
    for pruned in every_way(FORMAT, &text, None) {
        let after: Value = serde_json::from_str(&pruned.after).unwrap();
        for index in (0..before.as_array().unwrap().len())
            .filter(|i| before[*i].get("encrypted_content").is_some())
        {
            assert_eq!(after[index], before[index]);
        }
        let codes: Vec<_> = pruned
            .segments
            .iter()
            .filter_map(|s| s.frozen.map(|f| f.code()))
            .collect();
        assert_eq!(codes, ["encrypted_reasoning"; 2]);
        assert_eq!(
            after.as_array().unwrap().len(),
            before.as_array().unwrap().len()
        );
    }
}

#[test]
fn deleted_summaries_leave_the_list_and_contents_stay() {
    let text = file("body.json");
    let after: Value = serde_json::from_str(&every_way(FORMAT, &text, None)[0].after).unwrap();
    let items = after["input"].as_array().unwrap();
    assert_eq!(items.iter().filter(|i| i["type"] == "reasoning").count(), 4);
    assert_eq!(items[4]["summary"], json!([]));
    assert!(
        items[4]["content"][0]["text"]
            .as_str()
            .unwrap()
            .starts_with("Evidence (4 of 4 steps pruned):")
    );
}

/// A history that breaks nothing, to be broken.
fn sound() -> Value {
    json!([{"role": "user", "content": "q"}, {"type": "reasoning", "id": "rs_1", "summary": []},
           {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"},
           {"type": "function_call_output", "call_id": "c1", "output": "r"},
           {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}])
}

#[test]
fn each_rule_is_told_with_message_and_path() {
    type Break = fn(&mut Vec<Value>);
    let cases: [(&str, usize, &str, Break); 11] = [
        ("reasoning_without_following_item", 1, "/1", |h| {
            drop(h.remove(2))
        }),
        ("reasoning_without_following_item", 3, "/4", |h| {
            h[4] = json!({"type": "reasoning", "id": "rs_2", "summary": []})
        }),
        ("call_without_reasoning", 5, "/6", |h| {
            h.push(json!({"role": "user", "content": "q"}));
            h.push(json!({"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "f", "arguments": "{}"}));
            h.push(json!({"type": "function_call_output", "call_id": "c2", "output": "r"}));
        }),
        ("output_without_call", 2, "/3", |h| {
            h[3]["call_id"] = json!("c9")
        }),
        ("call_without_output", 1, "/2", |h| drop(h.remove(3))),
        ("duplicate_output", 3, "/4", |h| h.insert(4, h[3].clone())),
        ("duplicate_call_id", 1, "/3/call_id", |h| {
            h.insert(
                3,
                json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}),
            )
        }),
        ("duplicate_item_id", 1, "/2/id", |h| {
            h[2]["id"] = json!("rs_1")
        }),
        ("missing_call_id", 2, "/3", |h| {
            drop(h[3].as_object_mut().unwrap().remove("call_id"))
        }),
        ("arguments_not_a_string", 1, "/2/arguments", |h| {
            h[2]["arguments"] = json!({})
        }),
        ("empty_message", 3, "/4/content", |h| {
            h[4]["content"] = json!([])
        }),
    ];
    assert_eq!(rules(&sound().to_string()), [""; 0]);
    for (rule, message, path, change) in cases {
        let mut history = sound();
        change(history.as_array_mut().unwrap());
        let found = violations(&history.to_string());
        let one = found.iter().find(|v| v.rule == rule && v.path == path);
        let one = one.unwrap_or_else(|| panic!("{rule} at {path} is not in {found:?}"));
        assert_eq!(
            (one.provider, one.message),
            ("responses", Some(message)),
            "{rule}"
        );
        assert!(
            one.what.contains("found ") && one.what.contains("expected "),
            "{}",
            one.what
        );
    }
    let mut history = sound();
    history[1].as_object_mut().unwrap().remove("summary");
    history[1]["content"] = json!([]);
    assert_eq!(rules(&history.to_string()), ["reasoning_shape"]);
}

#[test]
fn ids_may_come_again_and_the_server_may_hold_the_rest() {
    let mut history = sound();
    for _ in 0..2 {
        for index in 2..4 {
            let mut item = history[index].clone();
            item.as_object_mut().unwrap().remove("id");
            history.as_array_mut().unwrap().push(item);
        }
    }
    assert_eq!(rules(&history.to_string()), [""; 0]);
    let rest = json!({"previous_response_id": "resp_1", "input": [{"type": "function_call_output", "call_id": "c0", "output": "r"}]});
    assert_eq!(rules(&rest.to_string()), [""; 0]);
    assert_eq!(read(&rest.to_string()).0.messages[0].role, Role::Tool);
}

/// DeepSeek behind this API: not only the first call of a turn needs its reasoning.
#[test]
fn deepseek_wants_a_reasoning_item_before_every_call() {
    let thought = |n: usize| json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": [], "content": [{"type": "reasoning_text", "text": ""}]});
    let call = |n: usize| json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": format!("c{n}"), "name": "f", "arguments": "{}"});
    let output = |n: usize| json!({"type": "function_call_output", "call_id": format!("c{n}"), "output": "r"});
    let question = || json!({"role": "user", "content": "q"});
    let found = |items: Vec<Value>| {
        let run = json!({"input": items});
        let checked = spare::formats::check(&run, None, Some("deepseek")).unwrap();
        let places = checked.violations.into_iter().map(|v| (v.rule, v.path));
        places.collect::<Vec<_>>()
    };
    let whole = vec![
        question(),
        thought(1),
        call(1),
        thought(2),
        call(2),
        output(1),
        output(2),
    ];
    assert_eq!(found(whole.clone()), []);
    let mut lacking = whole.clone();
    lacking.remove(3);
    assert_eq!(
        found(lacking),
        [("call_without_reasoning", "/input/3".to_owned())]
    );
    // A turn that was held without thinking, before and behind one with it.
    let without = [question(), call(8), output(8)];
    let mixed = [&without[..], &whole, &[question(), call(9), output(9)]].concat();
    assert_eq!(found(mixed), []);
}

#[test]
fn chat_messages_with_parts_of_these_types_are_chat() {
    let run = json!([{"role": "user", "content": [{"type": "input_image", "image_url": "a.png"}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "r"}]);
    assert_eq!(
        spare::formats::format_of(&run, None).unwrap().name(),
        "openai-chat"
    );
}

#[test]
fn errors_name_the_place() {
    let of = |item: Value| error(FORMAT, &json!({"input": [item]}));
    let says = |item: Value, words: &[&str]| {
        let error = of(item);
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    };
    says(
        json!({"type": "function_call_output", "call_id": "c9", "output": ""}),
        &["/input/0", "c9"],
    );
    says(
        json!({"type": "reasoning", "summary": "x"}),
        &["/input/0/summary", "`x`", "array"],
    );
    says(
        json!({"role": "oracle", "content": "x"}),
        &["/input/0/role", "oracle", "assistant"],
    );
    says(
        json!({"role": "user", "content": [{"type": "input_text"}]}),
        &["/input/0/content/0", "text"],
    );
    says(
        json!({"type": "function_call", "call_id": "c"}),
        &["/input/0", "name"],
    );
    says(json!({"x": 1}), &["/input/0", "`x`", "type"]);
    says(json!(7), &["/input/0", "7", "item"]);
    assert!(error(FORMAT, &json!({"input": []})).contains("/input"));
    assert!(error(FORMAT, &json!({"input": "hello"})).contains("hello"));
}

/// Where a generated turn says what it thinks.
#[derive(Clone, Copy, Debug)]
enum Style {
    Summary,
    Content,
    Both,
    Bound,
}

fn turn(out: &mut Vec<Value>, style: Style, thought: &str, number: usize) {
    let summary = json!([{"type": "summary_text", "text": thought}]);
    let content = json!([{"type": "reasoning_text", "text": thought}]);
    let mut item = json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [], "unknown": {"z": 1.50}});
    match style {
        Style::Summary => item["summary"] = summary,
        Style::Content => item["content"] = content,
        Style::Both => (item["summary"], item["content"]) = (summary, content),
        Style::Bound => (item["summary"], item["encrypted_content"]) = (summary, "eA==".into()),
    }
    out.push(item);
    out.push(json!({"type": "function_call", "id": format!("fc_{number}"), "call_id": "c", "name": "zoom", "arguments": "{ }"}));
    out.push(json!({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": thought}]}));
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn generated_runs_hold_every_invariant(
        turns in prop::collection::vec((prop::sample::select(vec![Style::Summary, Style::Content, Style::Both, Style::Bound]), text(), "[a-z ]{60,90}"), 1..5),
        mut seed in any::<u64>(),
    ) {
        let mut items = vec![json!({"role": "user", "content": "q"})];
        for (number, (style, odd, long)) in turns.iter().enumerate() {
            turn(&mut items, *style, &format!("{long} {odd}"), number);
        }
        turn(&mut items, Style::Summary, "I note.", 90);
        items.push(json!({"role": "assistant", "content": "Done."}));
        let source = spell(&json!({"input": items, "extra": [1.0]}), &mut seed);
        for pruned in every_way(FORMAT, &source, Some("All is noted.")) {
            let after: Value = serde_json::from_str(&pruned.after).unwrap();
            let after = after["input"].as_array().unwrap();
            prop_assert_eq!(after.len(), items.len());
            for (before, after) in items.iter().zip(after) {
                if before["type"] != "reasoning" || before.get("encrypted_content").is_some() {
                    prop_assert_eq!(before, after);
                }
                prop_assert_eq!(before.get("id"), after.get("id"));
                let contents = |item: &Value| item.get("content").and_then(Value::as_array).map(Vec::len);
                prop_assert_eq!(contents(before), contents(after));
            }
        }
        let (run, _) = read(&source);
        let wanted = turns.iter().map(|(style, ..)| if matches!(style, Style::Both) { 2 } else { 1 }).sum::<usize>();
        prop_assert_eq!(segments(&run, VisibleText::Auto).len(), wanted + 1);
    }
}
