//! An mmproj that does not fit its text file is refused.

use std::borrow::Cow;

use spare_models::ModelError;
use spare_models::checkpoint::gguf::{GgufCheckpoint, open};

use super::data;
use super::writer::{ARRAY, BOOL, F32, array};

/// Files of the golden folder put together as they do not belong.
#[test]
fn files_that_do_not_belong_together_are_refused() {
    for (text, mmproj, says) in [
        (
            "qwen3_vl/text-f32",
            Some("qwen2_vl/mmproj-f16"),
            &[
                "clip.projector_type",
                "\"qwen2vl_merger\"",
                "qwen3vl_merger",
            ][..],
        ),
        (
            "llama/text-f16",
            Some("qwen2_vl/mmproj-f16"),
            &["which does not see"],
        ),
        (
            "qwen3_vl/text-f32",
            Some("qwen3/text-bf16"),
            &["general.architecture", "\"qwen3\"", "--mmproj"],
        ),
        (
            "qwen3_vl/mmproj-f16",
            None,
            &["clip", "expected one of llama"],
        ),
    ] {
        let file = |name: &str| data(&format!("gguf/{name}.gguf"));
        let error = open(&file(text), mmproj.map(file).as_deref()).unwrap_err();
        for word in says {
            assert!(
                error.to_string().contains(word),
                "{text}: {word:?} is not in {error}"
            );
        }
    }
    let missing = data("gguf/none.gguf");
    let error = open(&missing, None).unwrap_err();
    assert!(
        matches!(error, ModelError::Read { ref path, .. } if *path == missing),
        "{error}"
    );
}

/// A converted mmproj after one metadata entry was changed in place.
fn mmproj(key: &str, kind: u32, value: &[u8]) -> ModelError {
    let text = std::fs::read(data("gguf/qwen3_vl/text-f32.gguf")).unwrap();
    let mut bytes = std::fs::read(data("gguf/qwen3_vl/mmproj-f16.gguf")).unwrap();
    let at = bytes
        .windows(key.len())
        .position(|w| w == key.as_bytes())
        .unwrap()
        + key.len();
    bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
    bytes[at + 4..at + 4 + value.len()].copy_from_slice(value);
    GgufCheckpoint::from_bytes(Cow::Owned(text), Some(Cow::Owned(bytes))).unwrap_err()
}

#[test]
fn towers_that_do_not_fit_are_refused() {
    let number = |n: u32| n.to_le_bytes();
    for (key, kind, value, says) in [
        (
            "clip.vision.projection_dim",
            4,
            number(64),
            &["found 64", "the width of GGUF in memory, 32"][..],
        ),
        (
            "clip.vision.block_count",
            4,
            number(1 << 30),
            &["1073741824", "number of tensors"],
        ),
        (
            "clip.vision.patch_size",
            F32,
            number(0x7f80_0000),
            &["inf", "a whole number"],
        ),
    ] {
        let error = mmproj(key, kind, &value);
        for word in [key, "mmproj in memory"].iter().chain(says) {
            assert!(
                error.to_string().contains(word),
                "{key}: {word:?} is not in {error}"
            );
        }
    }
    // One tap instead of two: the text model and the names of the taps both disagree.
    let flags = array(BOOL, &[vec![0], vec![1], vec![0], vec![0]]);
    let error = mmproj("clip.vision.is_deepstack_layers", ARRAY, &flags);
    assert!(
        error
            .to_string()
            .contains("qwen3vl.n_deepstack_layers: found 2, expected 1"),
        "{error}"
    );
}
