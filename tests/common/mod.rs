//! Runs with planted reasoning, written in many spellings of JSON.
#![allow(dead_code, clippy::unwrap_used)]

pub mod check;
pub mod format;
pub mod planted;
pub mod prune;

use proptest::prelude::*;
use serde_json::{Value, json};

/// How many runs a property is tried on: `usual`, or what `SPARE_CASES` says.
pub fn runs(usual: u32) -> ProptestConfig {
    let asked = std::env::var("SPARE_CASES").ok();
    ProptestConfig::with_cases(asked.map_or(usual, |n| n.parse().unwrap()))
}

/// Makes a reasoning long enough that to prune it saves something.
pub const LONG: &str = " and then I look at all of it again and again and once more, and I think about it for a while, to be quite sure of it";

/// Text that people and models write, and text that breaks things.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[A-Za-z0-9 .,\n]{0,40}",
        2 => "\\PC{0,20}",
        1 => Just("<|im_start|>assistant 🎉 <think> \u{7f} \\u00e9 \" \\ / \t".to_owned()),
        1 => Just("  \n e\u{301} 👨‍👩‍👧‍👦 \u{2028} \n".to_owned()),
    ]
}

/// One way of reasoning, the same in a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Field,
    NewField,
    BothFields,
    Think,
    Visible,
    VisibleParts,
}

pub fn style() -> impl Strategy<Value = Style> {
    prop::sample::select(vec![
        Style::Field,
        Style::NewField,
        Style::BothFields,
        Style::Think,
        Style::Visible,
        Style::VisibleParts,
    ])
}

/// An assistant turn with a call and its result, reasoning in the given style.
pub fn turn(style: Style, reasoning: &str, call: &str) -> [Value; 2] {
    let mut message =
        json!({"role": "assistant", "content": "", "unknown": {"z": 1, "a": [null, 1.50]}});
    match style {
        Style::Field => message["reasoning_content"] = reasoning.into(),
        Style::NewField => message["reasoning"] = reasoning.into(),
        Style::BothFields => {
            message["reasoning"] = reasoning.into();
            message["reasoning_content"] = reasoning.into();
        }
        Style::Think => {
            message["content"] = format!("<think>\n{reasoning}\n</think>\n\nNext.").into()
        }
        Style::Visible => message["content"] = reasoning.into(),
        Style::VisibleParts => message["content"] = json!([{"type": "text", "text": reasoning}]),
    }
    message["tool_calls"] = json!([{"id": call, "type": "function", "function": {"name": "zoom", "arguments": "{\"cell\": [1, 2]}"}}]);
    [
        message,
        json!({"role": "tool", "tool_call_id": call, "content": reasoning}),
    ]
}

/// A run whose tool results repeat the reasoning word for word, so that searching for it would edit the wrong place.
pub fn run(style: Style, reasonings: &[String]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": reasonings.concat()})];
    for (index, reasoning) in reasonings.iter().enumerate() {
        messages.extend(turn(style, reasoning, &format!("call_{index}")));
    }
    messages.push(json!({"role": "assistant", "content": "Done."}));
    json!({"id": 7, "extra": {"messages": [1.0, 3.0]}, "messages": messages})
}

/// The same JSON in another spelling: spaces, line ends and escapes as `seed` has it.
pub fn spell(value: &Value, seed: &mut u64) -> String {
    let mut space = |out: &mut String| {
        *seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        out.push_str(["", "", " ", "\n\t"][(*seed >> 60) as usize % 4]);
    };
    let mut out = String::new();
    space(&mut out);
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&spell(item, seed));
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (key, item)) in fields.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&spell(&Value::String(key.clone()), seed));
                out.push(':');
                out.push_str(&spell(item, seed));
            }
            out.push('}');
        }
        Value::String(text) => {
            out.push('"');
            for c in text.chars() {
                *seed = seed
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                if *seed >> 62 == 0 {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04X}"));
                    }
                } else {
                    let quoted = Value::String(c.to_string()).to_string();
                    out.push_str(&quoted[1..quoted.len() - 1]);
                }
            }
            out.push('"');
        }
        other => out.push_str(&other.to_string()),
    }
    out
}
