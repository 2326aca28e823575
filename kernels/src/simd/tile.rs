//! How is one tile of a product computed in registers?
//!
//! Every output is one chain of multiply-adds over the shared dimension, in its order, from 0: what stands
//! beside a row, or how many rows a tile has, cannot reach its bits.

use super::Simd;

/// Outputs of a panel: the columns of every tile.
pub(crate) const PANEL: usize = 32;

/// Rows of a tile of bf16: the left operand of [`super::table::TileMatrix`] comes in groups of so many.
pub(crate) const GROUP: usize = 16;
/// Values along the shared dimension that such a tile holds.
pub(crate) const DEPTH: usize = 32;
/// 32-bit words of such a tile.
pub(crate) const TILE: usize = GROUP * DEPTH / 2;

/// Steps that memory is asked for ahead of its use: some 100 cycles.
const AHEAD: usize = 8;

/// Calls one of several instances of a constant by a value known at run time.
macro_rules! by_rows {
    ($rows:expr, [$($n:literal)*], $name:ident => $body:block) => {
        match $rows {
            $($n => { const $name: usize = $n; $body })*
            _ => debug_assert!(false, "no tile of {} rows", $rows),
        }
    };
}
pub(super) use by_rows;

/// How the second operand lies in memory.
pub(super) trait Right<S: Simd> {
    /// A row of 32 outputs.
    type Word;
    /// Rows of the first operand that one row of words serves.
    const STEPS: usize;
    /// # Safety
    /// `LANES` words are readable at `from`; `step < STEPS`.
    unsafe fn load(from: *const Self::Word, step: usize) -> S::V;
}

/// f32 values.
pub(super) struct Single;
/// Words of two bf16 that are neighbours along the shared dimension: the upper half comes first in the sum.
pub(super) struct Pairs;

impl<S: Simd> Right<S> for Single {
    type Word = f32;
    const STEPS: usize = 1;
    #[inline(always)]
    unsafe fn load(from: *const f32, _step: usize) -> S::V {
        // SAFETY: handed on unchanged.
        unsafe { S::load(from) }
    }
}

impl<S: Simd> Right<S> for Pairs {
    type Word = u32;
    const STEPS: usize = 2;
    #[inline(always)]
    unsafe fn load(from: *const u32, step: usize) -> S::V {
        // SAFETY: handed on unchanged.
        unsafe {
            if step == 0 {
                S::odd(from)
            } else {
                S::even(from)
            }
        }
    }
}

/// `c [ROWS, 32] (+)= a^T [words * STEPS, ROWS] * b [words, 32]`, in strips of `2 * LANES` columns.
///
/// # Safety
/// The instructions of `S` are there; `a` is readable over `words * STEPS * ROWS` values, `b` over
/// `words * 32`; row `r < ROWS` of `c` is readable (if `add`) and writable over 32 values from
/// `r * c_row` on.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd, B: Right<S>, const ROWS: usize>(
    words: usize,
    a: *const f32,
    b: *const B::Word,
    c: *mut f32,
    c_row: usize,
    add: bool,
) {
    let mut column = 0;
    while column < PANEL {
        // SAFETY: `w < words`, `step < STEPS`, `r < ROWS`, `column + 2 * LANES <= 32`, so every access
        // stays within the bounds above.
        unsafe {
            let mut sums = [[S::splat(0.0); 2]; ROWS];
            let (mut left, mut right) = (a, b.add(column));
            for r in 0..ROWS {
                S::prefetch(c.wrapping_add(r * c_row + column));
                S::prefetch(c.wrapping_add(r * c_row + column + 16));
            }
            for _ in 0..words {
                S::prefetch(right.wrapping_add(AHEAD * PANEL));
                S::prefetch(right.wrapping_add(AHEAD * PANEL + 16));
                let mut step = 0;
                while step < B::STEPS {
                    let first = B::load(right, step);
                    let second = B::load(right.add(S::LANES), step);
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let x = S::splat(*left.add(r));
                        sum[0] = S::fma(x, first, sum[0]);
                        sum[1] = S::fma(x, second, sum[1]);
                    }
                    S::prefetch(left.wrapping_add(AHEAD * ROWS));
                    left = left.add(ROWS);
                    step += 1;
                }
                right = right.wrapping_add(PANEL);
            }
            for (r, sum) in sums.iter().enumerate() {
                for (half, &sum) in sum.iter().enumerate() {
                    let to = c.add(r * c_row + column + half * S::LANES);
                    let sum = if add { S::add(S::load(to), sum) } else { sum };
                    S::store(to, sum);
                }
            }
        }
        column += 2 * S::LANES;
    }
}

/// Widens `pairs` rows of 32 words to `2 * pairs` rows of 32 values, upper halves first.
///
/// # Safety
/// The instructions of `S` are there; `from` is readable over `pairs * 32` words, `to` writable over
/// `pairs * 64` values.
#[inline(always)]
pub(super) unsafe fn widen<S: Simd>(pairs: usize, from: *const u32, to: *mut f32) {
    for p in 0..pairs {
        let mut column = 0;
        while column < PANEL {
            // SAFETY: `p < pairs` and `column + LANES <= 32`.
            unsafe {
                let word = from.add(p * PANEL + column);
                S::store(to.add(2 * p * PANEL + column), S::odd(word));
                S::store(to.add((2 * p + 1) * PANEL + column), S::even(word));
            }
            column += S::LANES;
        }
    }
}
