//! The head beside the naive way: both whole logit matrices, then the sums.
#![allow(unsafe_code, missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rayon::prelude::*;
use spare_kernels::{HeadInput, Options, Precision, Weight, reverse_kl};

const TOKENS: usize = 256;
const VOCAB: usize = 16_384;
const HIDDEN: usize = 1024;

/// `states [TOKENS, HIDDEN] * weight^T`, whole.
fn logits<T: Copy + Default + 'static>(states: &[T], weight: &[T], zero: T, one: T) -> Vec<T> {
    let mut out = vec![T::default(); TOKENS * VOCAB];
    // SAFETY: the slices hold TOKENS x VOCAB, VOCAB x HIDDEN and TOKENS x HIDDEN values.
    unsafe {
        gemm::gemm(
            VOCAB,
            TOKENS,
            HIDDEN,
            out.as_mut_ptr(),
            VOCAB as isize,
            1,
            false,
            weight.as_ptr(),
            1,
            HIDDEN as isize,
            states.as_ptr(),
            HIDDEN as isize,
            1,
            zero,
            one,
            false,
            false,
            false,
            gemm::Parallelism::Rayon(0),
        );
    }
    out
}

/// Truncated and full divergence of two rows of logits, summed in f64.
fn divergence(student: &[f64], teacher: &[f64]) -> (f64, f64) {
    let lse = |row: &[f64]| {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        max + row.iter().map(|z| (z - max).exp()).sum::<f64>().ln()
    };
    let (lse_p, lse_q) = (lse(student), lse(teacher));
    let mut ids: Vec<usize> = (0..VOCAB).collect();
    ids.select_nth_unstable_by(19, |&a, &b| {
        student[b].total_cmp(&student[a]).then(a.cmp(&b))
    });
    let term = |i: usize, floor: f64| {
        let log_p = student[i] - lse_p;
        log_p.exp() * (log_p - (teacher[i] - lse_q).max(floor))
    };
    let topk = ids[..20]
        .iter()
        .map(|&i| term(i, 1e-12_f64.ln()))
        .sum::<f64>()
        .max(0.0);
    (topk, (0..VOCAB).map(|i| term(i, f64::NEG_INFINITY)).sum())
}

fn naive<T: Copy + Into<f64> + Sync>(student: &[T], teacher: &[T]) -> Vec<(f64, f64)> {
    let wide = |row: &[T]| row.iter().map(|&z| z.into()).collect::<Vec<f64>>();
    let rows = student.par_chunks(VOCAB).zip(teacher.par_chunks(VOCAB));
    rows.map(|(student, teacher)| divergence(&wide(student), &wide(teacher)))
        .collect()
}

fn naive_f32(student: &[f32], teacher: &[f32], weight: &[f32]) -> Vec<(f64, f64)> {
    naive(
        &logits(student, weight, 0.0, 1.0),
        &logits(teacher, weight, 0.0, 1.0),
    )
}

fn naive_f64(student: &[f32], teacher: &[f32], weight: &[f32]) -> Vec<(f64, f64)> {
    let wide = |from: &[f32]| from.par_iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
    let (student, teacher, weight) = (wide(student), wide(teacher), wide(weight));
    naive(
        &logits(&student, &weight, 0.0, 1.0),
        &logits(&teacher, &weight, 0.0, 1.0),
    )
}

include!("common/mod.rs");

fn compare(c: &mut Criterion) {
    let student = fill(0, TOKENS * HIDDEN, 3.5);
    let teacher: Vec<f32> = student
        .iter()
        .zip(fill(1 << 30, TOKENS * HIDDEN, 0.5))
        .map(|(a, b)| a + b)
        .collect();
    // Logits of standard deviation 10.
    let weight = fill(2 << 30, VOCAB * HIDDEN, 1.07);
    let recorded = vec![0; TOKENS];
    let input = HeadInput {
        student: &student,
        teacher: &teacher,
        weight: Weight::F32(&weight),
        hidden: HIDDEN,
        vocab: VOCAB,
        recorded: &recorded,
    };
    let options = |precision| Options {
        precision,
        ..Options::default()
    };
    let head = |precision| reverse_kl(&input, &options(precision), &|| false).unwrap();

    let found = head(Precision::Double);
    for (name, other) in [
        ("f32", naive_f32(&student, &teacher, &weight)),
        ("f64", naive_f64(&student, &teacher, &weight)),
    ] {
        let topk = found
            .d_topk
            .iter()
            .zip(&other)
            .map(|(a, b)| (a - b.0).abs())
            .fold(0.0, f64::max);
        let full = found
            .d_full
            .iter()
            .zip(&other)
            .map(|(a, b)| (a - b.1).abs())
            .fold(0.0, f64::max);
        let mean = found.d_topk.iter().sum::<f64>() / TOKENS as f64;
        println!(
            "head - naive {name}: d_topk {topk:.1e} (of {mean:.3} on average), d_full {full:.1e} nats"
        );
    }

    let mut group = c.benchmark_group("reverse_kl");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(TOKENS as u64));
    for precision in [Precision::Single, Precision::Double] {
        group.bench_function(format!("head {precision:?}"), |b| {
            b.iter(|| black_box(head(precision)));
        });
    }
    group.bench_function("naive f64 logits", |b| {
        b.iter(|| black_box(naive_f64(&student, &teacher, &weight)))
    });
    group.bench_function("naive f32 logits", |b| {
        b.iter(|| black_box(naive_f32(&student, &teacher, &weight)))
    });
    group.finish();
}

criterion_group!(benches, compare);
criterion_main!(benches);
