//! The made tokenizer.json gives the ids of the source's.

use std::borrow::Cow;
use std::path::PathBuf;

use serde_json::{Value, json};
use spare_models::checkpoint::gguf::GgufCheckpoint;
use tokenizers::Tokenizer;

use super::writer::{Gguf, minimal};
use super::{FAMILIES, data, family, json};

const STRINGS: &[&str] = &[
    "",
    "Hello, world!",
    " leading",
    "trailing  ",
    "two  spaces",
    "   three",
    "\ttab\tand",
    "line\nbreak",
    "\n\n\n",
    "\r\n dos \r\n",
    "1",
    "12",
    "1234567",
    " 42 ",
    "3.14",
    "1e-5",
    "room101",
    "१२३",
    "²³½",
    "don't DON'T 'LL",
    "we'll we've I'm",
    "it’s",
    "naïve café",
    "e\u{301} is not é",
    "Å Å ﬁ",
    "東京タワー",
    "안녕하세요",
    "Привет",
    "مرحبا",
    "🙂",
    "👩‍👩‍👧 🏳️‍🌈",
    "\u{200b}x",
    "\u{a0}nbsp\u{3000}wide",
    "a\0b",
    "<|im_start|>user\nhi<|im_end|>",
    "<|endoftext|>",
    " <|im_end|> ",
    "<|im_end",
    "<tool_call>{}</tool_call>",
    "<think>the one and</think>",
    "<|vision_start|><|image_pad|><|vision_end|>",
    "if (x == 0) { return; } // C",
    "    indented",
    "…—“”",
    "the other and the hour in on an",
];

fn same(name: &str, made: &[u8], source: &Tokenizer) {
    let made = Tokenizer::from_bytes(made).unwrap();
    for text in STRINGS {
        for around in [false, true] {
            let ids = |t: &Tokenizer| t.encode(*text, around).unwrap().get_ids().to_vec();
            assert_eq!(ids(&made), ids(source), "{name}: {text:?}");
        }
        let ids = source.encode(*text, false).unwrap().get_ids().to_vec();
        let back = |t: &Tokenizer, skip| t.decode(&ids, skip).unwrap();
        assert_eq!(back(&made, false), back(source, false), "{name}: {text:?}");
    }
}

#[test]
fn converted_vocabularies_give_the_ids_of_the_source() {
    let source = Tokenizer::from_file(data("gguf/tokenizer.json")).unwrap();
    for (name, ..) in FAMILIES {
        same(name, family(name).tokenizer(), &source);
    }
}

#[test]
fn added_tokens_keep_ids_and_kinds() {
    let source = std::fs::read(data("gguf/tokenizer.json")).unwrap();
    let made = json(family("qwen3_vl").tokenizer());
    assert_eq!(made["added_tokens"], json(&source)["added_tokens"]);
    let vocab = made["model"]["vocab"].as_object().unwrap();
    assert!(
        vocab.keys().all(|token| !token.starts_with("[PAD")),
        "rows without a token have none"
    );
}

#[test]
fn template_and_named_tokens_are_those_of_the_source() {
    for (name, ..) in FAMILIES {
        let checkpoint = family(name);
        assert!(
            checkpoint
                .template()
                .unwrap()
                .starts_with("{%- for m in messages %}"),
            "{name}"
        );
        let wanted = json!({"add_bos_token": false, "bos_token": "<|endoftext|>", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"});
        assert_eq!(json(checkpoint.tokenizer_config()), wanted, "{name}");
    }
}

/// A file with the vocabulary of a tokenizer.json, as llama.cpp's converter would write it.
fn gguf_of(source: &Value, pre: &str) -> Gguf {
    let mut tokens: Vec<(u64, String, i32)> = Vec::new();
    for (token, id) in source["model"]["vocab"].as_object().unwrap() {
        tokens.push((id.as_u64().unwrap(), token.clone(), 1));
    }
    for added in source["added_tokens"].as_array().unwrap() {
        let (id, content) = (
            added["id"].as_u64().unwrap(),
            added["content"].as_str().unwrap(),
        );
        tokens.retain(|(_, token, _)| token != content);
        tokens.push((
            id,
            content.to_owned(),
            if added["special"] == true { 3 } else { 4 },
        ));
    }
    tokens.sort();
    let merges: Vec<String> = source["model"]["merges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|merge| match merge {
            Value::String(pair) => pair.clone(),
            pair => format!(
                "{} {}",
                pair[0].as_str().unwrap(),
                pair[1].as_str().unwrap()
            ),
        })
        .collect();
    let mut file = minimal();
    file.text("tokenizer.ggml.pre", pre);
    let texts: Vec<&str> = tokens.iter().map(|(_, text, _)| text.as_str()).collect();
    let kinds: Vec<i32> = tokens.iter().map(|(.., kind)| *kind).collect();
    assert_eq!(
        tokens.last().unwrap().0 as usize + 1,
        tokens.len(),
        "ids without holes"
    );
    file.texts("tokenizer.ggml.tokens", &texts);
    file.numbers("tokenizer.ggml.token_type", &kinds);
    file.texts(
        "tokenizer.ggml.merges",
        &merges.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    file
}

/// A tokenizer that `.ci/fetch-tokenizer` brings, where it is.
fn fetched(variable: &str, folder: &str) -> Option<PathBuf> {
    let path = std::env::var_os(variable).map(PathBuf::from);
    let root = data("../../..");
    let path = path.unwrap_or_else(|| root.join(format!("target/{folder}/tokenizer.json")));
    if !path.exists() {
        let message = format!("{} is absent (run .ci/fetch-tokenizer)", path.display());
        assert!(
            std::env::var_os("SPARE_REQUIRE_FETCHED").is_none_or(|v| v != "1"),
            "{message}"
        );
        eprintln!("skipped: {message}");
        return None;
    }
    Some(path)
}

#[test]
fn real_vocabularies_give_the_ids_of_their_own_tokenizers() {
    for (variable, folder, pre) in [
        ("SPARE_QWEN3_TOKENIZER", "qwen3-tokenizer", "qwen2"),
        ("SPARE_LLAMA3_TOKENIZER", "llama3-tokenizer", "llama-bpe"),
    ] {
        let Some(path) = fetched(variable, folder) else {
            continue;
        };
        let source = std::fs::read(path).unwrap();
        let mut file = gguf_of(&json(&source), pre);
        if pre == "llama-bpe" {
            file.number("tokenizer.ggml.bos_token_id", 128_000);
        }
        let made = GgufCheckpoint::from_bytes(Cow::Owned(file.bytes()), None).unwrap();
        same(
            folder,
            made.tokenizer(),
            &Tokenizer::from_bytes(&source).unwrap(),
        );
    }
}

/// Splitting of numbers tells the known ways apart: one digit, three, as many as there are.
#[test]
fn each_name_of_a_splitting_splits_as_its_models_do() {
    let letters = [
        "1", "2", "Ġ", "a", "'", "S", "11", "111", "'S", "1111", "Ġ1",
    ];
    let merges = ["1 1", "11 1", "11 11", "' S", "Ġ 1"];
    for (pre, text, wanted) in [
        ("gpt-2", "1111 1 a", &["1111", "Ġ1", "Ġ", "a"][..]),
        (
            "smollm",
            "1111 1 a",
            &["1", "1", "1", "1", "Ġ", "1", "Ġ", "a"],
        ),
        (
            "qwen2",
            "1111 1 a",
            &["1", "1", "1", "1", "Ġ", "1", "Ġ", "a"],
        ),
        ("llama-bpe", "1111 1 a", &["111", "1", "Ġ", "1", "Ġ", "a"]),
        ("llama3", "11112", &["111", "1", "2"]),
        ("gpt-2", "a'S", &["a", "'", "S"]),
        ("qwen2", "a'S", &["a", "'S"]),
        ("llama-v3", "a'S", &["a", "'S"]),
    ] {
        let mut file = minimal();
        file.text("tokenizer.ggml.pre", pre);
        file.texts("tokenizer.ggml.tokens", &letters);
        file.numbers("tokenizer.ggml.token_type", &[1; 11]);
        file.texts("tokenizer.ggml.merges", &merges);
        let made = GgufCheckpoint::from_bytes(Cow::Owned(file.bytes()), None);
        if pre.starts_with("llama") {
            // They put the first token in front of each text, unless the file says otherwise.
            assert!(made.is_ok());
        }
        let made = Tokenizer::from_bytes(made.unwrap().tokenizer()).unwrap();
        let encoding = made.encode(text, false).unwrap();
        assert_eq!(encoding.get_tokens(), wanted, "{pre}: {text:?}");
    }
}

#[test]
fn the_first_token_is_put_in_front_where_the_file_says_so() {
    for (pre, flag, first) in [
        ("gpt-2", None, false),
        ("gpt-2", Some(true), true),
        ("llama-bpe", None, true),
        ("llama-bpe", Some(false), false),
    ] {
        let mut file = minimal();
        file.text("tokenizer.ggml.pre", pre);
        if let Some(flag) = flag {
            file.set(
                "tokenizer.ggml.add_bos_token",
                super::writer::BOOL,
                vec![u8::from(flag)],
            );
        }
        let made = GgufCheckpoint::from_bytes(Cow::Owned(file.bytes()), None).unwrap();
        let tokenizer = Tokenizer::from_bytes(made.tokenizer()).unwrap();
        let around = tokenizer.encode("ab", true).unwrap().get_ids().to_vec();
        assert_eq!(
            around,
            if first { vec![3, 2] } else { vec![2] },
            "{pre} {flag:?}"
        );
        assert_eq!(
            tokenizer.encode("ab", false).unwrap().get_ids(),
            [2],
            "{pre} {flag:?}"
        );
        assert_eq!(json(made.tokenizer_config())["add_bos_token"], json!(first));
    }
}
