// Inputs of the benches.

/// `count` values of `[-scale / 2, scale / 2)` (splitmix64).
fn fill(seed: u64, count: usize, scale: f32) -> Vec<f32> {
    let value = |i: u64| {
        let z = seed.wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 40) as f32 / 16_777_216.0 - 0.5
    };
    (0..count as u64).map(|i| value(i) * scale).collect()
}
