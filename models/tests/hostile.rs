//! Checkpoints made to harm: each is an error that says where, in little memory. Times are printed, not asserted.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unsafe_code,
    missing_docs
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use spare_models::{Device, ModelError, WeightDtype, load};

/// Counts what is held, so that a test can say how much a call took at its peak.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator unchanged; the counters touch no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(held, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const MOST: usize = 100 << 20;

fn good(file: &str) -> Vec<u8> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/qwen3_vl/gqa1-tied");
    std::fs::read(golden.join(file)).unwrap()
}

fn config(edit: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut config: Value = serde_json::from_slice(&good("config.json")).unwrap();
    edit(&mut config);
    serde_json::to_vec(&config).unwrap()
}

/// A safetensors file: declared header length (the real one without), header, data.
fn file(length: Option<u64>, header: &[u8], data: &[u8]) -> Vec<u8> {
    let length = length.unwrap_or(header.len() as u64);
    [&length.to_le_bytes()[..], header, data].concat()
}

fn tensor(dtype: &str, shape: &[u64], offsets: [u64; 2]) -> Value {
    json!({"dtype": dtype, "shape": shape, "data_offsets": offsets})
}

fn header(tensors: &[(&str, Value)]) -> Vec<u8> {
    let all: serde_json::Map<_, _> = tensors
        .iter()
        .map(|(n, t)| ((*n).into(), t.clone()))
        .collect();
    serde_json::to_vec(&all).unwrap()
}

type Files = Vec<(&'static str, Vec<u8>)>;

fn weights(file: Vec<u8>) -> Files {
    vec![
        ("config.json", good("config.json")),
        ("model.safetensors", file),
    ]
}

fn index(map: Value) -> Files {
    let index = json!({"metadata": {}, "weight_map": map});
    vec![
        ("config.json", good("config.json")),
        (
            "model.safetensors.index.json",
            serde_json::to_vec(&index).unwrap(),
        ),
    ]
}

fn sizes(edit: impl FnOnce(&mut Value)) -> Files {
    vec![
        ("config.json", config(edit)),
        ("model.safetensors", good("model.safetensors")),
    ]
}

/// Name, files, what the message has to hold.
fn cases() -> Vec<(&'static str, Files, &'static str)> {
    let two = |a: [u64; 2], b: [u64; 2]| {
        header(&[("a", tensor("F32", &[2], a)), ("b", tensor("F32", &[2], b))])
    };
    let nan = {
        let mut bytes = good("model.safetensors");
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
        bytes
    };
    let wrong_type = {
        let bytes = good("model.safetensors");
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let text = String::from_utf8(bytes[8..8 + length].to_vec())
            .unwrap()
            .replacen("\"F32\"", "\"I32\"", 1);
        file(None, text.as_bytes(), &bytes[8 + length..])
    };
    vec![
        (
            "header length of 2^63",
            weights(file(Some(1 << 63), b"{}", b"")),
            "found a header of 9223372036854775808 bytes",
        ),
        (
            "header longer than the file",
            weights(file(Some(99), b"{}", b"")),
            "found a header of 99 bytes, expected at most 2",
        ),
        (
            "header length of 0",
            weights(file(Some(0), b"", b"")),
            "header: EOF",
        ),
        (
            "five bytes",
            weights(vec![1; 5]),
            "found 5 bytes, expected a header",
        ),
        (
            "header that is no JSON",
            weights(file(None, &[b'x'; 64], b"")),
            "header: expected value",
        ),
        (
            "header of brackets",
            weights(file(None, &vec![b'['; 4 << 20], b"")),
            "header:",
        ),
        (
            "overlapping offsets",
            weights(file(None, &two([0, 8], [4, 12]), &[0; 12])),
            "header:",
        ),
        (
            "a hole between offsets",
            weights(file(None, &two([0, 8], [16, 24]), &[0; 24])),
            "header:",
        ),
        (
            "an end before its start",
            weights(file(None, &two([8, 0], [8, 16]), &[0; 16])),
            "header:",
        ),
        (
            "offsets beyond the file",
            weights(file(None, &two([0, 8], [8, 16]), &[0; 9])),
            "found 9 bytes of tensors, expected 16",
        ),
        (
            "a shape that overflows",
            weights(file(
                None,
                &header(&[("a", tensor("F32", &[1 << 40, 1 << 40], [0, 8]))]),
                &[0; 8],
            )),
            "header:",
        ),
        (
            "terabytes declared",
            weights(file(
                None,
                &header(&[("a", tensor("F32", &[1 << 40], [0, 1 << 42]))]),
                &[0; 8],
            )),
            "found 8 bytes of tensors, expected 4398046511104",
        ),
        (
            "an unknown type",
            weights(file(
                None,
                &header(&[("a", tensor("F7", &[2], [0, 8]))]),
                &[0; 8],
            )),
            "header:",
        ),
        (
            "a type that holds no weights",
            weights(wrong_type),
            "found type I32, expected F32, BF16 or F16",
        ),
        (
            "a weight that is no number",
            weights(nan),
            "NaN or infinite",
        ),
        (
            "shards that are not there",
            index(
                (0..2000)
                    .map(|i| (format!("t{i}"), json!(format!("s{i}.safetensors"))))
                    .collect(),
            ),
            "found no such file",
        ),
        (
            "a shard above the folder",
            index(json!({"a": "../model.safetensors"})),
            "a file name without folders",
        ),
        (
            "a shard anywhere",
            index(json!({"a": "/etc/hostname"})),
            "a file name without folders",
        ),
        (
            "a shard behind backslashes",
            index(json!({"a": "..\\model.safetensors"})),
            "a file name without folders",
        ),
        (
            "the folder above as a shard",
            index(json!({"a": ".."})),
            "a file name without folders",
        ),
        (
            "a shard that is no text",
            index(json!({"a": 7})),
            "a file name without folders",
        ),
        (
            "two billion layers",
            sizes(|c| c["text_config"]["num_hidden_layers"] = json!(2_147_483_647)),
            "problems with the weights",
        ),
        (
            "two billion layers of two billion experts",
            sizes(|c| {
                c["architectures"] = json!(["Qwen3VLMoeForConditionalGeneration"]);
                for field in [
                    "num_hidden_layers",
                    "num_experts",
                    "num_experts_per_tok",
                    "moe_intermediate_size",
                ] {
                    c["text_config"][field] = json!(2_147_483_647);
                }
            }),
            "problems with the weights",
        ),
        (
            "two billion tower blocks",
            sizes(|c| c["vision_config"]["depth"] = json!(2_147_483_647)),
            "problems with the weights",
        ),
        (
            "sizes whose products overflow",
            sizes(|c| {
                for field in [
                    "vocab_size",
                    "hidden_size",
                    "intermediate_size",
                    "num_attention_heads",
                    "num_key_value_heads",
                ] {
                    c["text_config"][field] = json!(2_147_483_647);
                }
                c["vision_config"]["out_hidden_size"] = json!(2_147_483_647);
            }),
            "problems with the weights",
        ),
        (
            "patches of terabytes",
            sizes(|c| c["vision_config"]["patch_size"] = json!(2_147_483_647)),
            "patch_size",
        ),
        (
            "merge cells of terabytes",
            sizes(|c| c["vision_config"]["spatial_merge_size"] = json!(2_147_483_647)),
            "spatial_merge_size",
        ),
        (
            "a position table without end",
            sizes(|c| c["vision_config"]["num_position_embeddings"] = json!(2_147_395_600)),
            "expected [2147395600",
        ),
    ]
}

#[test]
fn each_is_an_error_that_says_where_in_little_memory() {
    for (name, files, message) in cases() {
        let folder = tempfile::tempdir().unwrap();
        for (file, bytes) in &files {
            std::fs::write(folder.path().join(file), bytes).unwrap();
        }
        let before = HELD.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        let started = Instant::now();
        let error = load(folder.path(), WeightDtype::F32, &Device::Cpu)
            .map(drop)
            .unwrap_err();
        let took = started.elapsed();
        let text = error.to_string();
        let peak = PEAK.load(Ordering::Relaxed) - before;
        println!(
            "{name}: {:.1} ms, {:.2} MB: {}",
            took.as_secs_f64() * 1e3,
            peak as f64 / 1e6,
            text.lines().next().unwrap_or_default()
        );
        assert!(text.contains(message), "{name}: {text}");
        assert!(peak < MOST, "{name}: {peak} bytes");
        let place = folder.path().display().to_string();
        assert!(
            text.contains(&place) || matches!(error, ModelError::Weights { .. }),
            "{name}: {text}"
        );
    }
}
