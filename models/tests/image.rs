//! Do pictures become exactly what the reference image processors make of them? The golden file and the pictures
//! beside it are made by tests/golden/image.py.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "image/config.rs"]
mod config;
#[path = "image/decode.rs"]
mod decode;
#[path = "image/jpeg.rs"]
mod jpeg;
#[path = "image/pattern.rs"]
mod pattern;
#[path = "image/resize.rs"]
mod resize;

use serde_json::Value;
use sha2::{Digest, Sha256};
use spare_models::image::{RgbImage, decode as decode_picture};
use std::path::PathBuf;
use std::sync::LazyLock;

static GOLDEN: LazyLock<Value> = LazyLock::new(|| {
    let text = std::fs::read_to_string(golden_dir().join("image.json")).unwrap();
    serde_json::from_str(&text).unwrap()
});

fn golden_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn picture_bytes(name: &str) -> Vec<u8> {
    std::fs::read(golden_dir().join("image").join(name)).unwrap()
}

fn picture(name: &str) -> RgbImage {
    decode_picture(&picture_bytes(name)).unwrap()
}

/// The cases of a section; an empty or missing one would make a test that cannot fail.
fn cases(section: &str) -> &'static [Value] {
    let cases = GOLDEN[section].as_array().unwrap();
    assert!(!cases.is_empty());
    cases
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn sha256_of_values(values: &[f32]) -> String {
    let mut hash = Sha256::new();
    for chunk in values.chunks(1 << 14) {
        hash.update(
            chunk
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect::<Vec<_>>(),
        );
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn number(value: &Value) -> u32 {
    value.as_u64().unwrap().try_into().unwrap()
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap()
}
