//! Does a GGUF file say what the folder said that it was made from? Files, and the script that made them: `tests/golden`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod configs;
mod continued;
mod dequantised;
mod hostile;
mod loaded;
mod memory;
mod refused;
mod smollm2;
mod tensors;
mod tokenizers;
mod writer;

use std::path::{Path, PathBuf};

use serde_json::Value;
use spare_models::checkpoint::gguf::{GgufCheckpoint, open};

/// A file of the golden folder.
fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

/// The families with a model.safetensors beside them: folder, text file, mmproj.
const FAMILIES: [(&str, &str, Option<&str>); 7] = [
    ("llama", "text-f16.gguf", None),
    ("llama-q8", "text-q8_0.gguf", None),
    ("qwen3", "text-bf16.gguf", None),
    ("qwen2_vl", "text-f16.gguf", Some("mmproj-f16.gguf")),
    ("qwen2_5_vl", "text-bf16.gguf", Some("mmproj-f32.gguf")),
    ("qwen3_vl", "text-f32.gguf", Some("mmproj-f16.gguf")),
    ("qwen3_vl_moe", "text-f16.gguf", Some("mmproj-f32.gguf")),
];

fn family(name: &str) -> GgufCheckpoint {
    let (folder, text, mmproj) = FAMILIES.iter().find(|(n, ..)| *n == name).unwrap();
    let file = |file: &str| data(&format!("gguf/{folder}/{file}"));
    let mmproj = mmproj.map(file);
    open(&file(text), mmproj.as_deref()).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}
