#![no_main]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../src/models/gguf_header.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::gguf_header(data));
