//! What is well formed and not understood is refused with the key that says it.

use std::borrow::Cow;

use spare_models::ModelError;
use spare_models::checkpoint::gguf::{GgufCheckpoint, open};

use super::data;
use super::writer::{ARRAY, BOOL, F32, Gguf, array, minimal};

fn refusal(change: impl FnOnce(&mut Gguf)) -> ModelError {
    let mut file = minimal();
    change(&mut file);
    GgufCheckpoint::from_bytes(Cow::Owned(file.bytes()), None).unwrap_err()
}

type Change = fn(&mut Gguf);

/// Changes to the minimal file, the key that the refusal names, and words of it.
const CASES: &[(&str, Change, &[&str])] = &[
    (
        "general.architecture",
        |f| f.unset("general.architecture"),
        &["found nothing"],
    ),
    (
        "split.count",
        |f| f.number("split.count", 3),
        &["found 3", "one file"],
    ),
    (
        "llama.block_count",
        |f| f.unset("llama.block_count"),
        &["found nothing"],
    ),
    (
        "llama.block_count",
        |f| f.number("llama.block_count", 0),
        &["found 0"],
    ),
    (
        "llama.block_count",
        |f| f.number("llama.block_count", 1 << 30),
        &["1073741824", "at most 1 (one a tensor)"],
    ),
    (
        "llama.block_count",
        |f| f.float("llama.block_count", 1.0),
        &["found 1"],
    ),
    (
        "llama.attention.head_count",
        |f| f.numbers("llama.attention.head_count", &[2, 2]),
        &["an array of 2"],
    ),
    (
        "llama.attention.layer_norm_rms_epsilon",
        |f| f.float("llama.attention.layer_norm_rms_epsilon", f32::NAN),
        &["NaN", "positive"],
    ),
    (
        "llama.attention.sliding_window",
        |f| f.number("llama.attention.sliding_window", 4096),
        &["only what is understood"],
    ),
    (
        "llama.attention.key_length",
        |f| f.number("llama.attention.head_count", 3),
        &["do not divide"],
    ),
    (
        "llama.attention.key_length",
        |f| f.number("llama.attention.key_length", 3),
        &["an even number"],
    ),
    (
        "llama.attention.value_length",
        |f| f.number("llama.attention.value_length", 6),
        &["found 6", "expected 4"],
    ),
    (
        "llama.rope.dimension_count",
        |f| f.number("llama.rope.dimension_count", 2),
        &["found 2", "all 4 of a head"],
    ),
    (
        "llama.rope.scaling.type",
        |f| f.text("llama.rope.scaling.type", "yarn"),
        &["\"yarn\"", "no scaling"],
    ),
    (
        "llama.rope.scaling.factor",
        |f| f.float("llama.rope.scaling.factor", 4.0),
        &["found 4", "no scaling"],
    ),
    (
        "llama.expert_count",
        |f| f.number("llama.expert_count", 8),
        &["no experts in llama"],
    ),
    (
        "llama.feed_forward_length",
        |f| f.unset("llama.feed_forward_length"),
        &["found nothing"],
    ),
    (
        "llama.vocab_size",
        |f| f.number("llama.vocab_size", 5),
        &["found 5", "expected 4"],
    ),
    (
        "token_embd.weight",
        |f| f.tensors[0].name = "output_norm.weight".into(),
        &["found nothing"],
    ),
    (
        "rope_freqs.weight",
        |f| f.tensor("rope_freqs.weight", &[3], 0, &[0; 12]),
        &["2 factors from 1"],
    ),
    (
        "rope_freqs.weight",
        |f| f.tensor("rope_freqs.weight", &[2], 0, &[0, 0, 128, 63, 0, 0, 32, 65]),
        &["[1.000, 10.000]", "Llama 3.1"],
    ),
    (
        "tokenizer.ggml.model",
        |f| f.text("tokenizer.ggml.model", "llama"),
        &["SentencePiece"],
    ),
    (
        "tokenizer.ggml.model",
        |f| f.text("tokenizer.ggml.model", "bert"),
        &["\"bert\"", "gpt2"],
    ),
    (
        "tokenizer.ggml.pre",
        |f| f.unset("tokenizer.ggml.pre"),
        &["found nothing"],
    ),
    (
        "tokenizer.ggml.pre",
        |f| f.text("tokenizer.ggml.pre", "default"),
        &[
            "\"default\"",
            "gpt-2, llama-bpe, llama3, llama-v3, qwen2, smollm",
        ],
    ),
    (
        "tokenizer.ggml.tokens",
        |f| f.numbers("tokenizer.ggml.tokens", &[1, 2]),
        &["found an array of 2", "strings"],
    ),
    (
        "tokenizer.ggml.tokens",
        |f| f.texts("tokenizer.ggml.tokens", &["a", "b", "ab", "a"]),
        &["\"a\" as token 0 and as token 3"],
    ),
    (
        "tokenizer.ggml.token_type",
        |f| f.unset("tokenizer.ggml.token_type"),
        &["found nothing", "4 token types"],
    ),
    (
        "tokenizer.ggml.token_type",
        |f| f.numbers("tokenizer.ggml.token_type", &[1, 1, 1]),
        &["an array of 3"],
    ),
    (
        "tokenizer.ggml.token_type",
        |f| f.numbers("tokenizer.ggml.token_type", &[1, 1, 1, 7]),
        &["from 1 to 6"],
    ),
    (
        "tokenizer.ggml.merges",
        |f| f.unset("tokenizer.ggml.merges"),
        &["found nothing"],
    ),
    (
        "tokenizer.ggml.merges",
        |f| f.texts("tokenizer.ggml.merges", &["a b", "b a"]),
        &["\"b a\" as merge 1"],
    ),
    (
        "tokenizer.ggml.merges",
        |f| f.texts("tokenizer.ggml.merges", &["ab"]),
        &["\"ab\" as merge 0"],
    ),
    (
        "tokenizer.ggml.bos_token_id",
        |f| f.number("tokenizer.ggml.bos_token_id", 4),
        &["found 4", "below 4"],
    ),
    (
        "tokenizer.ggml.eos_token_id",
        |f| f.set("tokenizer.ggml.add_eos_token", BOOL, vec![1]),
        &["found nothing", "around each text"],
    ),
    (
        "tokenizer.ggml.add_bos_token",
        |f| f.number("tokenizer.ggml.add_bos_token", 1),
        &["true or false"],
    ),
];

#[test]
fn each_refusal_names_file_key_found_and_expected() {
    for (key, change, says) in CASES {
        let error = refusal(change);
        let ModelError::Config { place, field, .. } = &error else {
            panic!("{key}: {error}")
        };
        assert_eq!(
            (place.as_str(), field.as_str()),
            ("GGUF in memory", *key),
            "{error}"
        );
        let message = error.to_string();
        for word in *says {
            assert!(
                message.contains(word),
                "{key}: {word:?} is not in {message:?}"
            );
        }
    }
}

#[test]
fn other_architectures_are_named() {
    let error = refusal(|f| f.text("general.architecture", "gemma3"));
    let message = "GGUF in memory: architecture: found \"gemma3\", expected one of llama, qwen3, qwen2vl, qwen3vl, qwen3vlmoe";
    assert_eq!(error.to_string(), message);
}

#[test]
fn every_tensor_without_a_place_is_listed() {
    let error = refusal(|f| {
        f.tensor("blk.0.attn_qkv.weight", &[8, 24], 0, &[0; 768]);
        f.tensor("blk.00.ffn_up.weight", &[8, 16], 0, &[0; 512]);
        f.tensor("blk.0.ffn_up.bias", &[16], 0, &[0; 64]);
        f.tensor("blk.0.ffn_gate_exps.weight", &[8, 4, 2], 0, &[0; 256]);
        f.tensor("v.post_ln.weight", &[8], 0, &[0; 32]);
        f.tensor("blk.0.attn_q.weight", &[8, 6], 0, &[0; 192]);
    });
    let ModelError::Weights { problems, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(problems.len(), 6, "{error}");
    for name in [
        "attn_qkv",
        "blk.00.ffn_up",
        "ffn_up.bias",
        "ffn_gate_exps",
        "v.post_ln",
        "blk.0.attn_q.weight",
    ] {
        assert!(error.to_string().contains(name), "{name}: {error}");
    }
}

/// Files of the golden folder put together as they do not belong.
#[test]
fn files_that_do_not_belong_together_are_refused() {
    for (text, mmproj, says) in [
        (
            "qwen3_vl/text-f32",
            None,
            &[
                "general.architecture",
                "\"qwen3vl\" without an mmproj",
                "qwen3vl_merger",
            ][..],
        ),
        (
            "qwen2_vl/text-f16",
            None,
            &["qwen2vl_merger or qwen2.5vl_merger"],
        ),
        (
            "qwen3_vl/text-f32",
            Some("qwen2_vl/mmproj-f16"),
            &[
                "clip.projector_type",
                "\"qwen2vl_merger\"",
                "qwen3vl_merger",
            ],
        ),
        (
            "llama/text-f16",
            Some("qwen2_vl/mmproj-f16"),
            &["this model does not see"],
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
