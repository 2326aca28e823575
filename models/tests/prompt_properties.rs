//! What holds for every chat, however awkward its strings?
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod prompt_support;

use std::sync::LazyLock;

use prompt_support::{THINKING, board, with};
use proptest::prelude::*;
use serde_json::{Value, json};
use spare_models::prompt::{Chat, Cut, Encoded, PromptError, Prompter, Rendering};

static BOARD: LazyLock<Prompter> = LazyLock::new(board);
static THINK: LazyLock<Prompter> = LazyLock::new(|| with(THINKING));

/// Literals of special tokens that no template branches on.
const SPECIAL: [&str; 6] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|image_pad|>",
    "<|endoftext|>",
    "<tool_call>",
    "<|vision_start|><|image_pad|><|vision_end|>",
];

const AWKWARD: [&str; 26] = [
    "\n",
    "\n\n",
    " ",
    "\t",
    "\u{a0}",
    "\u{85}",
    ".",
    ".\n",
    "\"",
    "'",
    "\\",
    "\\n",
    "{{ x }}",
    "{% if %}",
    "&amp;",
    "\0",
    "\u{E000}",
    "\u{E001}\u{E012}",
    "\u{E000}\u{E002}\u{E001}",
    "\u{F8FF}",
    "e\u{301}",
    "\u{301}",
    "👨‍👩‍👧",
    "🎯",
    "日本",
    "\u{2028}",
];

const TAGS: [&str; 5] = [
    "<think>",
    "</think>",
    "<tool_response>",
    "</tool_response>",
    "<think>\n\n</think>\n\n",
];

fn text(tags: bool) -> impl Strategy<Value = String> {
    let word = prop_oneof![
        3 => "[a-zA-Z0-9<>|_ ]{0,6}",
        3 => prop::sample::select(&AWKWARD[..]).prop_map(str::to_owned),
        1 => prop::sample::select(&SPECIAL[..]).prop_map(str::to_owned),
        (if tags { 2 } else { 0 }) => prop::sample::select(&TAGS[..]).prop_map(str::to_owned),
        1 => Just("same text".to_owned()),
    ];
    prop::collection::vec(word, 0..6).prop_map(|words| words.concat())
}

fn call(tags: bool) -> impl Strategy<Value = Value> {
    let arguments = prop_oneof![
        text(tags).prop_map(Value::String),
        (text(tags), text(tags), -1e20f64..1e20)
            .prop_map(|(a, b, x)| json!({"a": a, "b": {"c": [b, x, null]}})),
    ];
    (text(tags), arguments)
        .prop_map(|(name, arguments)| json!({"id": "i", "type": "function", "function": {"name": name, "arguments": arguments}}))
}

fn message(tags: bool) -> impl Strategy<Value = Value> {
    let parts = (text(tags), text(tags)).prop_map(|(a, b)| json!([{"type": "text", "text": a}, {"type": "image"}, {"type": "text", "text": b}]));
    let content = || prop_oneof![2 => text(tags).prop_map(Value::String), 1 => Just(json!(null))];
    prop_oneof![
        prop_oneof![text(tags).prop_map(Value::String), parts].prop_map(|c| json!({"role": "user", "content": c})),
        text(tags).prop_map(|c| json!({"role": "tool", "tool_call_id": "i", "content": c})),
        (content(), prop::option::of(text(tags)), prop::collection::vec(call(tags), 0..3)).prop_map(|(content, reasoning, calls)| {
            json!({"role": "assistant", "content": content, "reasoning_content": reasoning, "tool_calls": calls})
        }),
    ]
}

fn a_chat(tags: bool) -> impl Strategy<Value = Chat> {
    let tool = text(tags).prop_map(|d| json!({"type": "function", "function": {"name": "f", "description": d, "parameters": {}}}));
    let messages = prop::collection::vec(message(tags), 1..6);
    (messages, prop::collection::vec(tool, 0..2), any::<bool>()).prop_map(
        |(messages, tools, prompt)| Chat {
            messages,
            tools,
            add_generation_prompt: prompt,
            ..Chat::default()
        },
    )
}

/// Parts give back their strings, every string is shown or hidden, nothing overlaps.
fn check_rendering(chat: &Chat, rendering: &Rendering) {
    let root = json!({"messages": chat.messages, "tools": chat.tools});
    for part in &rendering.parts {
        let own = root.pointer(&part.pointer).unwrap().as_str().unwrap();
        let own = &own[part.trimmed.clone()];
        let shown = &rendering.text[part.span.clone()];
        let escaped = Value::String(own.to_owned()).to_string();
        assert!(
            shown == own || shown == &escaped[1..escaped.len() - 1],
            "{} {shown:?} {own:?}",
            part.pointer
        );
        assert!(!rendering.hidden.contains(&part.pointer));
    }
    assert!(
        rendering
            .parts
            .windows(2)
            .all(|w| w[0].span.end <= w[1].span.start)
    );
}

/// Every byte has a token, and the ids read back as the text (the board's tokenizer does not normalise).
fn check_encoding(prompter: &Prompter, encoded: &Encoded) {
    let mut end = 0;
    for token in &encoded.offsets {
        assert!(token.start <= end && token.end >= end);
        end = token.end;
    }
    assert_eq!(end, encoded.text.len());
    assert_eq!(prompter.decode(&encoded.ids).unwrap(), encoded.text);
}

fn pictures(prompter: &Prompter, rendering: &Rendering) -> Encoded {
    let found = match prompter.encode(rendering, &[]) {
        Err(PromptError::PictureCount { found, .. }) => found,
        other => return other.unwrap(),
    };
    prompter.encode(rendering, &vec![1; found]).unwrap()
}

/// Where special tokens stand.
fn special(prompter: &Prompter, encoded: &Encoded) -> Vec<(u32, std::ops::Range<usize>)> {
    let last = prompter.token_id("</tool_response>").unwrap();
    let tokens = encoded
        .ids
        .iter()
        .copied()
        .zip(encoded.offsets.iter().cloned());
    tokens.filter(|(id, _)| *id <= last).collect()
}

/// The chat with the special literals of its strings spelt with a bracket instead.
fn defused(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let mut text = text.clone();
            for literal in SPECIAL {
                text = text.replace(literal, &literal.replace('<', "("));
            }
            Value::String(text)
        }
        Value::Array(items) => items.iter().map(defused).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), defused(value)))
            .collect(),
        other => other.clone(),
    }
}

fn hold(prompter: &Prompter, chat: &Chat, splice: prop::sample::Index, block: &str) {
    let rendering = prompter.render(chat).unwrap();
    check_rendering(chat, &rendering);
    let encoded = pictures(prompter, &rendering);
    check_encoding(prompter, &encoded);

    let plain = Chat {
        messages: chat.messages.iter().map(defused).collect(),
        tools: chat.tools.iter().map(defused).collect(),
        ..chat.clone()
    };
    let plain = prompter.render(&plain).unwrap();
    assert_eq!(
        special(prompter, &encoded),
        special(prompter, &pictures(prompter, &plain))
    );

    if let Some(start) = prompter.turn_start(&encoded, splice.index(encoded.ids.len())) {
        let block = prompter.user_block(block).unwrap();
        let mut ids = encoded.ids.clone();
        ids.splice(start..start, block.iter().copied());
        assert_eq!(block.first().copied(), prompter.message_start_id());
        ids.drain(start..start + block.len());
        assert_eq!(ids, encoded.ids);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_chat_holds_on_the_board_template(chat in a_chat(true), at in any::<prop::sample::Index>(), block in text(true)) {
        let rendering = BOARD.render(&chat).unwrap();
        let root = json!({"messages": chat.messages, "tools": chat.tools});
        for pointer in &rendering.hidden {
            let text = root.pointer(pointer).unwrap().as_str().unwrap();
            prop_assert!(text.is_empty() || pointer.contains("reasoning") || pointer.starts_with("/tools/"), "{} {:?}", pointer, text);
        }
        hold(&BOARD, &chat, at, &format!("<task_state>{block}"));
    }

    #[test]
    fn any_chat_without_tags_holds_on_a_thinking_template(chat in a_chat(false), at in any::<prop::sample::Index>(), block in text(false)) {
        hold(&THINK, &chat, at, &format!("<task_state>{block}"));
    }

    #[test]
    fn a_chat_with_tags_is_mapped_or_refused_by_name(chat in a_chat(true)) {
        match THINK.render(&chat) {
            Ok(rendering) => {
                check_rendering(&chat, &rendering);
                check_encoding(&THINK, &pictures(&THINK, &rendering));
            }
            Err(PromptError::Torn { .. } | PromptError::Opaque { .. } | PromptError::ShownTwice { .. }) => {}
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn think_tags_in_content_map(
        before in "[ \n]{0,2}", thought in text(false), gap in "[ \n]{0,3}", answer in text(false), old in any::<bool>()
    ) {
        let content = format!("<think>{before}{thought}{gap}</think>{gap}{answer}");
        let start = "<think>".len() + before.len();
        let mut messages = vec![json!({"role": "user", "content": "q"}), json!({"role": "assistant", "content": content})];
        if old {
            messages.push(json!({"role": "user", "content": "and?"}));
        }
        let chat = Chat { messages, ..Chat::default() };
        let cuts = if thought.is_empty() { vec![] } else {
            vec![Cut { pointer: "/messages/1/content".into(), range: start..start + thought.len() }]
        };
        for prompter in [&*BOARD, &*THINK] {
            let rendering = prompter.render_with(&chat, &cuts).unwrap();
            check_rendering(&chat, &rendering);
            if let Some(cut) = rendering.cuts.first().cloned() {
                let hidden = std::ptr::eq(prompter, &*THINK) && (old || thought.trim().is_empty());
                match cut {
                    Some(span) => prop_assert_eq!(rendering.text[span].trim(), thought.trim()),
                    None => prop_assert!(hidden),
                }
            }
        }
    }
}
