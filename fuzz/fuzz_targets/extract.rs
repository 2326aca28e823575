#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| spare_fuzz::extract(data));
