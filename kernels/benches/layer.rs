//! What a layer does between its products: attention (elements are query-key pairs of a head by its size, so
//! that 4 times the printed Gelem/s are GFLOP/s), norms, rotary, SwiGLU (elements are values).
#![allow(clippy::single_range_in_vec_init, missing_docs, clippy::unwrap_used)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use spare_kernels::attention::{Floats, KeyValues, Products, Seen, Shape, View, attention};
use spare_kernels::layer::{RmsNorm, Rotation, add_to, rms_norm, rotary, swiglu};

include!("common/mod.rs");

/// Qwen3-VL-2B: 16 heads on 8 key heads of 128.
const SHAPE: Shape = Shape {
    heads: 16,
    kv_heads: 8,
    size: 128,
    scale: 0.088_388_35,
    products: Products::F32,
};

fn attend(c: &mut Criterion) {
    let mut group = c.benchmark_group("attention");
    group.sample_size(10);
    // A causal prefill, and 24 branches of 100 tokens that leave a trunk of 2048.
    let trunk = 2048;
    let causal: Vec<(usize, Vec<std::ops::Range<usize>>)> =
        (0..trunk).map(|row| (row + 1, vec![])).collect();
    let branches = (0..24).flat_map(|b| {
        (0..100).map(move |i| {
            let own = trunk + b * 100;
            (80 * (b + 1), vec![own..own + i + 1])
        })
    });
    for (name, rows) in [
        ("causal 2048", causal),
        ("24 branches of 100", branches.collect()),
    ] {
        let keys = trunk + 2400;
        let q = fill(1, rows.len() * 2048, 2.0);
        let (k, v) = (fill(2, keys * 1024, 2.0), fill(3, keys * 1024, 2.0));
        let view = |values, heads: usize| View {
            values: Floats::F32(values),
            token: heads * 128,
            head: 128,
        };
        let pair = KeyValues {
            tokens: keys,
            keys: view(&k, 8),
            values: view(&v, 8),
        };
        let seen: Vec<Seen<'_>> = rows
            .iter()
            .map(|(prefix, own)| Seen {
                prefix: *prefix,
                own,
            })
            .collect();
        let pairs: usize = rows
            .iter()
            .map(|(prefix, own)| prefix + own.iter().map(|r| r.len()).sum::<usize>())
            .sum();
        let mut out = vec![0.0; q.len()];
        group.throughput(Throughput::Elements((pairs * 16 * 128) as u64));
        for products in [Products::F32, Products::Bf16] {
            let shape = Shape { products, ..SHAPE };
            group.bench_function(BenchmarkId::new(name, format!("{products:?}")), |b| {
                b.iter(|| attention(shape, view(&q, 16), &[pair], &seen, &mut out).unwrap());
            });
        }
    }
    group.finish();
}

fn passes(c: &mut Criterion) {
    let (rows, width) = (512, 2048);
    let mut x = fill(1, rows * width, 2.0);
    let (delta, weight) = (fill(2, rows * width, 1e-6), fill(3, width, 2.0));
    let norm = RmsNorm {
        weight: &weight,
        epsilon: 1e-6,
    };
    let mut group = c.benchmark_group("layer 512 x 2048");
    group.throughput(Throughput::Elements((rows * width) as u64));
    group.bench_function("rms_norm", |b| b.iter(|| rms_norm(&x, norm).unwrap()));
    group.bench_function("add_to", |b| b.iter(|| add_to(&mut x, &delta).unwrap()));
    let (cos, sin) = (vec![0.6; rows * 64], vec![0.8; rows * 64]);
    let rotation = Rotation {
        cos: &cos,
        sin: &sin,
    };
    let head = RmsNorm {
        weight: &weight[..128],
        epsilon: 1e-6,
    };
    group.bench_function("rotary with norm", |b| {
        b.iter(|| rotary(&mut x, 16, 128, rotation, Some(head)).unwrap())
    });
    group.bench_function("swiglu", |b| b.iter(|| swiglu(&mut x, &delta).unwrap()));
    group.finish();
}

criterion_group!(benches, attend, passes);
criterion_main!(benches);
