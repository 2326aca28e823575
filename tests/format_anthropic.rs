//! Anthropic Messages: reading, whole blocks out, and what the provider refuses.
#![allow(clippy::unwrap_used)]

mod common;

use common::check::check;
use common::format::{data, every_way, frozen, places, violations};
use common::prune::read;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::{FORMATS, FormatError, OpenAiChat, WireFormat};
use spare::trajectory::{Part, PictureSource, Role, SegmentKind, VisibleText, segments};

const SIGMA: &str = "Read so far: 6.8 bar, KT-5582-M.";

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Every content block that is not thinking and no evidence, in order.
fn others(run: &Value) -> Vec<Value> {
    let messages = run.get("messages").unwrap_or(run).as_array().unwrap();
    let blocks = messages.iter().flat_map(|m| match &m["content"] {
        Value::Array(blocks) => blocks.clone(),
        text => vec![text.clone()],
    });
    let plain = |b: &Value| {
        let text = b["text"].as_str().unwrap_or("");
        !["thinking", "redacted_thinking"].contains(&b["type"].as_str().unwrap_or(""))
            && !text.starts_with("Evidence")
    };
    blocks.filter(plain).collect()
}

fn thinking(run: &Value) -> Vec<Value> {
    let messages = run.get("messages").unwrap_or(run).as_array().unwrap();
    let blocks = messages
        .iter()
        .filter_map(|m| m["content"].as_array())
        .flatten();
    blocks
        .filter(|b| b["type"].as_str().is_some_and(|t| t.ends_with("thinking")))
        .cloned()
        .collect()
}

/// What is left of thinking is exact and in order.
fn exact_or_absent(before: &Value, after: &Value) {
    let mut old = thinking(before).into_iter();
    for block in thinking(after) {
        assert!(old.any(|o| o == block), "{block} is not as it came");
    }
}

#[test]
fn an_open_loop_is_left_alone_and_says_why() {
    let text = data("anthropic/open_loop.json");
    for pruned in every_way("anthropic", &text, Some(SIGMA)) {
        assert_eq!(pruned.after, text);
        assert_eq!(
            frozen(&pruned),
            ["open_turn", "open_turn", "redacted_thinking"]
        );
    }
    assert_eq!(violations(&text), []);
}

#[test]
fn whole_thinking_blocks_leave_a_closed_turn() {
    let text = data("anthropic/closed_turn.json");
    let before = parsed(&text);
    for pruned in every_way("anthropic", &text, Some(SIGMA)) {
        let after = parsed(&pruned.after);
        assert!(
            thinking(&after).len() < thinking(&before).len(),
            "{}",
            pruned.after
        );
        exact_or_absent(&before, &after);
        assert_eq!(others(&after), others(&before));
        assert_eq!(frozen(&pruned), ["redacted_thinking"]);
        for value in ["6.8 bar", "KT-5582-M", "0-16"] {
            assert!(pruned.after.contains(value), "{value}");
        }
    }
}

#[test]
fn evidence_is_a_plain_text_block_that_is_no_reasoning() {
    let pruned = check(&data("anthropic/summary_call.json"), None, &|_| true);
    let block = &parsed(&pruned.after)["messages"][1]["content"][0];
    assert_eq!(
        block.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["type", "text"]
    );
    assert!(
        block["text"].as_str().unwrap().starts_with("Evidence ("),
        "{block}"
    );
    let (run, _) = read(&pruned.after);
    let left = segments(&run, VisibleText::Auto);
    assert!(
        left.iter()
            .all(|s| s.kind == SegmentKind::Field && s.message > 2),
        "{left:?}"
    );
}

#[test]
fn a_run_whose_thinking_is_all_pruned_keeps_its_visible_text() {
    let text = data("anthropic/interleaved_bare.json");
    let pruned = check(&text, Some(SIGMA), &|s| s.index == 1);
    let after = parsed(&pruned.after);
    assert_eq!(thinking(&after), Vec::<Value>::new(), "{}", pruned.after);
    assert!(pruned.after.contains("\"unknown\": null"));
    let (run, format) = read(&pruned.after);
    assert_eq!(format.name(), "anthropic");
    assert_eq!(segments(&run, VisibleText::Auto), []);
    // A deleted block leaves nothing where its message holds more.
    let blocks = after[1]["content"].as_array().unwrap();
    assert_eq!(blocks.len(), 4, "{}", pruned.after);
    assert!(blocks[0]["text"].as_str().unwrap().contains("LV-31"));
    every_way("anthropic", &text, Some(SIGMA));
}

#[test]
fn text_beside_calls_is_reasoning_where_there_is_no_other() {
    let text = data("anthropic/visible_text.json");
    for pruned in every_way("anthropic", &text, None) {
        assert_eq!(
            pruned.segments.iter().map(|s| s.kind).collect::<Vec<_>>(),
            [SegmentKind::Visible; 2]
        );
        let after = parsed(&pruned.after);
        let block = &after["messages"][1]["content"][0];
        assert!(
            block["text"].as_str().unwrap().starts_with("Evidence"),
            "{block}"
        );
        assert_eq!(block["cache_control"]["type"], "ephemeral");
        assert_eq!(others(&after).len() + 1, others(&parsed(&text)).len());
    }
}

#[test]
fn nothing_is_dropped_in_reading() {
    let (run, _) = read(&data("anthropic/open_loop.json"));
    let roles: Vec<Role> = run.messages.iter().map(|m| m.role).collect();
    assert_eq!(
        roles,
        [
            Role::System,
            Role::User,
            Role::Assistant,
            Role::Tool,
            Role::Assistant,
            Role::Tool
        ]
    );
    assert_eq!(run.tools[0]["function"]["parameters"]["type"], "object");
    let pictures: Vec<_> = run.messages.iter().flat_map(|m| m.pictures()).collect();
    assert_eq!(pictures.len(), 2);
    assert_eq!(
        pictures[1].pointer,
        "/messages/2/content/0/content/0/source/data"
    );
    assert!(
        matches!(&pictures[0].source, PictureSource::DataUri(uri) if uri.starts_with("data:image/png;base64,iVBOR"))
    );
    assert_eq!(
        run.messages[2].calls[0].arguments,
        json!({"bbox": [212, 140, 268, 196]})
    );
    assert_eq!(run.messages[5].answers.as_deref(), Some("toolu_02"));
    let odd = json!([{"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "x"}}, {"type": "image", "source": {"type": "file", "file_id": "f"}}, {"type": "image", "source": {"type": "url", "url": "https://e.org/a.png"}}]}]);
    let (run, format) = read(&odd.to_string());
    assert_eq!(format.name(), "anthropic");
    let [document, file, elsewhere] = run.messages[0].parts.as_slice() else {
        unreachable!()
    };
    assert!(matches!((document, file), (Part::Other(_), Part::Other(_))));
    assert!(
        matches!(elsewhere, Part::Picture(p) if p.source == PictureSource::Unopened("https://e.org/a.png".into()))
    );
}

#[test]
fn other_formats_are_not_taken() {
    let names = |run: Value| read(&run.to_string()).1.name();
    assert_eq!(
        names(json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])),
        "openai-chat"
    );
    let glm =
        json!({"thinking": {"type": "enabled"}, "messages": [{"role": "user", "content": "a"}]});
    assert_eq!(names(glm), "openai-chat");
    let mistral = json!([{"role": "assistant", "content": [{"type": "thinking", "thinking": [{"type": "text", "text": "x"}]}]}]);
    assert_eq!(names(mistral), "openai-chat");
    let claude =
        json!({"max_tokens": 5, "system": "s", "messages": [{"role": "user", "content": "a"}]});
    assert_eq!(names(claude), "anthropic");
    for name in [
        "open_loop",
        "closed_turn",
        "interleaved_bare",
        "visible_text",
        "summary_call",
    ] {
        let value = parsed(&data(&format!("anthropic/{name}.json")));
        let found: Vec<_> = FORMATS
            .iter()
            .filter(|f| f.detect(&value))
            .map(|f| f.name())
            .collect();
        assert_eq!(found[0], "anthropic", "{name}: {found:?}");
        assert!(
            OpenAiChat.detect(&value),
            "a list of roles is all that the last format asks for"
        );
    }
}

#[test]
fn bad_runs_say_where_and_what() {
    let error = |run: Value| -> String {
        let anthropic = FORMATS.iter().find(|f| f.name() == "anthropic").unwrap();
        let error: FormatError = anthropic.read(&run).unwrap_err();
        error.to_string()
    };
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    let model = |block: Value| json!([{"role": "assistant", "content": [block]}]);
    for (run, words) in [
        (
            json!(7),
            vec!["top level", "the number 7", "an Anthropic run"],
        ),
        (
            json!({"messages": {}}),
            vec!["/messages", "an object", "an array of messages"],
        ),
        (json!([]), vec!["top level", "empty list"]),
        (
            json!([{"role": "robot", "content": ""}]),
            vec!["/0/role", "`robot`", "user or assistant"],
        ),
        (json!([{"role": "user"}]), vec!["/0", "without `content`"]),
        (
            user(json!(5)),
            vec!["/messages/0/content", "the number 5", "content blocks"],
        ),
        (
            user(json!([{"text": "x"}])),
            vec!["/messages/0/content/0", "`type`"],
        ),
        (
            user(json!([{"type": "image"}])),
            vec!["/messages/0/content/0/source", "`source`"],
        ),
        (
            user(json!([{"type": "image", "source": {"type": "base64", "data": "A"}}])),
            vec!["/source", "without `media_type`"],
        ),
        (
            user(json!([{"type": "tool_result", "tool_use_id": "t", "content": "x"}])),
            vec!["/messages/0", "call `t`"],
        ),
        (
            model(json!({"type": "thinking"})),
            vec!["/0/content/0", "without `thinking`"],
        ),
        (
            model(json!({"type": "tool_use", "name": "f", "input": [1]})),
            vec!["/0/content/0/input", "an array"],
        ),
        (
            json!({"messages": [{"role": "user", "content": "a"}], "tools": 1}),
            vec!["/tools", "the number 1"],
        ),
    ] {
        let said = error(run.clone());
        assert!(words.iter().all(|w| said.contains(w)), "{run}: {said}");
    }
}

/// A turn that breaks no rule, changed by `change`.
fn turn(change: impl Fn(&mut Value)) -> Value {
    let mut run = json!({"thinking": {"type": "enabled", "budget_tokens": 9}, "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "v"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}}, {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "x"}, {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "y"}]}]},
        {"role": "assistant", "content": [{"type": "text", "text": "end"}]}]});
    change(&mut run);
    run
}

#[test]
fn each_rule_names_the_place() {
    let at = |path: &str| path.to_owned();
    assert_eq!(places(&turn(|_| ())), []);
    let result = |r: &mut Value| {
        drop(
            r["messages"][2]["content"]
                .as_array_mut()
                .unwrap()
                .remove(1),
        )
    };
    assert_eq!(
        places(&turn(result)),
        [("call_without_result", at("/messages/1/content/3"))]
    );
    let pending = |r: &mut Value| r["messages"].as_array_mut().unwrap().truncate(2);
    assert_eq!(places(&turn(pending)), [], "a call at the end waits");
    let call = |r: &mut Value| {
        drop(
            r["messages"][1]["content"]
                .as_array_mut()
                .unwrap()
                .remove(3),
        )
    };
    let orphan = turn(call);
    let found =
        spare::formats::provider::of(FORMATS[1], Some("anthropic")).unwrap()[0].check(&orphan);
    assert_eq!(
        (found[0].rule, found[0].path.as_str(), found[0].message),
        ("result_without_call", "/messages/2/content/1", Some(2))
    );
    let same = |r: &mut Value| {
        r["messages"][1]["content"][3]["id"] = "a".into();
        r["messages"][2]["content"][1]["tool_use_id"] = "a".into();
    };
    assert_eq!(
        places(&turn(same)),
        [
            ("duplicate_id", at("/messages/1/content/3")),
            ("duplicate_result", at("/messages/2/content/1"))
        ]
    );
    assert_eq!(
        places(&turn(
            |r| r["messages"][1]["content"][1]["text"] = " ".into()
        )),
        [("empty_text", at("/messages/1/content/1"))]
    );
    let inner = |r: &mut Value| r["messages"][2]["content"][1]["content"][0]["text"] = "".into();
    assert_eq!(
        places(&turn(inner)),
        [("empty_text", at("/messages/2/content/1/content/0"))]
    );
    assert_eq!(
        places(&turn(|r| r["messages"][0]["content"] = json!([]))),
        [("empty_message", at("/messages/0/content"))]
    );
    assert_eq!(
        places(&turn(|r| drop(
            r["messages"][1]["content"][0]
                .as_object_mut()
                .unwrap()
                .remove("signature")
        ))),
        [("missing_signature", at("/messages/1/content/0"))]
    );
    let only = |r: &mut Value| {
        r["messages"][3]["content"] = json!([{"type": "redacted_thinking", "data": "d"}])
    };
    assert_eq!(places(&turn(only)), [("thinking_only", at("/messages/3"))]);
    let start = |r: &mut Value| {
        drop(
            r["messages"][1]["content"]
                .as_array_mut()
                .unwrap()
                .remove(0),
        )
    };
    assert_eq!(
        places(&turn(start)),
        [("open_turn_without_thinking", at("/messages/1"))]
    );
    let closed = turn(|r| {
        start(r);
        r["messages"]
            .as_array_mut()
            .unwrap()
            .push(json!({"role": "user", "content": "next"}));
    });
    assert_eq!(
        places(&closed),
        [],
        "a closed turn need not start with thinking"
    );
    let off = turn(|r| {
        r["thinking"] = json!({"type": "disabled"});
        r["messages"][3]["content"] = json!([{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "v"}]);
    });
    assert_eq!(
        places(&off),
        [("final_thinking", at("/messages/3/content/0"))]
    );
}

/// "Messages following tool_use blocks must begin with a matching number of tool_result blocks."
#[test]
fn results_come_first_in_the_message_behind_their_calls() {
    let of = |behind: Vec<Value>| {
        let mut messages = vec![
            json!({"role": "user", "content": "q"}),
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}, {"type": "tool_use", "id": "b", "name": "f", "input": {}}]}),
        ];
        messages.extend(behind);
        places(&json!({"system": "s", "messages": messages}))
    };
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "r"});
    let text = json!({"type": "text", "text": "and?"});
    let user = |blocks: &[Value]| json!({"role": "user", "content": blocks});
    let late = |path: &str| [("result_behind_others", path.to_owned())];
    assert_eq!(
        of(vec![user(&[result("a"), result("b"), text.clone()])]),
        []
    );
    assert_eq!(
        of(vec![user(&[result("a"), text.clone(), result("b")])]),
        late("/messages/2/content/2")
    );
    // Neighbours of one role are one message to the API.
    assert_eq!(of(vec![user(&[result("a")]), user(&[result("b")])]), []);
    assert_eq!(
        of(vec![user(&[result("a"), text]), user(&[result("b")])]),
        late("/messages/3/content/0")
    );
    let said = json!({"role": "user", "content": "wait"});
    let found = of(vec![said, user(&[result("a"), result("b")])]);
    assert_eq!(found.len(), 2, "{found:?}");
}

/// Turns of (thinking, other thinking, text, call) with results, closed or open at the end.
type Step = (String, Option<String>, Option<String>, bool, u8);

fn generated(turns: &[Vec<Step>], open: bool) -> Value {
    let mut messages = Vec::new();
    let mut number = 0;
    for (index, turn) in turns.iter().enumerate() {
        messages.push(json!({"role": "user", "content": format!("question {index}")}));
        for (step, (thought, more, said, redacted, cut)) in turn.iter().enumerate() {
            number += 1;
            let signed = |text: &str| json!({"type": "thinking", "thinking": text, "signature": format!("sig{number}"), "x": [1.50]});
            let mut blocks = vec![signed(thought)];
            blocks.extend(more.as_deref().map(signed));
            blocks.extend(redacted.then(|| json!({"type": "redacted_thinking", "data": "r"})));
            blocks.extend(
                said.as_ref()
                    .filter(|t| !t.trim().is_empty())
                    .map(|t| json!({"type": "text", "text": t})),
            );
            let last = step + 1 == turn.len() && !(open && index + 1 == turns.len());
            if last && cut % 4 > 0 {
                blocks.push(json!({"type": "text", "text": "Done."}));
            }
            if last {
                messages.push(json!({"role": "assistant", "content": blocks}));
                continue;
            }
            let id = format!("t{number}");
            blocks.push(
                json!({"type": "tool_use", "id": id, "name": "zoom", "input": {"n": number}}),
            );
            messages.push(json!({"role": "assistant", "content": blocks}));
            messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": thought}]}));
        }
    }
    json!({"thinking": {"type": "enabled", "budget_tokens": 1}, "messages": messages, "z": {"b": 1, "a": 2}})
}

proptest! {
    #![proptest_config(common::runs(200))]

    #[test]
    fn any_run_keeps_its_rules(
        turns in prop::collection::vec(
            prop::collection::vec((text(), prop::option::of(text()), prop::option::of(text()), any::<bool>(), any::<u8>()), 1..4), 1..4),
        open in any::<bool>(), mask in any::<u32>(), mut seed in any::<u64>(), supplied in any::<bool>(),
    ) {
        let value = generated(&turns, open);
        let source = spell(&value, &mut seed);
        let before = violations(&source);
        let pruned = check(&source, supplied.then_some("State: nothing was found so far."), &|s| mask >> (s.index % 32) & 1 == 1);
        let after = parsed(&pruned.after);
        prop_assert_eq!(violations(&pruned.after).len(), before.len());
        exact_or_absent(&value, &after);
        // The open turn is what it was.
        let (old, new) = (value["messages"].as_array().unwrap(), after["messages"].as_array().unwrap());
        prop_assert_eq!(old.len(), new.len());
        let from = old.iter().rposition(|m| m["content"].is_string()).unwrap();
        prop_assert_eq!(&old[from..], &new[from..]);
        for (old, new) in old.iter().zip(new).filter(|(o, n)| o != n) {
            prop_assert_eq!(others(&json!([old.clone()])), others(&json!([new.clone()])));
        }
    }
}
