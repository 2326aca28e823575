//! Are text and token ids those of transformers? (golden file: tests/golden/prompt.py)
//!
//! The Qwen3-VL template and the Qwen3 tokenizer are not part of this repository. The template is read from
//! `SPARE_QWEN3_TEMPLATE` (default `../shared/templates/qwen3-vl-instruct.jinja`), the tokenizer from
//! `SPARE_QWEN3_TOKENIZER` (default `target/qwen3-tokenizer/tokenizer.json`, see `.ci/fetch-tokenizer`). Without them
//! their tests print a line and pass; with `SPARE_REQUIRE_FETCHED=1` a missing tokenizer is a failure.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod prompt_support;

use std::fs;
use std::path::{Path, PathBuf};

use prompt_support::{THINKING, board, with};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spare_models::prompt::{Chat, Prompter, SpecialTokens};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

fn golden() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/prompt.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect()
}

/// A file that a test run may lack.
fn fetched(variable: &str, default: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map_or_else(|| repository().join(default), PathBuf::from);
    if path.exists() {
        return Some(path);
    }
    let message = format!(
        "{} is absent (set {variable}, or run .ci/fetch-tokenizer)",
        path.display()
    );
    assert!(
        std::env::var_os("SPARE_REQUIRE_FETCHED").is_none_or(|v| v != "1"),
        "{message}"
    );
    eprintln!("skipped: {message}");
    None
}

fn qwen3_tokenizer() -> Option<(Vec<u8>, Vec<u8>)> {
    let path = fetched(
        "SPARE_QWEN3_TOKENIZER",
        "target/qwen3-tokenizer/tokenizer.json",
    )?;
    let config = fs::read(path.with_file_name("tokenizer_config.json")).unwrap();
    Some((fs::read(path).unwrap(), config))
}

/// The released VL template. No registry has it and it is not part of this repository: where it is not at hand, its tests print a line and pass.
fn template() -> Option<PathBuf> {
    let named = std::env::var_os("SPARE_QWEN3_TEMPLATE").map(PathBuf::from);
    let beside = repository().join("../shared/templates/qwen3-vl-instruct.jinja");
    let path = named.clone().unwrap_or(beside);
    if named.is_none() && !path.exists() {
        let path = path.display();
        eprintln!(
            "skipped: {path} is absent (set SPARE_QWEN3_TEMPLATE to the template of Qwen3-VL-8B-Instruct)"
        );
        return None;
    }
    Some(path)
}

fn qwen3_vl() -> Option<Prompter> {
    let template = fs::read_to_string(template()?).unwrap();
    let (tokenizer, config) = qwen3_tokenizer()?;
    let hashes = &golden()["sha256"];
    assert_eq!(
        hashes["qwen3_vl_template"],
        json!(sha256(template.as_bytes()))
    );
    assert_eq!(hashes["qwen3_tokenizer"], json!(sha256(&tokenizer)));
    let tokens = SpecialTokens::from_config(&config).unwrap();
    let prompter = Prompter::new(&tokenizer, &template, &tokens).unwrap();
    assert_eq!(
        json!(prompter.template().hash()),
        hashes["qwen3_vl_template"]
    );
    Some(prompter)
}

/// The tokenizer's own template: Thinking-type, text only.
fn qwen3_text() -> Option<Prompter> {
    let (tokenizer, config) = qwen3_tokenizer()?;
    let json: Value = serde_json::from_slice(&config).unwrap();
    let template = json["chat_template"].as_str().unwrap();
    assert_eq!(
        golden()["sha256"]["qwen3_text_template"],
        json!(sha256(template.as_bytes()))
    );
    let tokens = SpecialTokens::from_config(&config).unwrap();
    Some(Prompter::new(&tokenizer, template, &tokens).unwrap())
}

/// Checks every conversation of one golden set; gives the number checked.
fn check(prompter: &Prompter, set: &str) -> usize {
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    let expected = golden["golden"][set].as_array().unwrap();
    for wanted in expected {
        let name = wanted["case"].as_str().unwrap();
        let case = cases
            .iter()
            .find(|case| case["name"] == wanted["case"])
            .unwrap();
        let chat = Chat {
            messages: case["messages"].as_array().unwrap().clone(),
            tools: case["tools"].as_array().unwrap().clone(),
            add_generation_prompt: case["add_generation_prompt"].as_bool().unwrap(),
            ..Chat::default()
        };
        let rendering = prompter
            .render(&chat)
            .unwrap_or_else(|e| panic!("{set}, {name}: {e}"));
        if let Some(text) = wanted["text"].as_str() {
            assert_eq!(rendering.text, text, "{set}, {name}");
        }
        assert_eq!(
            json!(sha256(rendering.text.as_bytes())),
            wanted["sha256"],
            "{set}, {name}: {}",
            rendering.text
        );
        let pictures: Vec<usize> = serde_json::from_value(case["picture_tokens"].clone()).unwrap();
        let encoded = prompter.encode(&rendering, &pictures).unwrap();
        let ids: Vec<u32> = serde_json::from_value(wanted["ids"].clone()).unwrap();
        assert_eq!(encoded.ids, ids, "{set}, {name}");
        let lengths: Vec<usize> = encoded.pictures.iter().map(|p| p.len()).collect();
        assert_eq!(lengths, pictures, "{set}, {name}");
        check_spans(&chat, &rendering, name);
        check_offsets(&encoded, name);
    }
    expected.len()
}

/// Every part, shown or hidden, is accounted for, and a shown one stands where its span says.
fn check_spans(chat: &Chat, rendering: &spare_models::prompt::Rendering, name: &str) {
    let root = json!({"messages": chat.messages, "tools": chat.tools});
    for part in &rendering.parts {
        let text = root.pointer(&part.pointer).unwrap().as_str().unwrap();
        let piece = &text[part.trimmed.clone()];
        let shown = &rendering.text[part.span.clone()];
        let dumped = part.pointer.contains("/arguments/") || part.pointer.starts_with("/tools/");
        let escaped = serde_json::to_string(piece).unwrap();
        let expected = if dumped {
            &escaped[1..escaped.len() - 1]
        } else {
            piece
        };
        assert_eq!(shown, expected, "{name} {}", part.pointer);
    }
    assert!(
        rendering
            .parts
            .windows(2)
            .all(|w| w[0].span.end <= w[1].span.start),
        "{name}"
    );
}

fn check_offsets(encoded: &spare_models::prompt::Encoded, name: &str) {
    assert_eq!(encoded.ids.len(), encoded.offsets.len());
    let mut end = 0;
    for token in &encoded.offsets {
        assert!(
            token.start <= end && token.end >= end && !token.is_empty(),
            "{name}: {token:?} after {end}"
        );
        end = token.end;
    }
    assert_eq!(end, encoded.text.len(), "{name}");
}

#[test]
fn board_ids_equal_transformers() {
    assert_eq!(check(&board(), "board"), 14);
}

#[test]
fn thinking_type_ids_equal_transformers() {
    assert_eq!(check(&with(THINKING), "thinking"), 14);
}

/// The one intended difference: special-token literals in text of the run are text here, tokens in transformers
/// (`sanitize_control_tokens=True` of 5.24 makes them text as well, but breaks the text around them).
#[test]
fn special_literals_of_the_run_differ_from_transformers() {
    let prompter = board();
    let forged = &golden()["forged"];
    let chat = prompt_support::chat(forged["messages"].clone());
    let encoded = prompter
        .encode(&prompter.render(&chat).unwrap(), &[])
        .unwrap();
    let list = |name: &str| -> Vec<u32> { serde_json::from_value(forged[name].clone()).unwrap() };
    let (theirs, sanitized) = (list("ids"), list("sanitized_ids"));
    let special = |ids: &[u32]| -> Vec<u32> {
        let last = prompter.token_id("</tool_response>").unwrap();
        ids.iter().copied().filter(|&id| id <= last).collect()
    };
    assert_ne!(encoded.ids, theirs);
    assert_eq!(special(&theirs).len(), special(&encoded.ids).len() + 6);
    assert_eq!(special(&encoded.ids), special(&sanitized));
    for ids in [&encoded.ids, &theirs, &sanitized] {
        assert_eq!(prompter.decode(ids).unwrap(), encoded.text);
    }
}

#[test]
fn qwen3_vl_instruct_ids_equal_transformers() {
    if let Some(prompter) = qwen3_vl() {
        assert_eq!(check(&prompter, "qwen3_vl"), 15);
    }
}

#[test]
fn qwen3_thinking_type_ids_equal_transformers() {
    if let Some(prompter) = qwen3_text() {
        assert_eq!(check(&prompter, "qwen3_text"), 12);
    }
}

/// A token that straddles the border of a part belongs to it: ".\n" is one token (624), "\n\n" another (271).
#[test]
fn straddling_tokens_belong_to_the_part() {
    let Some(thinking) = qwen3_text() else { return };
    let Some(instruct) = qwen3_vl() else { return };
    let ids = |prompter: &Prompter, message: Value, field: &str| {
        let chat = prompt_support::chat(json!([{"role": "user", "content": "q"}, message]));
        let rendering = prompter.render(&chat).unwrap();
        let encoded = prompter.encode(&rendering, &[]).unwrap();
        let pointer = format!("/messages/1/{field}");
        let span = rendering.spans(&pointer).next().unwrap().span.clone();
        encoded.ids[encoded.tokens_overlapping(span)].to_vec()
    };
    let thought = json!({"role": "assistant", "content": "a", "reasoning_content": "It is 9."});
    assert_eq!(
        ids(&thinking, thought, "reasoning_content"),
        [2132, 374, 220, 24, 624]
    );
    let content = |text: &str| json!({"role": "assistant", "content": text});
    assert_eq!(ids(&instruct, content("\nIt"), "content"), [271, 2132]);
    assert_eq!(ids(&instruct, content("It.\n"), "content"), [2132, 624]);
    // The emoji's tokens share its bytes; all of them belong to it.
    let emoji = ids(&instruct, content("x 🎯"), "content");
    assert_eq!(instruct.decode(&emoji).unwrap(), "x 🎯");
}
