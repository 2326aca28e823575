//! Hostile headers are refused by name, at once. `memory.rs` measures what they cost.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use spare_models::ModelError;
use spare_models::checkpoint::gguf::GgufCheckpoint;

use super::hostile_files::{Hostile, all};
use super::writer::{TEXT, minimal, text};

#[test]
fn hostile_headers_are_refused_by_name_within_a_second() {
    let cases = all();
    assert!(cases.len() >= 50);
    for Hostile { name, bytes, says } in cases {
        let start = Instant::now();
        let error = GgufCheckpoint::from_bytes(Cow::Owned(bytes), None).unwrap_err();
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{name} took {:?}",
            start.elapsed()
        );
        assert!(
            matches!(error, ModelError::Format { .. }),
            "{name}: {error}"
        );
        let message = error.to_string();
        for word in ["GGUF in memory", ": found ", ", expected "]
            .iter()
            .chain(says)
        {
            assert!(
                message.contains(word),
                "{name}: {word:?} is not in {message:?}"
            );
        }
        assert!(message.len() < 700, "{name}: {} characters", message.len());
    }
}

/// Every beginning of a valid file, and every file with one byte changed, opens or is refused; none of them panics.
#[test]
fn damaged_headers_never_panic() {
    let valid = minimal().bytes();
    for end in 0..valid.len() {
        drop(GgufCheckpoint::from_bytes(
            Cow::Owned(valid[..end].to_vec()),
            None,
        ));
    }
    for at in 0..valid.len() {
        for byte in [0, 1, 0x7f, 0x80, 0xff, valid[at] ^ 1, valid[at] ^ 0x20] {
            let mut bytes = valid.clone();
            bytes[at] = byte;
            drop(GgufCheckpoint::from_bytes(Cow::Owned(bytes), None));
        }
    }
}

/// A vocabulary of 150,000 tokens is read in well under a second.
#[test]
fn long_vocabularies_are_read_at_once() {
    let tokens: Vec<String> = (0..150_000).map(|i| format!("t{i}")).collect();
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut file = minimal();
    file.texts("tokenizer.ggml.tokens", &tokens);
    file.numbers("tokenizer.ggml.token_type", &vec![1; tokens.len()]);
    file.texts("tokenizer.ggml.merges", &[]);
    file.set("x", TEXT, text("y"));
    let bytes = file.bytes();
    let start = Instant::now();
    GgufCheckpoint::from_bytes(Cow::Owned(bytes), None).unwrap();
    assert!(
        start.elapsed() < Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
}
