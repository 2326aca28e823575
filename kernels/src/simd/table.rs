//! Which functions run on a path?

use super::soft::{self, Running};
use super::sweep::{self, Sweep};
use super::tile::{PANEL, Pairs, Single, by_rows, tile, widen};
use crate::Path;

/// `(rows, k, a, b, c, c_row, add)`: `c [rows, 32] (+)= a^T [k, rows] * b [k, 32]`, f32.
///
/// # Safety
/// The path's instructions are there, `1 <= rows <= Kernels::rows`, `a` is readable over `k * rows` values,
/// `b` over `k * 32`, and row `r < rows` of `c` over 32 values from `r * c_row` on, also writable.
pub(crate) type Tile = unsafe fn(usize, usize, *const f32, *const f32, *mut f32, usize, bool);

/// As [`Tile`] with `b [k, 32]` words of two bf16 and `a^T [2 k, rows]`, the row of the upper half first.
pub(crate) type TileWords = unsafe fn(usize, usize, *const f32, *const u32, *mut f32, usize, bool);

/// As [`TileWords`] with `a^T [k, rows]` words of two bf16.
pub(crate) type TilePairs = unsafe fn(usize, usize, *const u32, *const u32, *mut f32, usize, bool);

/// `(rows, steps, (a, group), b, c, c_row, add)`: `c [rows, 32] (+)= a [rows, 32 * steps] * b [16 * steps, 32]`, `a` in
/// groups of 16 rows that begin `group` words apart, a group being `steps` tiles `[16, 16]` of words of two bf16, `b` words of
/// two bf16 as in [`TileWords`].
///
/// # Safety
/// The path's instructions are there, `1 <= rows <= 32`, `steps >= 1`; the first group of `a` is readable over its
/// first `min(rows, 16)` rows of every tile, the second one over `rows - 16`; `b` over `steps * 512` words; row
/// `r < rows` of `c` over 32 values from `r * c_row` on, also writable.
pub(crate) type TileMatrix =
    unsafe fn(usize, usize, (*const u32, usize), *const u32, *mut f32, usize, bool);

/// `(count, from, to)`: rounds a row for [`TileMatrix`]: see [`super::amx::narrow_row`].
///
/// # Safety
/// The path's instructions are there; bounds as stated there.
pub(crate) type NarrowRow = unsafe fn(usize, *const f32, *mut u32);

/// `(rows, width, from, to)`: see [`super::amx::pair_rows`].
///
/// # Safety
/// As for [`NarrowRow`].
pub(crate) type PairRows = unsafe fn(usize, usize, *const f32, *mut u32);

/// `(from, from_row, to, to_row)`: see [`super::amx::turn`].
///
/// # Safety
/// As for [`NarrowRow`].
pub(crate) type Turn = unsafe fn(*const u32, usize, *mut u32, usize);

/// `(rows, by, values)`: see [`super::amx::scale_rows`].
///
/// # Safety
/// As for [`NarrowRow`].
pub(crate) type ScaleRows = unsafe fn(usize, &[f32; PANEL], *mut f32);

/// The product of bf16 tiles, and what brings operands into their order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrices {
    pub(crate) tile: TileMatrix,
    pub(crate) narrow_row: NarrowRow,
    pub(crate) pair_rows: PairRows,
    pub(crate) turn: Turn,
    pub(crate) scale_rows: ScaleRows,
}

/// `(pairs, from, to)`: widens `pairs` rows of 32 words to twice as many rows of 32 values, the upper
/// halves first.
///
/// # Safety
/// The path's instructions are there; `from` is readable over `pairs * 32` words, `to` writable over
/// `pairs * 64` values.
pub(crate) type Widen = unsafe fn(usize, *const u32, *mut f32);

/// `(eights, depth, keys, queries, scores)`: see [`soft::scores`].
///
/// # Safety
/// The path's instructions are there; bounds as stated there.
pub(crate) type Scores = unsafe fn(usize, usize, *const f32, *const f32, *mut f32);

/// `(keys, first, scores, running)`: see [`soft::weights`].
///
/// # Safety
/// As for [`Scores`].
pub(crate) type Weights = unsafe fn(usize, usize, *mut f32, &mut Running);

/// `(eights, keys, width, weights, values, shrink, sums)`: see [`soft::values`].
///
/// # Safety
/// As for [`Scores`].
pub(crate) type Values =
    unsafe fn(usize, usize, usize, *const f32, *const f32, &[f32; PANEL], *mut f32);

/// `(count, gate, up)`: see [`soft::swiglu`].
///
/// # Safety
/// As for [`Scores`].
pub(crate) type Swiglu = unsafe fn(usize, *mut f32, *const f32);

/// `(count, x)`: see [`soft::gelu`].
///
/// # Safety
/// As for [`Scores`].
pub(crate) type Gelu = unsafe fn(usize, *mut f32);

/// `(sweep, student, teacher)`: see [`sweep::take`].
///
/// # Safety
/// The path's instructions are there.
pub(crate) type Take<T> = unsafe fn(&mut Sweep, &[T], &[T]) -> f64;

/// The functions of one path.
#[derive(Debug)]
pub(crate) struct Kernels {
    /// Rows of the largest tile.
    pub(crate) rows: usize,
    pub(crate) tile: Tile,
    pub(crate) tile_words: TileWords,
    pub(crate) tile_pairs: Option<TilePairs>,
    pub(crate) matrices: Option<Matrices>,
    pub(crate) widen: Widen,
    pub(crate) scores: Scores,
    pub(crate) weights: Weights,
    pub(crate) values: Values,
    pub(crate) swiglu: Swiglu,
    pub(crate) gelu: Gelu,
    pub(crate) take_f32: Take<f32>,
    pub(crate) take_f64: Take<f64>,
}

impl Kernels {
    /// The functions of a path, or the portable ones where this CPU lacks it: calling what is returned
    /// here is always sound as far as instructions go.
    pub(crate) fn of(path: Path) -> &'static Self {
        match path.or_portable() {
            #[cfg(target_arch = "x86_64")]
            Path::Amx => &avx512::AMX,
            #[cfg(target_arch = "x86_64")]
            Path::Avx512Bf16 => &avx512::BF16,
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => &avx512::TABLE,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => &avx2::TABLE,
            _ => &portable::TABLE,
        }
    }
}

/// A module with the functions of one instruction set and their table: rows of the largest tile, rows of a tile
/// of attention (a divisor of 8), whether multiply-add is fused, every number of rows up to the largest, features.
macro_rules! path {
    ($module:ident, $simd:ty, $rows:literal, $soft:literal, $fused:literal, [$($n:literal)*] $(, $feature:literal)?) => {
        mod $module {
            use super::*;

            pub(super) static TABLE: Kernels = Kernels {
                rows: $rows,
                tile: single,
                tile_words: words,
                tile_pairs: None,
                matrices: None,
                widen: wide,
                scores,
                weights,
                values,
                swiglu,
                gelu,
                take_f32,
                take_f64,
            };

            $(#[target_feature(enable = $feature)])?
            unsafe fn single(
                rows: usize, k: usize, a: *const f32, b: *const f32, c: *mut f32, c_row: usize, add: bool,
            ) {
                // SAFETY: handed on unchanged.
                unsafe {
                    by_rows!(rows, [$($n)*], ROWS => { tile::<$simd, Single, ROWS>(k, a, b, c, c_row, add) });
                }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn words(
                rows: usize, k: usize, a: *const f32, b: *const u32, c: *mut f32, c_row: usize, add: bool,
            ) {
                // SAFETY: handed on unchanged.
                unsafe {
                    by_rows!(rows, [$($n)*], ROWS => { tile::<$simd, Pairs, ROWS>(k, a, b, c, c_row, add) });
                }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn wide(pairs: usize, from: *const u32, to: *mut f32) {
                // SAFETY: handed on unchanged.
                unsafe { widen::<$simd>(pairs, from, to) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn scores(
                eights: usize, depth: usize, keys: *const f32, queries: *const f32, scores: *mut f32,
            ) {
                // SAFETY: handed on unchanged.
                unsafe { soft::scores::<$simd, $soft>(eights, depth, keys, queries, scores) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn weights(keys: usize, first: usize, scores: *mut f32, running: &mut Running) {
                // SAFETY: handed on unchanged.
                unsafe { soft::weights::<$simd>(keys, first, scores, running) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn values(
                eights: usize, keys: usize, width: usize, weights: *const f32, values: *const f32,
                shrink: &[f32; PANEL], sums: *mut f32,
            ) {
                // SAFETY: handed on unchanged.
                unsafe {
                    soft::values::<$simd, $soft>(eights, keys, width, weights, values, shrink, sums);
                }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn swiglu(count: usize, gate: *mut f32, up: *const f32) {
                // SAFETY: handed on unchanged.
                unsafe { soft::swiglu::<$simd>(count, gate, up) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn gelu(count: usize, x: *mut f32) {
                // SAFETY: handed on unchanged.
                unsafe { soft::gelu::<$simd>(count, x) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn take_f32(sweep: &mut Sweep, student: &[f32], teacher: &[f32]) -> f64 {
                sweep::take::<f32, $fused>(sweep, student, teacher)
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn take_f64(sweep: &mut Sweep, student: &[f64], teacher: &[f64]) -> f64 {
                sweep::take::<f64, $fused>(sweep, student, teacher)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
path!(avx512_f, super::super::avx512::Avx512, 14, 8, true, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], "avx512f");
#[cfg(target_arch = "x86_64")]
path!(avx2, super::super::avx2::Avx2, 6, 4, true, [1 2 3 4 5 6], "avx2,fma");
path!(portable, super::super::portable::Portable, 4, 4, false, [1 2 3 4]);

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{Kernels, Matrices};

    pub(super) use super::avx512_f::TABLE;

    pub(super) static BF16: Kernels = Kernels {
        tile_pairs: Some(super::super::avx512::tile_pairs),
        ..TABLE
    };

    pub(super) static AMX: Kernels = Kernels {
        matrices: Some(Matrices {
            tile: super::super::amx::tile_matrix,
            narrow_row: super::super::amx::narrow_row,
            pair_rows: super::super::amx::pair_rows,
            turn: super::super::amx::turn,
            scale_rows: super::super::amx::scale_rows,
        }),
        ..TABLE
    };
}
