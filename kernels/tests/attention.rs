//! Is attention right for every shape of pack, and are a row's bits its own?
#![allow(clippy::single_range_in_vec_init, clippy::unwrap_used)]

mod common;

use std::ops::Range;

use common::uniform;
use half::bf16;
use spare_kernels::Path;
use spare_kernels::attention::{
    Floats, KeyValues, Products, Seen, Shape, View, attention, attention_on,
};

/// Keys that a row sees: a prefix, then ranges.
type Row = (usize, Vec<Range<usize>>);

/// A pack: queries `[rows, heads, size]`, keys and values `[tokens, kv_heads, size]`.
#[derive(Clone)]
struct Pack {
    shape: Shape,
    rows: Vec<Row>,
    keys: usize,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
}

impl Pack {
    fn new(
        seed: u64,
        heads: usize,
        kv_heads: usize,
        size: usize,
        keys: usize,
        rows: Vec<Row>,
    ) -> Self {
        let spread = (1 << 23, 21);
        Self {
            shape: Shape {
                heads,
                kv_heads,
                size,
                scale: (size as f32).sqrt().recip(),
                products: Products::F32,
            },
            q: uniform(seed, rows.len() * heads * size, spread),
            k: uniform(seed + 1, keys * kv_heads * size, spread),
            v: uniform(seed + 2, keys * kv_heads * size, spread),
            keys,
            rows,
        }
    }

    fn view<'a>(&self, values: &'a [f32], heads: usize) -> View<'a> {
        View {
            values: Floats::F32(values),
            token: heads * self.shape.size,
            head: self.shape.size,
        }
    }

    /// What a variant computes on: operands rounded where it rounds them, the scale already in the queries.
    fn rounded(&self, (path, products): Variant) -> Self {
        if (path, products) != (Path::Amx, Products::Bf16) {
            return self.clone();
        }
        let scale = self.shape.scale;
        let round = |x: &[f32], by: f32| {
            x.iter()
                .map(|x| bf16::from_f32(x * by).to_f32())
                .collect::<Vec<_>>()
        };
        Self {
            q: round(&self.q, scale),
            k: round(&self.k, 1.0),
            v: round(&self.v, 1.0),
            shape: Shape {
                scale: 1.0,
                ..self.shape
            },
            ..self.clone()
        }
    }

    fn run_rows(&self, (path, products): Variant, rows: Range<usize>) -> Vec<f32> {
        let width = self.shape.heads * self.shape.size;
        let seen: Vec<Seen<'_>> = self.rows[rows.clone()]
            .iter()
            .map(|(prefix, own)| Seen {
                prefix: *prefix,
                own,
            })
            .collect();
        let mut out = vec![f32::NAN; rows.len() * width];
        let pair = KeyValues {
            tokens: self.keys,
            keys: self.view(&self.k, self.shape.kv_heads),
            values: self.view(&self.v, self.shape.kv_heads),
        };
        let q = self.view(
            &self.q[rows.start * width..rows.end * width],
            self.shape.heads,
        );
        let shape = Shape {
            products,
            ..self.shape
        };
        attention_on(path, shape, q, &[pair], &seen, &mut out).unwrap();
        out
    }

    fn run(&self, variant: Variant) -> Vec<f32> {
        self.run_rows(variant, 0..self.rows.len())
    }

    /// The same in f64, with all scores of a row at once.
    fn oracle(&self) -> Vec<f64> {
        let Shape {
            heads,
            kv_heads,
            size,
            scale,
            ..
        } = self.shape;
        let mut out = Vec::new();
        for (row, (prefix, own)) in self.rows.iter().enumerate() {
            let keys: Vec<usize> = (0..*prefix).chain(own.iter().cloned().flatten()).collect();
            for head in 0..heads {
                let shared = head / (heads / kv_heads);
                let q = &self.q[(row * heads + head) * size..][..size];
                let at = |x: &[f32], key: usize, i: usize| {
                    f64::from(x[(key * kv_heads + shared) * size + i])
                };
                let scores: Vec<f64> = keys
                    .iter()
                    .map(|&key| {
                        (0..size)
                            .map(|i| f64::from(q[i] * scale) * at(&self.k, key, i))
                            .sum()
                    })
                    .collect();
                let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = scores.iter().map(|s| (s - max).exp()).sum();
                for i in 0..size {
                    let sum: f64 = keys
                        .iter()
                        .zip(&scores)
                        .map(|(&key, s)| (s - max).exp() * at(&self.v, key, i))
                        .sum();
                    out.push(if keys.is_empty() { 0.0 } else { sum / total });
                }
            }
        }
        out
    }

    /// Largest difference from the oracle, and the bound it must keep: a score is off by
    /// `sqrt(size) * 2^-24` of the sum of its products' magnitudes (roundings add up like a random walk), and a
    /// result by twice that times the largest value.
    fn error(&self, variant: Variant) -> (f64, f64) {
        let (found, expected) = (self.run(variant), self.rounded(variant).oracle());
        assert_eq!(found.len(), expected.len());
        let apart = found
            .iter()
            .zip(&expected)
            .map(|(&a, b)| (f64::from(a) - b).abs());
        let error = apart.fold(0.0, |max, d| if d <= max { max } else { d });
        let largest = |x: &[f32]| f64::from(x.iter().fold(0.0, |a: f32, b| a.max(b.abs())));
        let size = self.shape.size as f64;
        // Half the largest product, on average a quarter for uniform operands.
        let products =
            size * largest(&self.q) * largest(&self.k) / 2.0 * f64::from(self.shape.scale);
        let unit = f64::from(f32::EPSILON) / 2.0;
        // Weights that are rounded to bf16 too.
        let weights = match variant {
            (Path::Amx, Products::Bf16) => 1.0 / 512.0,
            _ => 0.0,
        };
        (
            error,
            largest(&self.v) * (2.0 * unit * (size.sqrt() * products + 4.0) + weights),
        )
    }
}

fn causal(rows: Range<usize>) -> Vec<Row> {
    rows.map(|row| (row + 1, Vec::new())).collect()
}

/// A trunk of `trunk` keys, of which the last `pushed` are rows, then branches `(fork, length)` behind it.
fn tree(trunk: usize, pushed: usize, branches: &[(usize, usize)]) -> (Vec<Row>, usize) {
    let mut rows = causal(trunk - pushed..trunk);
    let mut keys = trunk;
    for &(fork, length) in branches {
        for i in 0..length {
            // Two ranges, as where a summary block stands apart from its branch.
            let (head, tail) = (length.min(3), i + 1);
            let own = if i < head {
                vec![keys..keys + tail]
            } else {
                vec![keys..keys + head, keys + head..keys + tail]
            };
            rows.push((fork, own));
        }
        keys += length;
    }
    (rows, keys)
}

/// What attention runs on, and in what.
type Variant = (Path, Products);

fn variants() -> impl Iterator<Item = Variant> {
    // The path of bf16 pairs has the kernels of AVX-512 here; only AMX has products of its own in bf16.
    let all = Path::ALL.into_iter().map(|path| (path, Products::F32));
    all.chain([(Path::Amx, Products::Bf16)])
        .filter(|(path, products)| {
            if !path.available() {
                println!("skipped: this CPU has no {path} ({products:?})");
            }
            path.available()
        })
}

#[test]
fn agrees_with_f64() {
    for variant in variants() {
        let path = format!("{} {:?}", variant.0, variant.1);
        for (heads, kv_heads, size, keys, rows) in [
            (1, 1, 1, 1, causal(0..1)),
            (2, 1, 5, 9, causal(0..9)),
            (4, 2, 64, 300, causal(0..300)),
            (16, 8, 128, 140, causal(100..140)),
            (6, 2, 80, 257, causal(200..257)),
            (
                3,
                3,
                72,
                130,
                (0..130)
                    .map(|row| (0, vec![row / 65 * 65..row / 65 * 65 + 65]))
                    .collect(),
            ),
            (8, 1, 32, 500, causal(499..500)),
            // Ranges in any order, keys seen twice, a row without keys.
            (
                2,
                2,
                16,
                40,
                vec![
                    (0, vec![30..40, 3..9]),
                    (5, vec![2..6]),
                    (0, vec![]),
                    (0, vec![7..7, 8..9]),
                ],
            ),
        ] {
            let pack = Pack::new(3, heads, kv_heads, size, keys, rows);
            let (error, bound) = pack.error(variant);
            println!("{path} {heads}/{kv_heads} x {size}, {keys} keys: {error:.1e} of {bound:.1e}");
            assert!(
                error <= bound,
                "{path} {heads}/{kv_heads} x {size}, {keys} keys: {error:e}"
            );
        }
        let (rows, keys) = tree(
            400,
            50,
            &[(20, 30), (390, 1), (128, 140), (0, 7), (399, 64)],
        );
        let (error, bound) = Pack::new(7, 4, 2, 48, keys, rows).error(variant);
        println!("{path} tree: {error:.1e} of {bound:.1e}");
        assert!(error <= bound, "{path} tree: {error:e}");
    }
}

/// Scores of some hundreds: running maxima must keep weights in range.
#[test]
fn large_scores_stay_finite() {
    for variant in variants() {
        let path = format!("{} {:?}", variant.0, variant.1);
        let mut pack = Pack::new(5, 2, 1, 32, 600, causal(0..600));
        pack.q.iter_mut().for_each(|q| *q *= 60.0);
        let (found, expected) = (pack.run(variant), pack.rounded(variant).oracle());
        let weights = if variant.1 == Products::Bf16 {
            8e-3
        } else {
            0.0
        };
        for (&a, b) in found.iter().zip(&expected) {
            // A score of 500 is off by 500 * 2^-23, and so is the weight's logarithm.
            assert!(
                (f64::from(a) - b).abs() <= 2e-3 + weights,
                "{path}: {a} for {b}"
            );
        }
    }
}

/// Rows alone or together, branches packed in another order, any number of threads: the same bits.
/// A key or a query that is no number spoils the rows that see it, in whatever block, and no others.
#[test]
fn scores_that_are_no_number_are_not_hidden() {
    for variant in variants() {
        let path = format!("{} {:?}", variant.0, variant.1);
        for (bad, at) in [
            (f32::NAN, 0),
            (f32::NAN, 200),
            (f32::INFINITY, 130),
            (1e38, 3),
        ] {
            let mut pack = Pack::new(5, 4, 2, 16, 300, causal(0..300));
            let row = 2 * 16;
            pack.k[at * row..(at + 1) * row].fill(bad);
            let out = pack.run_rows(variant, 0..300);
            for (i, row) in out.chunks(4 * 16).enumerate() {
                let finite = row.iter().all(|x| x.is_finite());
                // Overflow of a finite key depends on the signs; what is not finite must come out so.
                assert!(i >= at || finite, "{path} row {i}");
                assert!(
                    bad == 1e38 || i < at || !finite,
                    "{path} row {i} hides {bad}"
                );
            }
        }
        let mut pack = Pack::new(6, 2, 1, 8, 40, causal(0..40));
        pack.q[17 * 16..18 * 16].fill(f32::NAN);
        let out = pack.run_rows(variant, 0..40);
        for (i, row) in out.chunks(16).enumerate() {
            assert_eq!(row.iter().all(|x| x.is_nan()), i == 17, "{path} row {i}");
        }
    }
}

#[test]
fn a_row_has_its_own_bits() {
    let branches = [(130, 70), (250, 33), (7, 129), (299, 1)];
    let (rows, keys) = tree(300, 40, &branches);
    let pack = Pack::new(11, 4, 2, 40, keys, rows);
    let width = pack.shape.heads * pack.shape.size;
    for variant in variants() {
        let path = format!("{} {:?}", variant.0, variant.1);
        let all = pack.run(variant);
        assert!(all.iter().all(|x| x.is_finite()));
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                for rows in [0..pack.rows.len(), 0..1, 39..41, 45..46, 100..273, 272..273] {
                    let part = pack.run_rows(variant, rows.clone());
                    assert_eq!(
                        part,
                        all[rows.start * width..rows.end * width],
                        "{path} {rows:?}"
                    );
                }
            });
        }
        // The last branch first: its keys and rows move.
        let order = [3, 2, 1, 0];
        let (moved_rows, _) = tree(300, 40, &order.map(|b| branches[b]));
        let starts = |order: &[usize]| {
            let mut at = 0;
            order
                .iter()
                .map(|&b| {
                    at += branches[b].1;
                    (b, at - branches[b].1)
                })
                .collect::<Vec<_>>()
        };
        let old = starts(&[0, 1, 2, 3]);
        let mut moved = pack.clone();
        moved.rows = moved_rows;
        let kv = pack.shape.kv_heads * pack.shape.size;
        for &(b, to) in &starts(&order) {
            let (from, length) = (old[b].1, branches[b].1);
            moved.q[(40 + to) * width..][..length * width]
                .copy_from_slice(&pack.q[(40 + from) * width..][..length * width]);
            for (new, old) in [(&mut moved.k, &pack.k), (&mut moved.v, &pack.v)] {
                new[(300 + to) * kv..][..length * kv]
                    .copy_from_slice(&old[(300 + from) * kv..][..length * kv]);
            }
        }
        let found = moved.run(variant);
        assert_eq!(found[..40 * width], all[..40 * width]);
        for &(b, to) in &starts(&order) {
            let (from, length) = (old[b].1, branches[b].1);
            assert_eq!(
                found[(40 + to) * width..][..length * width],
                all[(40 + from) * width..][..length * width],
                "{path} branch {b}"
            );
        }
    }
}

/// Blocks of a cache with heads outermost, and bf16, are read where they lie.
#[test]
fn layouts_do_not_matter() {
    let mut pack = Pack::new(13, 6, 3, 24, 333, causal(300..333));
    for x in pack.k.iter_mut().chain(&mut pack.v) {
        *x = bf16::from_f32(*x).to_f32();
    }
    let size = pack.shape.size;
    let expected = pack.run((Path::current(), Products::F32));
    let seen: Vec<Seen<'_>> = pack
        .rows
        .iter()
        .map(|(prefix, own)| Seen {
            prefix: *prefix,
            own,
        })
        .collect();
    let cut = [0, 128, 128, 256, 300, 333];
    // [kv_heads, tokens, size] of each block, in bf16.
    let blocks: Vec<(usize, Vec<bf16>, Vec<bf16>)> = cut
        .windows(2)
        .map(|w| {
            let turn = |x: &[f32]| {
                (0..3)
                    .flat_map(|head| {
                        (w[0]..w[1])
                            .flat_map(move |t| (0..size).map(move |i| (t * 3 + head) * size + i))
                    })
                    .map(|at| bf16::from_f32(x[at]))
                    .collect()
            };
            (w[1] - w[0], turn(&pack.k), turn(&pack.v))
        })
        .collect();
    let pairs: Vec<KeyValues<'_>> = blocks
        .iter()
        .map(|(tokens, k, v)| {
            let view = |x| View {
                values: Floats::Bf16(x),
                token: size,
                head: tokens * size,
            };
            KeyValues {
                tokens: *tokens,
                keys: view(k),
                values: view(v),
            }
        })
        .collect();
    let mut out = vec![f32::NAN; expected.len()];
    attention(pack.shape, pack.view(&pack.q, 6), &pairs, &seen, &mut out).unwrap();
    assert_eq!(out, expected);
}

#[test]
fn wrong_input_is_refused_by_name() {
    let pack = Pack::new(1, 4, 2, 8, 10, causal(0..10));
    let run = |shape: Shape, keys: usize, prefix: usize, own: Range<usize>, out: usize| {
        let pair = KeyValues {
            tokens: keys,
            keys: pack.view(&pack.k, 2),
            values: pack.view(&pack.v, 2),
        };
        let seen = [Seen {
            prefix,
            own: &[own],
        }];
        let mut out = vec![0.0; out];
        attention(shape, pack.view(&pack.q, 4), &[pair], &seen, &mut out).map_err(|e| e.to_string())
    };
    let shape = pack.shape;
    assert_eq!(run(shape, 10, 10, 0..0, 32), Ok(()));
    for (error, message) in [
        (
            run(Shape { size: 0, ..shape }, 10, 1, 0..0, 32),
            "head size: found 0, expected at least 1",
        ),
        (
            run(Shape { heads: 3, ..shape }, 10, 1, 0..0, 32),
            "heads: found 3, expected a multiple of the 2 key heads",
        ),
        (
            run(shape, 11, 1, 0..0, 32),
            "keys: found 160 values, expected at least 176",
        ),
        (
            run(shape, 10, 11, 0..0, 32),
            "row 0: found keys up to 11, expected at most 10",
        ),
        (
            run(shape, 10, 1, 4..12, 32),
            "row 0: found keys up to 12, expected at most 10",
        ),
        (
            run(shape, 10, 1, 0..0, 31),
            "out: found 31 values, expected 32",
        ),
    ] {
        assert_eq!(error.unwrap_err(), message);
    }
}
