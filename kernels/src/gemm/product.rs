//! How does one panel of a weight meet a block of packed rows?
//!
//! The shared dimension is cut in blocks of [`BLOCK`] steps; each block's sum starts at 0 and the blocks'
//! sums are added in order. That is the whole definition of an output's bits on a path.

#![allow(unsafe_code)]

use crate::simd::{Kernels, PANEL};

/// Steps of a block along the shared dimension. 32 widened outputs of it take 64 KB.
pub(crate) const BLOCK: usize = 256;

/// Packed rows: whole tiles of `Kernels::rows` rows, then one of the rest.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Left<'a> {
    /// `steps` values a row.
    Values(&'a [f32]),
    /// `steps / 2` words of two bf16 a row.
    Words(&'a [u32]),
    /// Groups of 16 rows of words of two bf16, for [`super::matrix`].
    Tiles(&'a [u32]),
}

/// One panel of a packed weight.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Panel<'a> {
    /// `[steps, 32]`
    Values(&'a [f32]),
    /// `[steps / 2, 32]` words of two bf16.
    Words(&'a [u32]),
}

/// `rows` rows of a result, `row` values apart, of which 1 to 32 columns are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) at: *mut f32,
    pub(crate) row: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

/// `target (+)= left * panel^T` over the block of steps that begins at `step`, a multiple of [`BLOCK`]; the
/// first block sets the target, later ones add to it. `wide` is room for a widened block: `BLOCK * 32` values.
///
/// # Safety
/// Row `r < target.rows` of the target is readable and writable over `target.columns <= 32` values from
/// `r * row` on, and nobody else reads or writes these meanwhile.
pub(crate) unsafe fn product(
    kernels: &Kernels,
    (step, steps): (usize, usize),
    left: Left<'_>,
    panel: Panel<'_>,
    wide: &mut [f32],
    target: Target,
) {
    let tiles = target.rows.div_ceil(kernels.rows);
    let block = BLOCK.min(steps - step);
    let right = match (left, panel) {
        // One tile widens in registers as it goes.
        (Left::Values(_), Panel::Words(words)) if tiles > 1 => {
            let words = &words[step / 2 * PANEL..(step + block) / 2 * PANEL];
            let wide = &mut wide[..block * PANEL];
            // SAFETY: `words` holds `block / 2` rows of 32, `wide` `block`; `block` is even beside words,
            // since `steps` is.
            unsafe { (kernels.widen)(block / 2, words.as_ptr(), wide.as_mut_ptr()) };
            Panel::Values(wide)
        }
        (_, Panel::Words(words)) => {
            Panel::Words(&words[step / 2 * PANEL..(step + block) / 2 * PANEL])
        }
        (_, Panel::Values(values)) => Panel::Values(&values[step * PANEL..(step + block) * PANEL]),
    };
    for tile in 0..tiles {
        let first = tile * kernels.rows;
        let rows = kernels.rows.min(target.rows - first);
        let start = first * steps + step * rows;
        let left = match left {
            Left::Values(values) => Left::Values(&values[start..start + block * rows]),
            Left::Words(words) => Left::Words(&words[start / 2..(start + block * rows) / 2]),
            Left::Tiles(_) => return debug_assert!(false, "tiles have a product of their own"),
        };
        let target = Target {
            // SAFETY: `first < target.rows`.
            at: unsafe { target.at.add(first * target.row) },
            rows,
            ..target
        };
        // SAFETY: the slices hold `block` steps of `rows` rows and of 32 outputs; the caller's target.
        unsafe { whole_or_ragged(kernels, block, left, right, target, step > 0) };
    }
}

/// One tile; through a buffer where the panel has fewer than 32 outputs.
///
/// # Safety
/// As [`product`], and `left` holds `block` steps of `target.rows` rows, `right` of 32 outputs.
unsafe fn whole_or_ragged(
    kernels: &Kernels,
    block: usize,
    left: Left<'_>,
    right: Panel<'_>,
    target: Target,
    add: bool,
) {
    if target.columns >= PANEL {
        // SAFETY: handed on; 32 columns are writable.
        unsafe { tile(kernels, block, left, right, target, add) };
        return;
    }
    let mut buffer = [0.0_f32; 16 * PANEL];
    debug_assert!(target.rows * PANEL <= buffer.len());
    let inner = Target {
        at: buffer.as_mut_ptr(),
        row: PANEL,
        rows: target.rows,
        columns: PANEL,
    };
    // SAFETY: the buffer holds 16 rows of 32, and no path has tiles of more rows.
    unsafe { tile(kernels, block, left, right, inner, false) };
    for (r, sums) in buffer.chunks_exact(PANEL).take(target.rows).enumerate() {
        for (column, &sum) in sums.iter().take(target.columns).enumerate() {
            // SAFETY: `r < rows` and `column < columns`.
            unsafe {
                let to = target.at.add(r * target.row + column);
                *to = if add { *to + sum } else { sum };
            }
        }
    }
}

/// # Safety
/// As [`whole_or_ragged`], and 32 columns of the target are writable.
unsafe fn tile(
    kernels: &Kernels,
    block: usize,
    left: Left<'_>,
    right: Panel<'_>,
    target: Target,
    add: bool,
) {
    let Target { at, row, rows, .. } = target;
    // SAFETY: `Kernels::of` gives functions that this CPU runs; bounds are the caller's.
    unsafe {
        match (left, right, kernels.tile_pairs) {
            (Left::Values(a), Panel::Values(b), _) => {
                (kernels.tile)(rows, block, a.as_ptr(), b.as_ptr(), at, row, add);
            }
            (Left::Values(a), Panel::Words(b), _) => {
                (kernels.tile_words)(rows, block / 2, a.as_ptr(), b.as_ptr(), at, row, add);
            }
            (Left::Words(a), Panel::Words(b), Some(pairs)) => {
                pairs(rows, block / 2, a.as_ptr(), b.as_ptr(), at, row, add);
            }
            (Left::Words(_) | Left::Tiles(_), _, _) => debug_assert!(false, "words meet no words"),
        }
    }
}
