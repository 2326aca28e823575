//! The rate of a product as `torch_rate.py` measures the peer's: best and median GFLOP/s over rounds, same shapes, same
//! types. `benches/against/rates` runs both in turn.
//!
//!     cargo bench -p spare-kernels --bench rate [-- --rounds 15 --only float32]
#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Instant;

use half::bf16;
use spare_kernels::Path;
use spare_kernels::gemm::{Activations, Packed, PackedBf16, PackedF32, gemm};

include!("common/mod.rs");

/// Rows, in, out.
const SHAPES: [(usize, usize, usize); 5] = [
    (512, 2048, 6144),
    (512, 1024, 3072),
    (512, 6144, 2048),
    (1, 2048, 6144),
    (1, 1024, 3072),
];
/// Weights passed in turn where a call reads each value once: none stays in a cache.
const COLD: usize = 256_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let rounds = arguments
        .iter()
        .position(|a| a == "--rounds")
        .map_or(15, |at| arguments[at + 1].parse().unwrap());
    let only = arguments.iter().position(|a| a == "--only");
    let only = only.and_then(|at| arguments.get(at + 1));
    let threads = rayon::current_num_threads();
    println!("spare-kernels, {threads} threads, {}", Path::current());
    for kind in ["bfloat16", "bf16/f32", "float32"] {
        if only.is_some_and(|only| only != kind) {
            continue;
        }
        for (rows, input, out) in SHAPES {
            let x = fill(1, rows * input, 2.0);
            let weight = fill(2, out * input, 2.0);
            let size = if kind == "float32" { 4 } else { 2 };
            let copies = if rows == 1 {
                COLD / (size * input * out)
            } else {
                1
            };
            let half: Vec<bf16> = weight.iter().map(|&w| bf16::from_f32(w)).collect();
            let (mut halves, mut singles) = (Vec::new(), Vec::new());
            for _ in 0..copies {
                if kind == "float32" {
                    singles.push(PackedF32::pack(&weight, out, input).unwrap());
                } else {
                    halves.push(PackedBf16::pack(&half, out, input).unwrap());
                }
            }
            let activations = match kind {
                "bfloat16" => Activations::F32AsBf16(&x),
                _ => Activations::F32(&x),
            };
            let mut y = vec![0.0; rows * out];
            let mut call = |turn: usize| {
                let weight = match kind {
                    "float32" => Packed::from(&singles[turn % copies]),
                    _ => Packed::from(&halves[turn % copies]),
                };
                gemm(activations, weight, &mut y).unwrap();
            };
            let work = 2e-9 * (rows * input * out) as f64;
            let calls = ((20.0 / work) as usize).max(1);
            let mut seconds: Vec<f64> = (0..=rounds)
                .map(|_| {
                    let start = Instant::now();
                    (0..calls).for_each(&mut call);
                    start.elapsed().as_secs_f64() / calls as f64
                })
                .skip(1)
                .collect();
            seconds.sort_by(f64::total_cmp);
            println!(
                "{kind:9} {rows:4} x {input} x {out}: best {:7.1} GFLOP/s, median {:7.1}",
                work / seconds[0],
                work / seconds[rounds / 2]
            );
        }
    }
}
