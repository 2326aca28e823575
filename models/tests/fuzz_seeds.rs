//! The bodies of the fuzz targets of this crate on their seeds and on damaged copies of them, without cargo-fuzz.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../fuzz/src/models/gguf_header.rs"]
mod gguf;
#[path = "../../fuzz/src/models/safetensors_header.rs"]
mod safetensors;

use std::path::Path;

/// Calls `body` on each seed of `target`: whole, cut at many places, and with single bytes replaced.
fn on_seeds(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).expect("seeds are committed") {
        let data = std::fs::read(entry.expect("readable").path()).expect("readable");
        seeds += 1;
        body(&data);
        for at in (0..data.len()).step_by(1 + data.len() / 256) {
            body(&data[..at]);
            for byte in *b"\0\x01\x7f\x80\xff\"{" {
                let mut other = data.clone();
                other[at] = byte;
                body(&other);
            }
        }
    }
    assert!(seeds >= 3, "{seeds} seeds in {}", folder.display());
}

#[test]
fn gguf_header() {
    on_seeds("gguf_header", gguf::gguf_header);
}

#[test]
fn safetensors_header() {
    on_seeds("safetensors_header", safetensors::safetensors_header);
}
