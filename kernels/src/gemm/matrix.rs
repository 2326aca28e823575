//! How does a product go on tiles of bf16 (AMX)?
//!
//! An output is one chain along the shared dimension, 32 values a step; between blocks of [`BLOCK`] steps it rests in
//! the result, so a row's bits depend on nothing but the row and the weight here too.

#![allow(unsafe_code)]

use std::ops::Range;

use super::drive::Shared;
use super::product::Target;
use crate::simd::{DEPTH, GROUP, Matrices, PANEL, TILE};

/// Steps of a block: the panels of a task, which all its rows meet, stay in half of a second-level cache of 2 MB.
const BLOCK: usize = 64;
/// Bytes of the panels of a task.
const PANEL_BYTES: usize = 1 << 20;
/// Rows of a product of two groups.
pub(super) const ROWS: usize = 2 * GROUP;

/// Panels of a task for rows of `input` values.
pub(super) fn panels(input: usize) -> usize {
    let steps = input.div_ceil(DEPTH).min(BLOCK);
    (PANEL_BYTES / (steps * 2 * TILE * size_of::<u32>())).clamp(4, 32)
}

/// Words of a group of rows of `input` values.
pub(super) fn group_words(input: usize) -> usize {
    input.div_ceil(DEPTH) * TILE
}

/// Operands of a product: `left` packed in groups, `words` the panels of the weight.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a> {
    pub(super) matrices: &'static Matrices,
    pub(super) left: &'a [u32],
    pub(super) words: &'a [u32],
    pub(super) input: usize,
    pub(super) columns: usize,
}

impl Operands<'_> {
    /// Some rows, from a multiple of [`ROWS`] on, by some panels.
    ///
    /// # Safety
    /// `out` is readable and writable over `columns` values from `r * row` on for every row `r` of `rows`, and
    /// nobody else touches the outputs of `panels` in these.
    pub(super) unsafe fn task(
        &self,
        rows: &Range<usize>,
        panels: &Range<usize>,
        out: Shared,
        row: usize,
    ) {
        let steps = self.input.div_ceil(DEPTH);
        for step in (0..steps).step_by(BLOCK) {
            let block = step..steps.min(step + BLOCK);
            for first in rows.clone().step_by(ROWS) {
                for panel in panels.clone() {
                    let column = panel * PANEL;
                    let target = Target {
                        // SAFETY: row `first` exists and `column < self.columns`.
                        at: unsafe { out.0.add(first * row + column) },
                        row,
                        rows: ROWS.min(rows.end - first),
                        columns: PANEL.min(self.columns - column),
                    };
                    // SAFETY: the caller's contract, for these columns of these rows.
                    unsafe { self.block(first, panel, block.clone(), target) };
                }
            }
        }
    }

    /// One panel, up to [`ROWS`] rows; through a buffer where the panel has fewer than 32 outputs.
    ///
    /// # Safety
    /// As [`Operands::task`], for the target.
    unsafe fn block(&self, first: usize, panel: usize, block: Range<usize>, target: Target) {
        if target.columns >= PANEL {
            // SAFETY: handed on; 32 columns are writable.
            unsafe { self.tiles(first, panel, block, target) };
            return;
        }
        let mut buffer = [0.0_f32; ROWS * PANEL];
        // SAFETY: `r < rows <= 32` and `column < columns <= 32`, in the buffer and in the target.
        unsafe {
            let places = (0..target.rows).flat_map(|r| (0..target.columns).map(move |c| (r, c)));
            if block.start > 0 {
                for (r, c) in places.clone() {
                    buffer[r * PANEL + c] = *target.at.add(r * target.row + c);
                }
            }
            let inner = Target {
                at: buffer.as_mut_ptr(),
                row: PANEL,
                columns: PANEL,
                ..target
            };
            self.tiles(first, panel, block, inner);
            for (r, c) in places {
                *target.at.add(r * target.row + c) = buffer[r * PANEL + c];
            }
        }
    }

    /// # Safety
    /// As [`Operands::block`], and 32 columns of the target are writable.
    unsafe fn tiles(&self, first: usize, panel: usize, block: Range<usize>, target: Target) {
        let pairs = self.input.div_ceil(2);
        let group = group_words(self.input);
        let words = &self.words[panel * pairs * PANEL..(panel + 1) * pairs * PANEL];
        let left = &self.left[first / GROUP * group..];
        assert!(left.len() >= target.rows.div_ceil(GROUP) * group);
        // Steps whose 16 pairs are all there.
        let whole = block.end.min(pairs / GROUP);
        let right = &words[block.start * GROUP * PANEL..];
        let mut add = block.start > 0;
        if whole > block.start {
            let steps = whole - block.start;
            assert!(right.len() >= steps * GROUP * PANEL);
            let left = &left[block.start * TILE..];
            // SAFETY: `Kernels::of` gives functions that this CPU runs; each group holds `group` words, which
            // are `TILE` words for every step of the row; the panel holds `steps` whole steps; the caller's target.
            unsafe {
                let a = (left.as_ptr(), group);
                let tile = self.matrices.tile;
                tile(
                    target.rows,
                    steps,
                    a,
                    right.as_ptr(),
                    target.at,
                    target.row,
                    add,
                );
            }
            add = true;
        }
        if whole < block.end {
            let last = last_step(&words[whole * GROUP * PANEL..]);
            let left = &left[whole * TILE..];
            // SAFETY: as above, with one step in a buffer of its own.
            unsafe {
                let a = (left.as_ptr(), group);
                let tile = self.matrices.tile;
                tile(target.rows, 1, a, last.as_ptr(), target.at, target.row, add);
            }
        }
    }
}

/// The last step of a panel, filled up with zeros to 16 pairs.
fn last_step(words: &[u32]) -> [u32; GROUP * PANEL] {
    let mut full = [0; GROUP * PANEL];
    for (to, &from) in full.iter_mut().zip(words) {
        *to = from;
    }
    full
}
