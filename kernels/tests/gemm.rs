//! Is a product right on every path, whatever its shape, and are a row's bits its own?
#![allow(clippy::unwrap_used)]

mod common;

use common::uniform;
use half::bf16;
use spare_kernels::gemm::{Activations, PackedBf16, PackedF32, gemm, gemm_on};
use spare_kernels::{Path, ShapeError};

/// The paths this machine can run; says which it cannot.
fn paths() -> Vec<Path> {
    let (can, cannot): (Vec<_>, Vec<_>) = Path::ALL.into_iter().partition(|p| p.available());
    for path in cannot {
        println!("skipped: this CPU has no {path}");
    }
    assert!(can.contains(&Path::Portable));
    can
}

struct Case {
    rows: usize,
    input: usize,
    out: usize,
    x: Vec<f32>,
    weight: Vec<f32>,
}

impl Case {
    fn new(rows: usize, input: usize, out: usize) -> Self {
        // 24 bits, so that bf16 has something to round.
        let spread = (1 << 23, 22);
        Self {
            rows,
            input,
            out,
            x: uniform(1, rows * input, spread),
            weight: uniform(2, out * input, spread),
        }
    }

    fn half(&self) -> Vec<bf16> {
        self.weight.iter().map(|&w| bf16::from_f32(w)).collect()
    }

    /// Checks `out` against f64 sums: every output within `steps * 2^-24` of the sum of magnitudes, times
    /// `slack`.
    fn check(&self, name: &str, out: &[f32], x: &[f32], weight: &[f32], slack: f64) {
        let unit = f64::from(f32::EPSILON) / 2.0;
        for (r, x) in x.chunks(self.input).enumerate() {
            for (o, w) in weight.chunks(self.input).enumerate() {
                let products = x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w));
                let (sum, size) = products.fold((0.0, 0.0), |(s, m), p| (s + p, m + p.abs()));
                // Blocks of 256 steps, and a rounding more for each product that is not fused.
                let bound = slack * unit * size * (self.input.min(256) as f64 + 40.0);
                let found = f64::from(out[r * self.out + o]);
                assert!(
                    (found - sum).abs() <= bound,
                    "{name} {} x {} x {}, row {r}, output {o}: {found} for {sum}, bound {bound:e}",
                    self.rows,
                    self.input,
                    self.out
                );
            }
        }
    }
}

const SHAPES: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (1, 64, 32),
    (1, 2048, 96),
    (2, 31, 33),
    (3, 100, 7),
    (5, 33, 65),
    (13, 257, 40),
    (14, 256, 64),
    (15, 255, 31),
    (29, 513, 100),
    (60, 512, 70),
    (127, 40, 32),
    (260, 770, 129),
    (300, 3, 1100),
];

#[test]
fn every_path_agrees_with_f64() {
    for path in paths() {
        for (rows, input, out) in SHAPES {
            let case = Case::new(rows, input, out);
            let (x, w) = (&case.x, &case.weight);
            let half = case.half();
            let wide: Vec<f32> = half.iter().map(|w| w.to_f32()).collect();
            let x_half: Vec<bf16> = x.iter().map(|&x| bf16::from_f32(x)).collect();
            let x_wide: Vec<f32> = x_half.iter().map(|x| x.to_f32()).collect();
            let single = PackedF32::pack(w, out, input).unwrap();
            let packed = PackedBf16::pack(&half, out, input).unwrap();
            let run = |x: Activations<'_>| {
                let mut out = vec![f32::NAN; rows * out];
                gemm_on(path, x, &packed, &mut out).unwrap();
                out
            };
            let mut y = vec![f32::NAN; rows * out];
            gemm_on(path, Activations::F32(x), &single, &mut y).unwrap();
            case.check(&format!("{path} f32"), &y, x, w, 1.0);
            case.check(
                &format!("{path} bf16 weight"),
                &run(Activations::F32(x)),
                x,
                &wide,
                1.0,
            );
            // A dot product of pairs may round twice a pair and flushes denormals: none arise here.
            let rounded = run(Activations::F32AsBf16(x));
            case.check(&format!("{path} bf16"), &rounded, &x_wide, &wide, 1.0);
            assert_eq!(rounded, run(Activations::Bf16(&x_half)), "{path}");
        }
    }
}

/// bf16 products are exact in f32, so that with and without fused multiply-add the sums have the same bits.
#[test]
fn paths_compute_the_same_bits_on_bf16() {
    for (rows, input, out) in SHAPES {
        let case = Case::new(rows, input, out);
        let packed = PackedBf16::pack(&case.half(), out, input).unwrap();
        let run = |path| {
            let mut y = vec![f32::NAN; rows * out];
            gemm_on(path, Activations::F32AsBf16(&case.x), &packed, &mut y).unwrap();
            y
        };
        let portable = run(Path::Portable);
        for path in paths() {
            let same = run(path) == portable;
            if matches!(path, Path::Avx512Bf16 | Path::Amx) {
                println!("{path} has the portable bits: {same}");
            } else {
                assert!(same, "{path} {rows} x {input} x {out}");
            }
        }
    }
}

/// A row alone, among others, elsewhere among others, and on any number of threads: the same bits.
#[test]
fn a_row_has_its_own_bits() {
    let (rows, input, out) = (301, 600, 1060);
    let case = Case::new(rows, input, out);
    let (packed, single) = (
        PackedBf16::pack(&case.half(), out, input).unwrap(),
        PackedF32::pack(&case.weight, out, input).unwrap(),
    );
    for path in paths() {
        for kind in 0..3 {
            let run = |x: &[f32]| {
                let mut y = vec![f32::NAN; x.len() / input * out];
                match kind {
                    0 => gemm_on(path, Activations::F32(x), &packed, &mut y),
                    1 => gemm_on(path, Activations::F32AsBf16(x), &packed, &mut y),
                    _ => gemm_on(path, Activations::F32(x), &single, &mut y),
                }
                .unwrap();
                y
            };
            let all = run(&case.x);
            assert!(all.iter().all(|y| y.is_finite()));
            for threads in [1, 2, 3, 7] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(|| {
                    for (first, count) in [
                        (0, 301),
                        (0, 1),
                        (17, 1),
                        (3, 2),
                        (5, 14),
                        (100, 29),
                        (300, 1),
                        (41, 260),
                    ] {
                        let part = run(&case.x[first * input..(first + count) * input]);
                        let expected = &all[first * out..(first + count) * out];
                        assert_eq!(
                            part, expected,
                            "{path} kind {kind}, {first} + {count}, {threads} threads"
                        );
                    }
                });
            }
        }
    }
}

/// Keeping a weight in bf16 costs no digit beside keeping the same values in f32.
#[test]
fn a_weight_has_one_product_in_bf16_and_in_f32() {
    for path in paths() {
        for (rows, input, out) in [
            (1, 7, 5),
            (3, 1, 33),
            (9, 259, 40),
            (130, 768, 96),
            (13, 513, 70),
        ] {
            let case = Case::new(rows, input, out);
            let half = case.half();
            let wide: Vec<f32> = half.iter().map(|w| w.to_f32()).collect();
            let mut found = [vec![0.0; rows * out], vec![0.0; rows * out]];
            let x = Activations::F32(&case.x);
            let packed = PackedBf16::pack(&half, out, input).unwrap();
            gemm_on(path, x, &packed, &mut found[0]).unwrap();
            let packed = PackedF32::pack(&wide, out, input).unwrap();
            gemm_on(path, x, &packed, &mut found[1]).unwrap();
            assert!(found[0] == found[1], "{path} {rows} x {input} x {out}");
            let row: Vec<f32> = packed.row(out - 1).unwrap().collect();
            assert_eq!(row, wide[(out - 1) * input..]);
        }
    }
}

#[test]
fn a_packed_weight_takes_its_own_size_and_gives_its_rows_back() {
    let case = Case::new(1, 2048, 3072);
    let half = case.half();
    let packed = PackedBf16::pack(&half, 3072, 2048).unwrap();
    assert_eq!(packed.bytes(), 2 * 3072 * 2048);
    let single = PackedF32::pack(&case.weight, 3072, 2048).unwrap();
    assert_eq!(single.bytes(), 4 * 3072 * 2048);
    let odd = PackedBf16::pack(&half[..7 * 45], 45, 7).unwrap();
    assert_eq!(odd.bytes(), 2 * 64 * 8);
    for row in [0, 1, 31, 32, 44] {
        let found: Vec<bf16> = odd.row(row).unwrap().collect();
        assert_eq!(found, &half[row * 7..][..7]);
        let found: Vec<f32> = single.row(row).unwrap().collect();
        assert_eq!(found, &case.weight[row * 2048..][..2048]);
    }
    assert!(odd.row(45).is_none() && single.row(3072).is_none());
}

#[test]
fn wrong_shapes_are_refused_by_name() {
    let packed = PackedF32::pack(&[0.0; 6], 3, 2).unwrap();
    let run = |x: usize, y: usize| {
        let x = vec![0.0; x];
        gemm(Activations::F32(&x), &packed, &mut vec![0.0; y]).map_err(|e| e.to_string())
    };
    assert_eq!(run(0, 0), Ok(()));
    assert_eq!(
        run(3, 3).unwrap_err(),
        "activations: found 3 values, expected a multiple of 2"
    );
    assert_eq!(
        run(4, 3).unwrap_err(),
        "out: found 3 values, expected 2 x 3"
    );
    assert_eq!(
        PackedBf16::pack(&[], 0, 2).unwrap_err(),
        ShapeError::Zero { what: "out" }
    );
    assert_eq!(
        PackedF32::pack(&[0.0; 5], 3, 2).unwrap_err().to_string(),
        "weight: found 5 values, expected 3 x 2"
    );
}
