//! Does every function of every path stay within its bounds, and compute what a loop over scalars does?
//!
//! Buffers end at a page without access ([`Guarded`]), so that one value too many ends the process. Under
//! AddressSanitizer, where a nightly toolchain is at hand (own buffers of the crate are then watched too):
//!
//! ```text
//! RUSTFLAGS=-Zsanitizer=address cargo +nightly test -p spare-kernels --target x86_64-unknown-linux-gnu
//! ```
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use half::bf16;

use super::guarded::Guarded;
use super::{Kernels, PANEL, Running};
use crate::Path;

fn tables() -> Vec<(Path, &'static Kernels)> {
    let (can, cannot): (Vec<_>, Vec<_>) = Path::ALL.into_iter().partition(|path| path.available());
    for path in cannot {
        println!("skipped: this CPU has no {path}");
    }
    can.into_iter()
        .map(|path| (path, Kernels::of(path)))
        .collect()
}

/// Numbers of `[-1, 1)` with `bits` bits.
fn noise(seed: u64, count: usize, bits: u32) -> Vec<f32> {
    let value = |i: u64| {
        let z = seed.wrapping_add(i).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((z ^ (z >> 27)) >> (64 - bits)) as f32 / (1_u64 << (bits - 1)) as f32 - 1.0
    };
    (0..count as u64).map(value).collect()
}

fn words(values: &[f32]) -> Vec<u32> {
    let half = |x: f32| u32::from(bf16::from_f32(x).to_bits());
    let (pairs, _) = values.as_chunks::<2>();
    pairs
        .iter()
        .map(|&[low, high]| half(high) << 16 | half(low))
        .collect()
}

/// Upper half, lower half.
fn halves(word: u32) -> [f32; 2] {
    [
        f32::from_bits(word & 0xFFFF_0000),
        f32::from_bits(word << 16),
    ]
}

fn check(what: &str, found: f32, expected: f64, size: f64) {
    assert!(
        (f64::from(found) - expected).abs() <= size * 1e-6 + 1e-12,
        "{what}: {found} for {expected}"
    );
}

#[test]
fn tiles_stay_within_their_operands() {
    for (path, kernels) in tables() {
        for rows in 1..=kernels.rows {
            for (k, c_row, add) in [
                (1, 32, false),
                (2, 33, true),
                (17, 100, false),
                (64, 32, true),
            ] {
                let start = noise(9, (rows - 1) * c_row + PANEL, 20);
                let a = Guarded::new(&noise(1, 2 * k * rows, 8));
                let single = Guarded::new(&noise(2, k * PANEL, 8));
                let packed = Guarded::new(&words(&noise(3, 2 * k * PANEL, 8)));
                let pairs = Guarded::new(&words(&noise(4, 2 * k * rows, 8)));
                for kind in 0..3 {
                    let mut c = Guarded::new(&start);
                    let at = c.as_mut_ptr();
                    // SAFETY: the buffers hold exactly what the kinds' contracts ask for.
                    unsafe {
                        match kind {
                            0 => (kernels.tile)(
                                rows,
                                k,
                                a[k * rows..].as_ptr(),
                                single.as_ptr(),
                                at,
                                c_row,
                                add,
                            ),
                            1 => (kernels.tile_words)(
                                rows,
                                k,
                                a.as_ptr(),
                                packed.as_ptr(),
                                at,
                                c_row,
                                add,
                            ),
                            _ => match kernels.tile_pairs {
                                Some(tile) => {
                                    tile(rows, k, pairs.as_ptr(), packed.as_ptr(), at, c_row, add)
                                }
                                None => continue,
                            },
                        }
                    }
                    for (at, (&found, &before)) in c.iter().zip(&start).enumerate() {
                        let (r, o) = (at / c_row, at % c_row);
                        if o >= PANEL {
                            assert_eq!(found, before, "{path}: a value between rows was written");
                            continue;
                        }
                        let mut sum = if add { f64::from(before) } else { 0.0 };
                        for step in 0..k {
                            let product = |x: f32, w: f32| f64::from(x) * f64::from(w);
                            sum += match kind {
                                0 => product(a[(k + step) * rows + r], single[step * PANEL + o]),
                                1 => {
                                    let [high, low] = halves(packed[step * PANEL + o]);
                                    product(a[2 * step * rows + r], high)
                                        + product(a[(2 * step + 1) * rows + r], low)
                                }
                                _ => {
                                    let [high, low] = halves(packed[step * PANEL + o]);
                                    let [x_high, x_low] = halves(pairs[step * rows + r]);
                                    product(x_high, high) + product(x_low, low)
                                }
                            };
                        }
                        check(
                            &format!("{path} tile {kind}, {rows} rows, {k} steps"),
                            found,
                            sum,
                            2.0 * k as f64 + 1.0,
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn widening_stays_within_its_operands() {
    for (path, kernels) in tables() {
        for pairs in [1, 2, 5, 128] {
            let from = Guarded::new(&words(&noise(1, 2 * pairs * PANEL, 24)));
            let mut to = Guarded::new(&vec![f32::NAN; 2 * pairs * PANEL]);
            // SAFETY: the buffers hold exactly that many pairs.
            unsafe { (kernels.widen)(pairs, from.as_ptr(), to.as_mut_ptr()) };
            for (at, &found) in to.iter().enumerate() {
                let (row, column) = (at / PANEL, at % PANEL);
                assert_eq!(
                    found,
                    halves(from[row / 2 * PANEL + column])[row % 2],
                    "{path}"
                );
            }
        }
    }
}

#[test]
fn attention_kernels_stay_within_their_operands() {
    for (path, kernels) in tables() {
        for (eights, depth, width) in [(1, 1, 32), (2, 72, 96), (16, 128, 128)] {
            let keys = eights * 8;
            let k = Guarded::new(&noise(1, keys * depth, 20));
            let q = Guarded::new(&noise(2, depth * PANEL, 20));
            let mut scores = Guarded::new(&vec![f32::NAN; keys * PANEL]);
            // SAFETY: the buffers hold exactly that many values.
            unsafe { (kernels.scores)(eights, depth, k.as_ptr(), q.as_ptr(), scores.as_mut_ptr()) };
            for (at, &found) in scores.iter().enumerate() {
                let (key, lane) = (at / PANEL, at % PANEL);
                let sum: f64 = (0..depth)
                    .map(|d| f64::from(k[key * depth + d]) * f64::from(q[d * PANEL + lane]))
                    .sum();
                check(&format!("{path} scores"), found, sum, depth as f64);
            }

            // Some keys fewer than scores; lane l sees l keys before the block and some of it.
            let seen = keys - 3;
            let mut running = Running::EMPTY;
            for (lane, value) in running.seen.iter_mut().enumerate() {
                *value = if lane == 5 {
                    0.0
                } else {
                    (100 + lane % (keys + 1)) as f32
                };
            }
            let before = scores.to_vec();
            let mut short = Guarded::new(&scores[..seen * PANEL]);
            // SAFETY: `seen` rows of 32.
            unsafe { (kernels.weights)(seen, 100, short.as_mut_ptr(), &mut running) };
            for lane in 0..PANEL {
                let own = seen.min((running.seen[lane] as usize).saturating_sub(100));
                let max = (0..own)
                    .map(|key| before[key * PANEL + lane])
                    .fold(-1e30, f32::max);
                assert_eq!(running.max[lane], max, "{path} lane {lane}");
                let mut sum = 0.0;
                for key in 0..seen {
                    let score = f64::from(before[key * PANEL + lane]) - f64::from(max);
                    let expected = if key < own { score.exp() } else { 0.0 };
                    sum += expected;
                    check(
                        &format!("{path} weight"),
                        short[key * PANEL + lane],
                        expected,
                        1.0,
                    );
                }
                check(&format!("{path} sum"), running.sum[lane], sum, keys as f64);
                assert_eq!(
                    running.shrink[lane],
                    if own == 0 { 1.0 } else { 0.0 },
                    "{path} lane {lane}"
                );
            }

            let v = Guarded::new(&noise(3, seen * width, 20));
            for lanes in 1..=4 {
                let start = noise(4, lanes * 8 * width, 20);
                let shrink: [f32; PANEL] = noise(5, PANEL, 20).try_into().unwrap();
                let mut sums = Guarded::new(&start);
                // SAFETY: the buffers hold exactly that many values.
                unsafe {
                    (kernels.values)(
                        lanes,
                        seen,
                        width,
                        short.as_ptr(),
                        v.as_ptr(),
                        &shrink,
                        sums.as_mut_ptr(),
                    );
                }
                for (at, (&found, &start)) in sums.iter().zip(&start).enumerate() {
                    let (lane, column) = (at / width, at % width);
                    let old = f64::from(shrink[lane]) * f64::from(start);
                    let new: f64 = (0..seen)
                        .map(|key| {
                            f64::from(short[key * PANEL + lane])
                                * f64::from(v[key * width + column])
                        })
                        .sum();
                    check(
                        &format!("{path} values"),
                        found,
                        old + new,
                        keys as f64 + 1.0,
                    );
                }
            }
        }
    }
}

#[test]
fn swiglu_stays_within_its_operands() {
    for (path, kernels) in tables() {
        for count in [16, 48, 1600] {
            let before: Vec<f32> = noise(1, count, 24).iter().map(|x| x * 20.0).collect();
            let (mut gate, up) = (Guarded::new(&before), Guarded::new(&noise(2, count, 24)));
            // SAFETY: `count` values each, a multiple of 16.
            unsafe { (kernels.swiglu)(count, gate.as_mut_ptr(), up.as_ptr()) };
            for ((&found, &x), &up) in gate.iter().zip(&before).zip(up.iter()) {
                let x = f64::from(x);
                check(
                    &format!("{path} swiglu"),
                    found,
                    x / (1.0 + (-x).exp()) * f64::from(up),
                    20.0,
                );
            }
        }
    }
}

#[test]
fn gelu_stays_within_its_operand() {
    for (path, kernels) in tables() {
        for count in [16, 48, 1600] {
            let before: Vec<f32> = noise(1, count, 24).iter().map(|x| x * 8.0).collect();
            let mut x = Guarded::new(&before);
            // SAFETY: `count` values, a multiple of 16.
            unsafe { (kernels.gelu)(count, x.as_mut_ptr()) };
            for (&found, &x) in x.iter().zip(&before) {
                let x = f64::from(x);
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3));
                let expected = 0.5 * x * (1.0 + inner.tanh());
                check(&format!("{path} gelu"), found, expected, 20.0);
            }
        }
    }
}

/// The safe functions, their results at the border.
#[test]
fn results_at_the_border() {
    use crate::attention::{Floats, KeyValues, Products, Seen, Shape, View, attention_on};
    use crate::gemm::{Activations, PackedBf16, PackedF32, gemm_on};
    for (path, _) in tables() {
        for (rows, input, out) in [(1, 5, 3), (7, 33, 31), (20, 300, 65), (90, 64, 2100)] {
            let x = Guarded::new(&noise(1, rows * input, 24));
            let single = Guarded::new(&noise(2, out * input, 24));
            let half: Vec<bf16> = single.iter().map(|&w| bf16::from_f32(w)).collect();
            let half = PackedBf16::pack(&Guarded::new(&half), out, input).unwrap();
            let single = PackedF32::pack(&single, out, input).unwrap();
            let mut y = Guarded::new(&vec![f32::NAN; rows * out]);
            gemm_on(path, Activations::F32(&x), &half, &mut y).unwrap();
            gemm_on(path, Activations::F32AsBf16(&x), &half, &mut y).unwrap();
            gemm_on(path, Activations::F32(&x), &single, &mut y).unwrap();
            assert!(y.iter().all(|y| y.is_finite()));
        }
        let (heads, size, tokens) = (2, 20, 150);
        let x = Guarded::new(&noise(3, tokens * heads * size, 24));
        let view = View {
            values: Floats::F32(&x),
            token: heads * size,
            head: size,
        };
        let shape = Shape {
            heads,
            kv_heads: heads,
            size,
            scale: 0.3,
            products: Products::F32,
        };
        let seen: Vec<Seen<'_>> = (1..=tokens)
            .map(|prefix| Seen { prefix, own: &[] })
            .collect();
        let mut y = Guarded::new(&vec![f32::NAN; x.len()]);
        for products in [Products::F32, Products::Bf16] {
            y.fill(f32::NAN);
            let pair = KeyValues {
                tokens,
                keys: view,
                values: view,
            };
            let shape = Shape { products, ..shape };
            attention_on(path, shape, view, &[pair], &seen, &mut y).unwrap();
            assert!(y.iter().all(|y| y.is_finite()));
        }
    }
}

/// The product of bf16 tiles and what orders its operands, each at the border of its operands.
#[test]
fn matrices_stay_within_their_operands() {
    use super::{DEPTH, GROUP, TILE};
    for (path, kernels) in tables() {
        let Some(matrices) = &kernels.matrices else {
            continue;
        };
        for rows in [1_usize, 2, 15, 16, 17, 31, 32] {
            for (steps, c_row, add) in [(1, 32, false), (3, 40, true), (9, 32, true)] {
                let groups = rows.div_ceil(GROUP);
                // The last row of the last tile ends the operand.
                let last = (rows - 1) % GROUP + 1;
                let len = groups * steps * TILE - (GROUP - last) * DEPTH / 2;
                let a = Guarded::new(&words(&noise(1, 2 * len, 8)));
                let b = Guarded::new(&words(&noise(2, 2 * steps * GROUP * PANEL, 8)));
                let start = noise(3, (rows - 1) * c_row + PANEL, 20);
                let mut c = Guarded::new(&start);
                // SAFETY: the buffers hold exactly what the contract asks for.
                unsafe {
                    let a = (a.as_ptr(), steps * TILE);
                    (matrices.tile)(rows, steps, a, b.as_ptr(), c.as_mut_ptr(), c_row, add);
                }
                for (at, (&found, &before)) in c.iter().zip(&start).enumerate() {
                    let (r, o) = (at / c_row, at % c_row);
                    if o >= PANEL {
                        assert_eq!(found, before, "{path}: a value between rows was written");
                        continue;
                    }
                    let mut sum = if add { f64::from(before) } else { 0.0 };
                    for pair in 0..steps * GROUP {
                        let (step, within) = (pair / GROUP, pair % GROUP);
                        let row = (r / GROUP * steps + step) * TILE + r % GROUP * DEPTH / 2;
                        let [x_high, x_low] = halves(a[row + within]);
                        let [w_high, w_low] = halves(b[pair * PANEL + o]);
                        sum += f64::from(x_high) * f64::from(w_high)
                            + f64::from(x_low) * f64::from(w_low);
                    }
                    let size = (steps * DEPTH) as f64 + 1.0;
                    check(
                        &format!("{path} {rows} rows, {steps} steps"),
                        found,
                        sum,
                        size,
                    );
                }
            }
        }
        for count in [1_usize, 15, 16, 17, 31, 32, 33, 48, 100] {
            let from = Guarded::new(&noise(4, count, 24));
            let len = (count.div_ceil(DEPTH) - 1) * TILE + DEPTH / 2;
            let mut to = Guarded::new(&vec![7_u32; len]);
            // SAFETY: the buffers hold exactly that.
            unsafe { (matrices.narrow_row)(count, from.as_ptr(), to.as_mut_ptr()) };
            for (at, &word) in to.iter().enumerate() {
                let value = |i: usize| from.get(i).map_or(0.0, |&x| bf16::from_f32(x).to_f32());
                let first = at / TILE * DEPTH + at % TILE * 2;
                if at % TILE < DEPTH / 2 {
                    assert_eq!(
                        halves(word),
                        [value(first + 1), value(first)],
                        "{path} {count}"
                    );
                } else {
                    assert_eq!(word, 7, "{path}: a word between rows was written");
                }
            }
        }
        for (rows, width) in [(1_usize, 16), (2, 32), (7, 48), (128, 128)] {
            let from = Guarded::new(&noise(5, rows * width, 24));
            let mut to = Guarded::new(&vec![7_u32; rows.div_ceil(2) * width]);
            // SAFETY: the buffers hold exactly that.
            unsafe { (matrices.pair_rows)(rows, width, from.as_ptr(), to.as_mut_ptr()) };
            for (at, &word) in to.iter().enumerate() {
                let (pair, column) = (at / width, at % width);
                let value = |row: usize| {
                    let x = from.get(row * width + column);
                    x.map_or(0.0, |&x| bf16::from_f32(x).to_f32())
                };
                assert_eq!(
                    halves(word),
                    [value(2 * pair + 1), value(2 * pair)],
                    "{path}"
                );
            }
        }
        for (from_row, to_row) in [(16, 16), (33, 20)] {
            let all: Vec<u32> = (0..15 * from_row as u32 + 16).collect();
            let from = Guarded::new(&all);
            let mut to = Guarded::new(&vec![7_777_u32; 15 * to_row + 16]);
            // SAFETY: the buffers hold exactly that.
            unsafe { (matrices.turn)(from.as_ptr(), from_row, to.as_mut_ptr(), to_row) };
            for (at, &word) in to.iter().enumerate() {
                let (row, column) = (at / to_row, at % to_row);
                let expected = if column < 16 {
                    from[column * from_row + row]
                } else {
                    7_777
                };
                assert_eq!(word, expected, "{path} {row} {column}");
            }
        }
        let by: [f32; PANEL] = noise(6, PANEL, 20).try_into().unwrap();
        let before = noise(7, 5 * PANEL, 20);
        let mut values = Guarded::new(&before);
        // SAFETY: five rows of 32.
        unsafe { (matrices.scale_rows)(5, &by, values.as_mut_ptr()) };
        for (at, (&found, before)) in values.iter().zip(&before).enumerate() {
            assert_eq!(found, before * by[at % PANEL], "{path}");
        }
    }
}
