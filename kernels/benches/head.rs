//! The head's share of the rate of the product that it contains: 2,048 tokens in two contexts by the vocabulary of Qwen3-VL, and the same
//! 4,096 rows by the same weight without the sums, in turn.
//!
//!     cargo bench -p spare-kernels --bench head [-- --rounds 3]
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::Instant;

use half::bf16;
use spare_kernels::gemm::{Activations, Packed, PackedBf16, PackedF32, gemm};
use spare_kernels::{HeadInput, Options, Path, Precision, Weight, reverse_kl};

include!("common/mod.rs");

const TOKENS: usize = 2_048;
const VOCAB: usize = 151_936;
const HIDDEN: usize = 2_048;
/// Rows of a call of the product alone: their logits take 311 MB.
const ROWS: usize = 512;

/// Sets the mark of [`peak`] back to what is resident now (Linux).
fn set_mark_back() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Largest resident size since the mark was set back, bytes; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

fn measure(name: &str, weight: Packed<'_>, precision: Precision, rounds: usize) {
    let student = fill(0, TOKENS * HIDDEN, 3.5);
    let teacher = fill(1 << 30, TOKENS * HIDDEN, 3.5);
    let recorded = vec![0; TOKENS];
    let input = HeadInput {
        student: &student,
        teacher: &teacher,
        weight: Weight::Packed(weight),
        hidden: HIDDEN,
        vocab: VOCAB,
        recorded: &recorded,
    };
    let options = Options {
        precision,
        ..Options::default()
    };
    let head = || {
        black_box(reverse_kl(&input, &options, &|| false).unwrap());
    };
    set_mark_back();
    let before = peak();
    head();
    let memory = peak().saturating_sub(before);
    let mut logits = vec![0.0; ROWS * VOCAB];
    let mut product = || {
        for states in [&student, &teacher] {
            for rows in states.chunks(ROWS * HIDDEN) {
                let rows = match precision {
                    Precision::Bf16 => Activations::F32AsBf16(rows),
                    _ => Activations::F32(rows),
                };
                gemm(rows, weight, &mut logits).unwrap();
            }
        }
    };
    product();
    let work = 2e-9 * (2 * TOKENS * HIDDEN * VOCAB) as f64;
    for _ in 0..rounds {
        let (head, product) = (seconds(head), seconds(&mut product));
        println!(
            "{name}: head {head:.2} s, {:.0} GFLOP/s; product alone {product:.2} s, {:.0}; {:.0} %; {:.0} MB beyond inputs",
            work / head,
            work / product,
            100.0 * product / head,
            memory as f64 / 1e6
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let rounds = arguments
        .iter()
        .position(|a| a == "--rounds")
        .map_or(3, |at| arguments[at + 1].parse().unwrap());
    println!(
        "spare-kernels, {} threads, {}",
        rayon::current_num_threads(),
        Path::current()
    );
    let weight = fill(2 << 30, VOCAB * HIDDEN, 0.05);
    {
        let half: Vec<bf16> = weight.iter().map(|&w| bf16::from_f32(w)).collect();
        let packed = PackedBf16::pack(&half, VOCAB, HIDDEN).unwrap();
        drop(half);
        measure("bf16", Packed::from(&packed), Precision::Bf16, rounds);
    }
    let packed = PackedF32::pack(&weight, VOCAB, HIDDEN).unwrap();
    drop(weight);
    measure("f32", Packed::from(&packed), Precision::Single, rounds);
}
