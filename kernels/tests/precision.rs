//! How far is the head in f32 from the one in f64, and what is the same to the last bit?
#![allow(clippy::unwrap_used)]

mod common;

use common::{Owned, distance};
use half::bf16;
use spare_kernels::gemm::{Packed, PackedBf16, PackedF32};
use spare_kernels::{Blocking, Divergence, HeadInput, Options, Precision, Weight, reverse_kl};

fn options(precision: Precision) -> Options {
    Options {
        precision,
        ..Options::default()
    }
}

/// Logits of standard deviation 10 at the width of a real model: the documented bound is `1e-5 * (1 + d)` nats.
#[test]
fn single_precision_holds_its_bound() {
    for (seed, delta) in [(21, 23), (22, 25), (23, 22)] {
        // States of [-2, 2), weights of standard deviation 0.19: 2048 products have one of 10.
        let mut owned = Owned::new(
            seed,
            48,
            2048,
            6000,
            [(1 << 23, 22), (1 << 23, delta), (2_770_000, 23)],
        );
        for half in [false, true] {
            if half {
                owned.half = Some(owned.weight.iter().map(|&w| bf16::from_f32(w)).collect());
            }
            let single = owned.run(&options(Precision::Single));
            let double = owned.run(&options(Precision::Double));
            let spread = double.logp.iter().map(|x| x * x).sum::<f64>() / 48.0;
            let mean = double.d_full.iter().sum::<f64>() / 48.0;
            // A support cut within rounding may be another one; such a token says so.
            let sure: Vec<usize> = (0..48).filter(|&i| double.kth_gap[i] > 1e-4).collect();
            let off = |i: usize, all: [&[f64]; 2]| {
                (all[0][i] - all[1][i]).abs() / (1.0 + double.d_full[i])
            };
            let topk = sure
                .iter()
                .map(|&i| off(i, [&single.d_topk, &double.d_topk]));
            let topk = topk.fold(0.0, f64::max);
            let full = (0..48).map(|i| off(i, [&single.d_full, &double.d_full]));
            let full = full.fold(0.0, f64::max);
            let logs =
                distance(&single.logp, &double.logp).max(distance(&single.logq, &double.logq));
            println!(
                "bf16 {half}, mean square of log p {spread:.0}, mean d_full {mean:.2}, over 1 + d: d_topk {topk:.1e} ({} of 48), d_full {full:.1e}; log p {logs:.1e}",
                sure.len()
            );
            assert!(spread > 100.0 && sure.len() > 40 && mean > 0.01);
            assert!(topk <= 1e-5 && full <= 1e-5 && logs <= 1e-4);
            assert!(full > 0.0, "both precisions compute the same");
        }
    }
}

/// Packed or not, whatever the tile: the same bits in f32, and in f64 the same numbers.
#[test]
fn packed_weights_give_the_same_bits() {
    let mut owned = Owned::new(
        31,
        20,
        75,
        501,
        [(1 << 23, 22), (1 << 23, 24), (1 << 23, 23)],
    );
    for half in [false, true] {
        let single = PackedF32::pack(&owned.weight, 501, 75).unwrap();
        let halves: Vec<bf16> = owned.weight.iter().map(|&w| bf16::from_f32(w)).collect();
        let packed_half = PackedBf16::pack(&halves, 501, 75).unwrap();
        owned.half = half.then_some(halves);
        let packed = if half {
            Packed::Bf16(&packed_half)
        } else {
            Packed::F32(&single)
        };
        for precision in [Precision::Single, Precision::Double] {
            let expected = owned.run(&options(precision));
            for blocking in [None, Some((7, 33)), Some((20, 100)), Some((3, 1))] {
                let blocking = blocking.map(|(tokens, rows)| Blocking { tokens, rows });
                let options = Options {
                    blocking,
                    ..options(precision)
                };
                let input = HeadInput {
                    weight: Weight::Packed(packed),
                    ..owned.input()
                };
                let found = reverse_kl(&input, &options, &|| false).unwrap();
                assert_eq!(found, owned.run(&options), "{blocking:?}");
                assert!(
                    common::divergence_distance(&found, &expected) <= 1e-9,
                    "{blocking:?}"
                );
            }
        }
    }
    let input = HeadInput {
        weight: Weight::Packed(Packed::F32(
            &PackedF32::pack(&owned.weight, 501, 75).unwrap(),
        )),
        vocab: 500,
        ..owned.input()
    };
    let error = reverse_kl(&input, &Options::default(), &|| false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "packed weight: found 501 x 75, expected 500 x 75"
    );
    let mut broken = owned.weight.clone();
    broken[340 * 75 + 11] = f32::NAN;
    let packed = PackedF32::pack(&broken, 501, 75).unwrap();
    let input = HeadInput {
        weight: Weight::Packed(Packed::F32(&packed)),
        ..owned.input()
    };
    let error = reverse_kl(&input, &options(Precision::Single), &|| false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "head weight of vocabulary entry 340, column 11: found NaN, expected a finite number"
    );
}

/// In f32 a token's numbers are its own to the last bit: alone, in any block, in any order.
#[test]
fn a_token_has_its_own_bits() {
    let owned = Owned::new(
        41,
        61,
        300,
        1500,
        [(1 << 23, 22), (1 << 23, 24), (1 << 23, 24)],
    );
    let all = owned.run(&options(Precision::Single));
    for range in [0..1, 60..61, 3..17, 14..43] {
        let rows = range.start * 300..range.end * 300;
        let part = Owned {
            student: owned.student[rows.clone()].to_vec(),
            teacher: owned.teacher[rows].to_vec(),
            recorded: owned.recorded[range.clone()].to_vec(),
            ..owned.clone()
        };
        let cut = |x: &[f64]| x[range.clone()].to_vec();
        let expected = Divergence {
            d_topk: cut(&all.d_topk),
            d_full: cut(&all.d_full),
            logp: cut(&all.logp),
            logq: cut(&all.logq),
            kth_gap: cut(&all.kth_gap),
        };
        assert_eq!(part.run(&options(Precision::Single)), expected, "{range:?}");
    }
}
