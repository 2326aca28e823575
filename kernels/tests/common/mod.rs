//! Deterministic inputs of the head, the same as `inputs` of tests/golden/reverse_kl.py makes.
#![allow(dead_code, clippy::unwrap_used)]

use half::bf16;
use spare_kernels::{Divergence, HeadInput, Options, Weight, reverse_kl};

/// Value `index` of the splitmix64 stream of `seed`.
pub fn splitmix64(seed: u64, index: usize) -> u64 {
    let step = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut z = seed.wrapping_add(step);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Integers of `[-r, r]` times `2^-s`, exact in f32.
pub fn uniform(seed: u64, count: usize, (r, s): (u64, i32)) -> Vec<f32> {
    let value = |i| (splitmix64(seed, i) % (2 * r + 1)) as i64 - r as i64;
    (0..count)
        .map(|i| value(i) as f32 * (-s as f32).exp2())
        .collect()
}

/// Owned input of the head.
#[derive(Debug, Clone)]
pub struct Owned {
    pub student: Vec<f32>,
    pub teacher: Vec<f32>,
    pub weight: Vec<f32>,
    pub half: Option<Vec<bf16>>,
    pub hidden: usize,
    pub vocab: usize,
    pub recorded: Vec<u32>,
}

impl Owned {
    /// `n` tokens whose teacher differs from the student by `delta`; spreads as in [`uniform`].
    pub fn new(seed: u64, n: usize, hidden: usize, vocab: usize, spreads: [(u64, i32); 3]) -> Self {
        let [state, delta, weight] = spreads;
        let student = uniform(seed, n * hidden, state);
        let moved = uniform(seed + 1, n * hidden, delta);
        Self {
            teacher: student.iter().zip(moved).map(|(a, b)| a + b).collect(),
            student,
            weight: uniform(seed + 2, vocab * hidden, weight),
            half: None,
            hidden,
            vocab,
            recorded: (0..n)
                .map(|i| (splitmix64(seed + 3, i) % vocab as u64) as u32)
                .collect(),
        }
    }

    pub fn input(&self) -> HeadInput<'_> {
        HeadInput {
            student: &self.student,
            teacher: &self.teacher,
            weight: self
                .half
                .as_deref()
                .map_or(Weight::F32(&self.weight), Weight::Bf16),
            hidden: self.hidden,
            vocab: self.vocab,
            recorded: &self.recorded,
        }
    }

    pub fn run(&self, options: &Options) -> Divergence {
        reverse_kl(&self.input(), options, &|| false).unwrap()
    }
}

/// Largest absolute difference; infinities must agree, NaN agrees with nothing.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let apart = |(&a, &b): (&f64, &f64)| if a == b { 0.0 } else { (a - b).abs() };
    a.iter()
        .zip(b)
        .map(apart)
        .fold(0.0, |max, d| if d <= max { max } else { d })
}

/// Largest [`distance`] over all fields.
pub fn divergence_distance(a: &Divergence, b: &Divergence) -> f64 {
    [
        distance(&a.d_topk, &b.d_topk),
        distance(&a.d_full, &b.d_full),
        distance(&a.logp, &b.logp),
        distance(&a.logq, &b.logq),
        distance(&a.kth_gap, &b.kth_gap),
    ]
    .into_iter()
    .fold(0.0, |max, d| if d <= max { max } else { d })
}
