//! Are the fused passes of a layer what their formulas say?
#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use spare_kernels::Path;
use spare_kernels::layer::{
    RmsNorm, Rotation, add_to, gelu_tanh_on, rms_norm, rotary, swiglu, swiglu_on,
};

const SPREAD: (u64, i32) = (1 << 23, 21);

/// Relative to 1: four roundings, and a little for the sum of squares.
const BOUND: f64 = 1e-6;

fn close(found: f32, expected: f64) -> bool {
    (f64::from(found) - expected).abs() <= BOUND * expected.abs().max(1.0)
}

fn normed(row: &[f32], weight: &[f32], epsilon: f32) -> Vec<f64> {
    let mean = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / row.len() as f64;
    let factor = (mean + f64::from(epsilon)).sqrt().recip();
    row.iter()
        .zip(weight)
        .map(|(&x, &w)| f64::from(x) * factor * f64::from(w))
        .collect()
}

#[test]
fn rms_norm_agrees_with_f64() {
    for (rows, width) in [(1, 1), (3, 7), (5, 64), (40, 2048), (2, 16), (1, 6143)] {
        let (x, weight) = (uniform(1, rows * width, SPREAD), uniform(2, width, SPREAD));
        let norm = RmsNorm {
            weight: &weight,
            epsilon: 1e-6,
        };
        let out = rms_norm(&x, norm).unwrap();
        assert_eq!(out.len(), x.len());
        for (x, out) in x.chunks(width).zip(out.chunks(width)) {
            for (&found, expected) in out.iter().zip(normed(x, &weight, 1e-6)) {
                assert!(close(found, expected), "{width}: {found} for {expected}");
            }
        }
    }
}

#[test]
fn sums_are_those_of_f32_on_one_thread_and_on_many() {
    for len in [0, 1, 17, 40_000] {
        let (a, b) = (uniform(6, len, SPREAD), uniform(7, len, SPREAD));
        let mut sum = a.clone();
        add_to(&mut sum, &b).unwrap();
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(sum, expected);
    }
}

#[test]
fn rotary_turns_pairs_of_half_a_head() {
    for (rows, heads, size) in [(1, 1, 2), (7, 3, 10), (300, 2, 128)] {
        let x = uniform(4, rows * heads * size, SPREAD);
        let weight = uniform(5, size, SPREAD);
        let angles = uniform(6, rows * size / 2, (1 << 20, 16));
        let (cos, sin): (Vec<f32>, Vec<f32>) = angles.iter().map(|a| (a.cos(), a.sin())).unzip();
        let rotation = Rotation {
            cos: &cos,
            sin: &sin,
        };
        for norm in [
            None,
            Some(RmsNorm {
                weight: &weight,
                epsilon: 1e-6,
            }),
        ] {
            let mut found = x.clone();
            rotary(&mut found, heads, size, rotation, norm).unwrap();
            for (at, (found, x)) in found.chunks(size).zip(x.chunks(size)).enumerate() {
                let x = match norm {
                    Some(norm) => normed(x, norm.weight, norm.epsilon),
                    None => x.iter().map(|&x| f64::from(x)).collect(),
                };
                let half = size / 2;
                for i in 0..half {
                    let angle = at / heads * half + i;
                    let (cos, sin) = (f64::from(cos[angle]), f64::from(sin[angle]));
                    assert!(close(found[i], x[i] * cos - x[i + half] * sin));
                    assert!(close(found[i + half], x[i + half] * cos + x[i] * sin));
                }
            }
        }
    }
}

#[test]
fn swiglu_agrees_with_f64_on_every_path() {
    for path in Path::ALL.into_iter().filter(|path| path.available()) {
        for count in [0, 1, 15, 16, 100, 70_001] {
            let mut gate = uniform(7, count, SPREAD);
            // The ends of the exponential's range, and beyond.
            for (gate, far) in
                gate.iter_mut()
                    .zip([-86.9, -87.1, -88.5, 87.5, 120.0, -1e30, 1e30, 0.0, f32::NAN])
            {
                *gate = far;
            }
            let up = uniform(8, count, SPREAD);
            let before = gate.clone();
            swiglu_on(path, &mut gate, &up).unwrap();
            for ((&found, &gate), &up) in gate.iter().zip(&before).zip(&up) {
                let x = f64::from(gate);
                let expected = x / (1.0 + (-x).exp()) * f64::from(up);
                let same = close(found, expected)
                    || expected.abs() > 1e29 && (f64::from(found) / expected - 1.0).abs() < 1e-6;
                assert!(
                    same || found.is_nan() && gate.is_nan(),
                    "{path} silu({gate}) * {up}: {found} for {expected}"
                );
            }
        }
    }
}

#[test]
fn gelu_agrees_with_f64_on_every_path() {
    for path in Path::ALL.into_iter().filter(|path| path.available()) {
        for count in [0, 1, 15, 16, 100, 70_001] {
            let mut x = uniform(9, count, SPREAD);
            for (x, far) in x.iter_mut().zip([-12.0, 12.0, -1e30, 1e30, 0.0, f32::NAN]) {
                *x = far;
            }
            let before = x.clone();
            gelu_tanh_on(path, &mut x);
            for (&found, &x) in x.iter().zip(&before) {
                let x = f64::from(x);
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
                let expected = 0.5 * x * (1.0 + inner.tanh());
                let same = close(found, expected) || expected > 1e29 && f64::from(found) == x;
                assert!(
                    same || found.is_nan() && x.is_nan(),
                    "{path} gelu({x}): {found} for {expected}"
                );
            }
        }
    }
}

#[test]
fn wrong_shapes_are_refused_by_name() {
    let norm = RmsNorm {
        weight: &[1.0; 4],
        epsilon: 0.0,
    };
    let text = |e: spare_kernels::ShapeError| e.to_string();
    assert_eq!(
        text(rms_norm(&[0.0; 6], norm).unwrap_err()),
        "activations: found 6 values, expected a multiple of 4"
    );
    assert_eq!(
        text(add_to(&mut [0.0; 8], &[0.0; 7]).unwrap_err()),
        "x: found 7 values, expected 1 x 8"
    );
    assert_eq!(
        text(swiglu(&mut [0.0; 3], &[0.0; 2]).unwrap_err()),
        "up: found 2 values, expected 1 x 3"
    );
    let rotation = Rotation {
        cos: &[1.0; 2],
        sin: &[0.0; 2],
    };
    assert_eq!(
        text(rotary(&mut [0.0; 9], 1, 3, rotation, None).unwrap_err()),
        "cos: found 2 values, expected 3 x 1"
    );
    assert_eq!(
        text(rotary(&mut [0.0; 8], 1, 4, rotation, None).unwrap_err()),
        "cos: found 2 values, expected 2 x 2"
    );
    assert_eq!(
        text(
            rotary(
                &mut [0.0; 6],
                1,
                3,
                Rotation {
                    cos: &[1.0; 2],
                    sin: &[0.0; 2]
                },
                None
            )
            .unwrap_err()
        ),
        "head size: found 3 values, expected 2 x 1"
    );
}
