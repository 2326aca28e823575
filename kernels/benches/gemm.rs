//! The rate of a product: in bf16 and f32, of many rows and of one. `torch_rate.py` has the peer's numbers on
//! the same shapes. Elements are multiply-adds: twice the printed Gelem/s are GFLOP/s.
#![allow(missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use half::bf16;
use spare_kernels::Path;
use spare_kernels::gemm::{Activations, PackedBf16, PackedF32, gemm_on};

include!("common/mod.rs");

/// Rows, in, out.
const SHAPES: [(usize, usize, usize); 6] = [
    (512, 2048, 6144),
    (512, 1024, 3072),
    (512, 6144, 2048),
    (64, 2048, 6144),
    (1, 2048, 6144),
    (1, 1024, 3072),
];
/// Weights passed in turn where a call reads each value once: 256 MB, so that none stays in a cache.
const COLD: usize = 256_000_000;

fn products(c: &mut Criterion) {
    println!(
        "{}, {} threads",
        Path::current(),
        rayon::current_num_threads()
    );
    for (rows, input, out) in SHAPES {
        let x = fill(1, rows * input, 2.0);
        let weight = fill(2, out * input, 2.0);
        let half: Vec<bf16> = weight.iter().map(|&w| bf16::from_f32(w)).collect();
        let copies = |bytes: usize| {
            if rows == 1 {
                COLD.div_ceil(bytes * input * out)
            } else {
                1
            }
        };
        let halves: Vec<_> = (0..copies(2))
            .map(|_| PackedBf16::pack(&half, out, input).unwrap())
            .collect();
        let singles: Vec<_> = (0..copies(4))
            .map(|_| PackedF32::pack(&weight, out, input).unwrap())
            .collect();
        let mut y = vec![0.0; rows * out];
        let mut group = c.benchmark_group(format!("gemm {rows} x {input} x {out}"));
        group
            .sample_size(20)
            .throughput(Throughput::Elements((rows * input * out) as u64));
        let paths = Path::ALL.into_iter().filter(|path| path.available());
        for path in paths.filter(|&path| path == Path::current() || (rows, input) == (512, 1024)) {
            let mut turn = 0;
            for (name, x) in [
                ("bf16", Activations::F32AsBf16(&x)),
                ("bf16 weight", Activations::F32(&x)),
            ] {
                group.bench_function(BenchmarkId::new(name, path), |b| {
                    b.iter(|| {
                        turn += 1;
                        gemm_on(path, x, &halves[turn % halves.len()], &mut y).unwrap();
                    });
                });
            }
            group.bench_function(BenchmarkId::new("f32", path), |b| {
                b.iter(|| {
                    turn += 1;
                    gemm_on(
                        path,
                        Activations::F32(&x),
                        &singles[turn % singles.len()],
                        &mut y,
                    )
                    .unwrap();
                });
            });
        }
        if rows > 1 {
            group.bench_function("f32 gemm crate", |b| {
                b.iter(|| crate_gemm(&x, &weight, &mut y, rows, input, out))
            });
        }
        group.finish();
    }
}

/// The `gemm` crate, which candle uses: f32 only.
#[allow(unsafe_code)]
fn crate_gemm(x: &[f32], weight: &[f32], y: &mut [f32], rows: usize, input: usize, out: usize) {
    assert!(x.len() == rows * input && weight.len() == out * input && y.len() == rows * out);
    // SAFETY: `y [out, rows] = weight [out, input] * x [input, rows]` column-major, within the lengths above.
    unsafe {
        gemm::gemm(
            out,
            rows,
            input,
            y.as_mut_ptr(),
            out as isize,
            1,
            false,
            weight.as_ptr(),
            1,
            input as isize,
            x.as_ptr(),
            input as isize,
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::Rayon(0),
        );
    }
}

criterion_group!(benches, products);
criterion_main!(benches);
