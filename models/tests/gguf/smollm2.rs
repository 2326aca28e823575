//! Real weights: SmolLM2-135M-Instruct in Q4_1 (golden file: tests/golden/smollm2.py).
//!
//! The file is not part of this repository. It is read from `SPARE_SMOLLM2` (default
//! `tests/fetched/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf`, see `.ci/fetch-smollm2`). Without it these tests print a line
//! and pass; with `SPARE_REQUIRE_FETCHED=1` that is a failure.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spare_models::checkpoint::gguf::{GgufCheckpoint, open};
use spare_models::prompt::{Chat, Prompter, SpecialTokens};
use tokenizers::Tokenizer;

use super::{data, json};

pub fn fetched() -> Option<PathBuf> {
    let path = std::env::var_os("SPARE_SMOLLM2").map(PathBuf::from);
    let default = "tests/fetched/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
    let path = path.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(default));
    if !path.exists() {
        let message = format!("{} is absent (run .ci/fetch-smollm2)", path.display());
        assert!(
            std::env::var_os("SPARE_REQUIRE_FETCHED").is_none_or(|v| v != "1"),
            "{message}"
        );
        eprintln!("skipped: {message}");
        return None;
    }
    Some(path)
}

fn opened() -> Option<(GgufCheckpoint, Value)> {
    let golden = json(&std::fs::read(data("smollm2.json")).unwrap());
    Some((open(&fetched()?, None).unwrap(), golden))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn every_tensor_is_that_of_transformers_bit_for_bit() {
    let Some((checkpoint, golden)) = opened() else {
        return;
    };
    let golden = golden["tensors"].as_object().unwrap();
    assert_eq!(checkpoint.entries().len(), golden.len());
    for (name, wanted) in golden {
        let entry = &checkpoint.entries()[name];
        assert_eq!(json!(entry.shape), wanted["shape"], "{name}");
        let values = checkpoint.f32(entry).unwrap();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(wanted["sha256"], hex(&Sha256::digest(&bytes)), "{name}");
    }
}

#[test]
fn config_is_that_of_transformers() {
    let Some((checkpoint, golden)) = opened() else {
        return;
    };
    let made = json(checkpoint.config());
    for (field, wanted) in golden["config"].as_object().unwrap() {
        let found = match field.as_str() {
            "rope_theta" => &made["rope_parameters"]["rope_theta"],
            field => &made[field],
        };
        match field.as_str() {
            // transformers widens the f32 of the file; here it is the decimal that was rounded to it.
            "rms_norm_eps" => {
                assert_eq!(found, &json!(1e-5));
                assert_eq!(
                    found.as_f64().unwrap() as f32,
                    wanted.as_f64().unwrap() as f32
                );
            }
            _ => assert_eq!(found, wanted, "{field}"),
        }
    }
}

#[test]
fn ids_are_those_of_transformers() {
    let Some((checkpoint, golden)) = opened() else {
        return;
    };
    let tokenizer = Tokenizer::from_bytes(checkpoint.tokenizer()).unwrap();
    let cases = golden["strings"].as_array().unwrap().iter();
    for case in cases.chain(golden["prompts"].as_array().unwrap()) {
        let text = case["text"].as_str().unwrap();
        let ids = tokenizer.encode(text, true).unwrap().get_ids().to_vec();
        assert_eq!(json!(ids), case["ids"], "{text:?}");
    }
}

/// The model sees nothing and has no picture placeholder; some special token stands in for one.
#[test]
fn chats_are_rendered_and_encoded_as_in_transformers() {
    let Some((checkpoint, golden)) = opened() else {
        return;
    };
    let mut special = SpecialTokens::from_config(checkpoint.tokenizer_config()).unwrap();
    special.image = Some("<file_sep>".into());
    let template = checkpoint.template().unwrap();
    let prompter = Prompter::new(checkpoint.tokenizer(), template, &special).unwrap();
    let mut chats = 0;
    for case in golden["prompts"].as_array().unwrap() {
        let Some(messages) = case.get("messages") else {
            continue;
        };
        let chat = Chat {
            messages: messages.as_array().unwrap().clone(),
            add_generation_prompt: true,
            ..Chat::default()
        };
        let rendering = prompter.render(&chat).unwrap();
        assert_eq!(rendering.text, case["text"].as_str().unwrap());
        let encoded = prompter.encode(&rendering, &[]).unwrap();
        assert_eq!(json!(encoded.ids), case["ids"], "{:?}", rendering.text);
        chats += 1;
    }
    assert!(chats >= 10, "{chats} chats");
}
