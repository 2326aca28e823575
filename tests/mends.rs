//! What is mended in a broken history, and that every mend is named and can be taken back. No model.
#![allow(clippy::panic, clippy::unwrap_used)]

mod common;

use common::format::rules;
use common::{spell, text};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare::formats::{Mend, check, format_of, parse, repair};
use spare::plan::{Receipt, TextHash, restore};

/// Mends a record twice: the second time there is nothing to do. The receipt takes the mends back.
fn mended(text: &str) -> (String, Vec<Mend>) {
    let (after, mends) = repair(text, None, None).unwrap();
    assert_eq!(
        repair(&after, None, None).unwrap(),
        (after.clone(), Vec::new())
    );
    let receipt = Receipt {
        schema: 1,
        before: TextHash::of(text),
        after: TextHash::of(&after),
        mends: mends.clone(),
        ..Receipt::default()
    };
    assert_eq!(restore(&after, &receipt).unwrap(), text);
    (after, mends)
}

/// How many violations `spare check` names.
fn broken(text: &str) -> usize {
    let checked = check(&parse(text).unwrap(), None, None).unwrap();
    checked.violations.len()
}

fn anthropic(content: Value) -> Value {
    json!({"max_tokens": 9, "system": "Look.", "messages": [
        {"role": "user", "content": "Which jar?"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "done"}]}]}]})
}

fn call() -> Value {
    json!({"type": "tool_use", "id": "t1", "name": "zoom", "input": {"box": [1, 2, 3, 4]}})
}

fn chat(content: Value) -> Value {
    json!({"messages": [{"role": "user", "content": "Which jar?"},
        {"role": "assistant", "reasoning_content": "I look.", "content": content}]})
}

fn langchain(content: Value) -> Value {
    json!({"messages": [{"type": "human", "data": {"content": "Which jar?"}},
        {"type": "ai", "data": {"content": content, "tool_calls": []}}]})
}

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn an_empty_block_beside_others_goes_and_no_other_byte() {
    let mark = json!({"type": "text", "text": "", "cache_control": {"type": "ephemeral"}});
    let nested =
        json!({"type": "tool_result", "tool_use_id": "t1", "content": [said("a"), said("")]});
    let mut result = anthropic(json!([call()]));
    result["messages"][2]["content"] = json!([nested]);
    // Run, format, the rule it breaks, where, and whether that can be mended.
    let cases = [
        (
            anthropic(json!([said(""), call()])),
            "anthropic",
            "empty_text",
            "/messages/1/content/0",
            true,
        ),
        (
            anthropic(json!([call(), said(" \n")])),
            "anthropic",
            "empty_text",
            "/messages/1/content/1",
            true,
        ),
        (
            result,
            "anthropic",
            "empty_text",
            "/messages/2/content/0/content/1",
            true,
        ),
        (
            anthropic(json!([mark, call()])),
            "anthropic",
            "empty_text",
            "",
            false,
        ),
        (
            chat(json!([said("The left one."), said("")])),
            "openai-chat",
            "empty_text_part",
            "/messages/1/content/1",
            true,
        ),
        (
            langchain(json!([said(""), said("The left one.")])),
            "langchain",
            "empty_text_block",
            "/messages/1/data/content/0",
            true,
        ),
    ];
    for (run, format, rule, at, can) in cases {
        let text = serde_json::to_string_pretty(&run).unwrap();
        let known = format_of(&parse(&text).unwrap(), None).unwrap().name();
        assert_eq!(known, format, "{text}");
        assert!(rules(&text).contains(&rule), "{text}: {:?}", rules(&text));
        let (after, mends) = mended(&text);
        if !can {
            assert_eq!((after, mends.len()), (text, 0));
            continue;
        }
        assert!(!rules(&after).contains(&rule), "{after}");
        let [mend] = mends.as_slice() else {
            panic!("{mends:?}");
        };
        for word in [at, rule, "empty text block"] {
            assert!(mend.what.contains(word), "{}: no {word}", mend.what);
        }
        let mut wanted = run;
        let (list, index) = at.rsplit_once('/').unwrap();
        let list = wanted.pointer_mut(list).unwrap().as_array_mut().unwrap();
        list.remove(index.parse().unwrap());
        assert_eq!(parse(&after).unwrap(), wanted);
        // All that is left stands as it stood.
        let replaced = &mend.replaced;
        let rest = &text[replaced.start + replaced.old.len()..];
        assert!(after.starts_with(&text[..replaced.start]) && after.ends_with(rest));
    }
}

#[test]
fn a_message_of_one_empty_block_is_not_mended_by_guessing() {
    for run in [
        anthropic(json!([said("")])),
        chat(json!([said("")])),
        langchain(json!([said("")])),
    ] {
        let text = run.to_string();
        assert!(!rules(&text).is_empty());
        let (after, mends) = mended(&text);
        assert_eq!((after, mends), (text, Vec::new()));
    }
}

proptest! {
    #![proptest_config(common::runs(300))]

    #[test]
    fn many_empty_blocks_go_and_come_back(
        blocks in prop::collection::vec(prop_oneof![2 => text().prop_map(Some), 1 => Just(None)], 1..9),
        which in 0..3usize,
        seed: u64,
    ) {
        let full = |t: &&Option<String>| t.as_ref().is_some_and(|t| !t.trim().is_empty());
        let keep: Vec<Value> = blocks.iter().filter(full).map(|t| said(t.as_ref().unwrap())).collect();
        prop_assume!(!keep.is_empty());
        let empty = blocks.iter().filter(|t| t.is_none()).count();
        let all = blocks.iter().filter(|t| t.is_none() || full(t));
        let all: Vec<Value> = all.map(|t| said(t.as_deref().unwrap_or_default())).collect();
        let run = [anthropic, chat, langchain][which];
        // An answer whose calls have no result would break other rules.
        let with = |mut blocks: Vec<Value>| {
            if which == 0 {
                blocks.push(call());
            }
            run(Value::Array(blocks))
        };
        let mut seed = seed;
        let text = spell(&with(all), &mut seed);
        let (after, mends) = mended(&text);
        prop_assert_eq!(mends.len(), empty);
        prop_assert_eq!(parse(&after).unwrap(), with(keep));
        prop_assert_eq!(broken(&after) + empty, broken(&text));
    }
}
