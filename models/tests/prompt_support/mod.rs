//! Prompters on the board's tokenizer, for the prompt tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

use std::fs;
use std::path::Path;

use serde_json::Value;
use spare_models::prompt::{Chat, Prompter, Rendering, SpecialTokens};

/// A Thinking-type template.
pub const THINKING: &str = include_str!("thinking.jinja");

fn read(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("pretrained/board");
    fs::read(folder.join(name)).unwrap()
}

/// The board's tokenizer with its own template.
pub fn board() -> Prompter {
    with(&String::from_utf8(read("chat_template.jinja")).unwrap())
}

/// The board's tokenizer with another template.
pub fn with(template: &str) -> Prompter {
    let tokens = SpecialTokens::from_config(&read("tokenizer_config.json")).unwrap();
    Prompter::new(&read("tokenizer.json"), template, &tokens).unwrap()
}

/// A chat of these messages.
pub fn chat(messages: Value) -> Chat {
    Chat {
        messages: messages.as_array().unwrap().clone(),
        ..Chat::default()
    }
}

/// What the spans of a part show.
pub fn shown(rendering: &Rendering, pointer: &str) -> Vec<String> {
    let text = |part: &spare_models::prompt::PartSpan| rendering.text[part.span.clone()].to_owned();
    rendering.spans(pointer).map(text).collect()
}
