//! How are scores turned into weights, and weighted values summed, a block of keys at a time?
//!
//! Scores lie with the queries across: `[keys, 32 queries]`. Maximum and sum then run down the lanes, and
//! nothing a query has depends on the query beside it.

use super::{PANEL, Simd};

/// `exp(x)` for `x <= 88`, within 2 units in the last place; 0 below -87. For NaN some finite value: callers look.
///
/// # Safety
/// The instructions of `S` are there.
#[inline(always)]
pub(super) unsafe fn exp<S: Simd>(x: S::V) -> S::V {
    // 1.5 * 2^23: adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, the first short enough that its products are exact.
    const LN2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    // Cephes' expf: minimax on [-ln 2 / 2, ln 2 / 2].
    const POWERS: [f32; 6] = [
        1.987_569_1e-4,
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        1.666_666_5e-1,
        0.5,
    ];
    // SAFETY: the caller's contract.
    unsafe {
        let low = S::splat(-87.0);
        let within = S::max(x, low);
        let shifted = S::fma(within, S::splat(std::f32::consts::LOG2_E), S::splat(ROUND));
        let n = S::sub(shifted, S::splat(ROUND));
        let r = S::fma(n, S::splat(-LN2[0]), within);
        let r = S::fma(n, S::splat(-LN2[1]), r);
        let mut y = S::splat(POWERS[0]);
        for &power in &POWERS[1..] {
            y = S::fma(y, r, S::splat(power));
        }
        let y = S::add(S::fma(y, S::mul(r, r), r), S::splat(1.0));
        S::less_or(x, low, S::splat(0.0), S::scale(y, shifted))
    }
}

/// `scores [8 * eights, 32] = keys [8 * eights, depth] * queries [depth, 32]`
///
/// # Safety
/// The instructions of `S` are there; the three are readable, `scores` writable, over that many values.
#[inline(always)]
pub(super) unsafe fn scores<S: Simd, const ROWS: usize>(
    eights: usize,
    depth: usize,
    keys: *const f32,
    queries: *const f32,
    scores: *mut f32,
) {
    for row in (0..eights * 8).step_by(ROWS) {
        for column in (0..PANEL).step_by(2 * S::LANES) {
            // SAFETY: ROWS divides 8 and `2 * LANES` 32: rows end by `8 * eights`, columns by 32.
            unsafe {
                let mut sums = [[S::splat(0.0); 2]; ROWS];
                let mut right = queries.add(column);
                for d in 0..depth {
                    let (first, second) = (S::load(right), S::load(right.add(S::LANES)));
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let key = S::splat(*keys.add((row + r) * depth + d));
                        sum[0] = S::fma(key, first, sum[0]);
                        sum[1] = S::fma(key, second, sum[1]);
                    }
                    right = right.wrapping_add(PANEL);
                }
                for (r, sum) in sums.iter().enumerate() {
                    let to = scores.add((row + r) * PANEL + column);
                    S::store(to, sum[0]);
                    S::store(to.add(S::LANES), sum[1]);
                }
            }
        }
    }
}

/// What is kept of 32 queries while their keys pass by.
pub(crate) struct Running {
    /// Keys that each query sees, a whole number.
    pub(crate) seen: [f32; PANEL],
    /// Largest score so far.
    pub(crate) max: [f32; PANEL],
    /// Sum of `exp(score - max)`.
    pub(crate) sum: [f32; PANEL],
    /// What sums from before this block shrink by.
    pub(crate) shrink: [f32; PANEL],
}

impl Running {
    /// Nothing seen. The maximum is finite, so that a query without any key gives weights of 0, not NaN.
    pub(crate) const EMPTY: Self = Self {
        seen: [0.0; PANEL],
        max: [-1e30; PANEL],
        sum: [0.0; PANEL],
        shrink: [1.0; PANEL],
    };
}

/// Turns the scores of keys `first..first + keys` into weights `exp(score - max)`, 0 where a query does not
/// see the key, and lifts the running sums.
///
/// # Safety
/// The instructions of `S` are there; `scores` is readable and writable over `keys * 32` values.
#[inline(always)]
pub(super) unsafe fn weights<S: Simd>(
    keys: usize,
    first: usize,
    scores: *mut f32,
    running: &mut Running,
) {
    #[allow(clippy::cast_precision_loss)]
    let index = |key: usize| (first + key) as f32;
    for column in (0..PANEL).step_by(S::LANES) {
        // SAFETY: `column + LANES <= 32`, the length of every array; `key < keys`.
        unsafe {
            let seen = S::load(running.seen.as_ptr().add(column));
            let old = S::load(running.max.as_ptr().add(column));
            let scores = scores.add(column);
            let mut max = old;
            for key in 0..keys {
                let score = S::load(scores.add(key * PANEL));
                let score = S::less_or(S::splat(index(key)), seen, score, old);
                max = S::max(max, score);
            }
            let mut sum = S::splat(0.0);
            for key in 0..keys {
                let at = scores.add(key * PANEL);
                let below = S::sub(S::load(at), max);
                // Never above 0, unless a score is no number: then the row is none either.
                let weight = exp::<S>(below);
                let weight = S::less_or(below, S::splat(1.0), weight, S::splat(f32::NAN));
                let weight = S::less_or(S::splat(index(key)), seen, weight, S::splat(0.0));
                sum = S::add(sum, weight);
                S::store(at, weight);
            }
            let shrink = exp::<S>(S::sub(old, max));
            let to = running.sum.as_mut_ptr().add(column);
            S::store(to, S::fma(S::load(to), shrink, sum));
            S::store(running.max.as_mut_ptr().add(column), max);
            S::store(running.shrink.as_mut_ptr().add(column), shrink);
        }
    }
}

/// `sums [8 * eights, width] = shrink * sums + weights^T [keys, 32] * values [keys, width]`, the first
/// `8 * eights` of 32 queries, `width` a multiple of 32.
///
/// # Safety
/// The instructions of `S` are there; `eights <= 4`; all are readable, `sums` writable, over that many
/// values.
#[inline(always)]
pub(super) unsafe fn values<S: Simd, const ROWS: usize>(
    eights: usize,
    keys: usize,
    width: usize,
    weights: *const f32,
    values: *const f32,
    shrink: &[f32; PANEL],
    sums: *mut f32,
) {
    for column in (0..width).step_by(2 * S::LANES) {
        for row in (0..eights * 8).step_by(ROWS) {
            // SAFETY: ROWS divides 8 and `2 * LANES` 32: rows end by `8 * eights`, columns by `width`.
            unsafe {
                let mut parts = [[S::splat(0.0); 2]; ROWS];
                let (mut left, mut right) = (weights.add(row), values.add(column));
                for _ in 0..keys {
                    let (first, second) = (S::load(right), S::load(right.add(S::LANES)));
                    for (r, part) in parts.iter_mut().enumerate() {
                        let weight = S::splat(*left.add(r));
                        part[0] = S::fma(weight, first, part[0]);
                        part[1] = S::fma(weight, second, part[1]);
                    }
                    left = left.wrapping_add(PANEL);
                    right = right.wrapping_add(width);
                }
                for (r, part) in parts.iter().enumerate() {
                    let shrink = S::splat(*shrink.as_ptr().add(row + r));
                    for (half, &part) in part.iter().enumerate() {
                        let to = sums.add((row + r) * width + column + half * S::LANES);
                        S::store(to, S::fma(S::load(to), shrink, part));
                    }
                }
            }
        }
    }
}

/// `x / (1 + exp(minus))`. NaN stays NaN.
///
/// # Safety
/// The instructions of `S` are there.
#[inline(always)]
unsafe fn gated<S: Simd>(x: S::V, minus: S::V) -> S::V {
    // SAFETY: the caller's contract.
    unsafe {
        // Not `max`: NaN stays NaN.
        let minus = S::less_or(S::splat(88.0), minus, S::splat(88.0), minus);
        S::div(x, S::add(S::splat(1.0), exp::<S>(minus)))
    }
}

/// `gate = gate / (1 + exp(-gate)) * up` over `count` values, a multiple of 16.
///
/// # Safety
/// The instructions of `S` are there; both are readable, `gate` writable, over `count` values.
#[inline(always)]
pub(super) unsafe fn swiglu<S: Simd>(count: usize, gate: *mut f32, up: *const f32) {
    for at in (0..count).step_by(S::LANES) {
        // SAFETY: LANES divides 16, so `at + LANES <= count`.
        unsafe {
            let x = S::load(gate.add(at));
            let silu = gated::<S>(x, S::sub(S::splat(0.0), x));
            S::store(gate.add(at), S::mul(silu, S::load(up.add(at))));
        }
    }
}

/// `x = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))` over `count` values, a multiple of 16, as
/// `x / (1 + exp(-2 u))`: `1 + tanh(u)` is `2 / (1 + exp(-2 u))`.
///
/// # Safety
/// The instructions of `S` are there; `x` is readable and writable over `count` values.
#[inline(always)]
pub(super) unsafe fn gelu<S: Simd>(count: usize, x: *mut f32) {
    // -2 sqrt(2 / pi)
    const FIRST: f32 = -1.595_769_2;
    const CUBE: f32 = FIRST * 0.044_715;
    for at in (0..count).step_by(S::LANES) {
        // SAFETY: LANES divides 16, so `at + LANES <= count`.
        unsafe {
            let value = S::load(x.add(at));
            let factor = S::fma(S::mul(value, value), S::splat(CUBE), S::splat(FIRST));
            S::store(x.add(at), gated::<S>(value, S::mul(value, factor)));
        }
    }
}
