//! How is a product shared out among threads and cut to fit the caches?
//!
//! The rows are packed once, in parallel. Tasks are then blocks of rows by groups of panels; a task goes
//! along the shared dimension in blocks, and for each of them passes its panels over its rows, so that the
//! rows' part, the outputs and one widened panel stay in the second-level cache.

#![allow(unsafe_code)]

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::ops::Range;

use rayon::prelude::*;

use super::matrix;
use super::product::{BLOCK, Left, Panel, Target, product};
use super::{Activations, Packed};
use crate::simd::lines::Lines;
use crate::simd::{GROUP, Kernels, PANEL};

/// Tiles of rows of a task.
const ROW_TILES: usize = 18;
/// The same where rows are in groups for tiles of bf16.
const MATRIX_TILES: usize = 32;
/// Panels of a task.
const PANELS: usize = 16;
/// Multiply-adds below which a call stays on its thread: handing out work costs some microseconds.
const SMALL: usize = 1 << 17;
/// Tasks a thread at the least: others may be slower, or be used by somebody else.
const TASKS: usize = 4;

thread_local! {
    /// Packed rows of the product that this thread asked for.
    static LEFT: RefCell<Buffers> = RefCell::new(Buffers::default());
    /// A widened block of a panel: 32 KB.
    static WIDE: RefCell<Lines<f32>> = RefCell::new(Lines::default());
}

/// Room for packed rows.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    values: Lines<f32>,
    words: Lines<u32>,
    /// What was filled last.
    holds: Holds,
}

#[derive(Debug, Default, Clone, Copy)]
enum Holds {
    #[default]
    Values,
    Words,
    Tiles,
}

/// Panels of a packed weight, one behind the other.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Panels<'a> {
    /// `[panels][input, 32]`
    Values(&'a [f32]),
    /// `[panels][input / 2 up, 32]` words of two bf16.
    Words(&'a [u32]),
}

impl<'a> Panels<'a> {
    /// The panels from `first` on; none where there are none.
    pub(crate) fn starting_at(self, first: usize, input: usize) -> Self {
        match self {
            Self::Values(x) => Self::Values(x.get(first * input * PANEL..).unwrap_or_default()),
            Self::Words(x) => Self::Words(
                x.get(first * input.div_ceil(2) * PANEL..)
                    .unwrap_or_default(),
            ),
        }
    }

    fn panel(self, panel: usize, steps: usize) -> Panel<'a> {
        match self {
            Self::Values(x) => {
                let len = steps * PANEL;
                Panel::Values(x.get(panel * len..(panel + 1) * len).unwrap_or_default())
            }
            Self::Words(x) => {
                let len = steps / 2 * PANEL;
                Panel::Words(x.get(panel * len..(panel + 1) * len).unwrap_or_default())
            }
        }
    }
}

impl<'a> From<Packed<'a>> for Panels<'a> {
    fn from(weight: Packed<'a>) -> Self {
        match weight {
            Packed::Bf16(w) => Self::Words(w.words()),
            Packed::F32(w) => Self::Values(w.values()),
        }
    }
}

/// One product, cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid<'a> {
    pub(crate) kernels: &'static Kernels,
    pub(crate) panels: Panels<'a>,
    /// Outputs of the panels.
    pub(crate) columns: usize,
    /// Values of a row.
    pub(crate) input: usize,
    /// Rows, at least 1.
    pub(crate) rows: usize,
}

/// Where the tasks write, each to places of its own.
#[derive(Clone, Copy)]
pub(super) struct Shared(pub(super) *mut f32);
// SAFETY: tasks write disjoint parts, see `Grid::multiply`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Grid<'_> {
    /// Computes the product; `out` holds `rows * columns` values, all of which are written, `activations` `rows * input`.
    pub(crate) fn run(&self, activations: Activations<'_>, out: &mut [MaybeUninit<f32>]) {
        // Taken, not borrowed: while this thread waits for its tasks it may be given another product.
        let mut buffers = LEFT.take();
        self.pack(activations, &mut buffers);
        self.multiply(self.left(&buffers), out, self.columns);
        LEFT.set(buffers);
    }

    /// Steps along the shared dimension.
    fn steps(&self) -> usize {
        match self.panels {
            Panels::Words(_) => self.input.next_multiple_of(2),
            Panels::Values(_) => self.input,
        }
    }

    fn parallel(&self) -> bool {
        rayon::current_num_threads() > 1 && self.rows * self.columns * self.input >= SMALL
    }

    /// The product of packed rows; rows of `out` begin `row` values apart, and `columns` of each are written.
    pub(crate) fn multiply(&self, left: Left<'_>, out: &mut [MaybeUninit<f32>], row: usize) {
        assert!(row >= self.columns && out.len() >= (self.rows - 1) * row + self.columns);
        let panels = self.columns.div_ceil(PANEL);
        let (tile, most, task_panels) = match left {
            Left::Tiles(_) => (matrix::ROWS, MATRIX_TILES, matrix::panels(self.input)),
            _ => (self.kernels.rows, ROW_TILES, PANELS),
        };
        let tiles = self.rows.div_ceil(tile);
        // Rows of a task, whole tiles.
        let block = tiles.div_ceil(tiles.div_ceil(most)) * tile;
        let blocks = self.rows.div_ceil(block);
        let parallel = self.parallel();
        let least = if parallel {
            (TASKS * rayon::current_num_threads()).div_ceil(blocks)
        } else {
            1
        };
        let groups = panels.div_ceil(task_panels).max(least).min(panels);
        let out = Shared(out.as_mut_ptr().cast());
        let task = |task: usize| {
            let (group, at) = (task / blocks, task % blocks);
            let panels = group * panels / groups..(group + 1) * panels / groups;
            let rows = at * block..self.rows.min((at + 1) * block);
            // SAFETY: the assertion; no two tasks have both a row and a panel in common.
            unsafe { self.task(left, rows, panels, out, row) };
        };
        if parallel {
            let tasks = (0..blocks * groups).into_par_iter();
            tasks.with_max_len(1).for_each(task);
        } else {
            (0..blocks * groups).for_each(task);
        }
    }

    /// Some rows by some panels.
    ///
    /// # Safety
    /// `out` is readable and writable over `columns` values from `r * row` on for every row `r` of `rows`, and
    /// nobody else touches the outputs of `panels` in these.
    unsafe fn task(
        &self,
        left: Left<'_>,
        rows: Range<usize>,
        panels: Range<usize>,
        out: Shared,
        row: usize,
    ) {
        if let (Left::Tiles(left), Panels::Words(words), Some(matrices)) =
            (left, self.panels, &self.kernels.matrices)
        {
            let operands = matrix::Operands {
                matrices,
                left,
                words,
                input: self.input,
                columns: self.columns,
            };
            // SAFETY: the caller's contract.
            return unsafe { operands.task(&rows, &panels, out, row) };
        }
        let steps = self.steps();
        let left = match left {
            Left::Tiles(_) => return debug_assert!(false, "tiles meet no words"),
            Left::Values(x) => Left::Values(x.get(rows.start * steps..).unwrap_or_default()),
            Left::Words(x) => Left::Words(x.get(rows.start * steps / 2..).unwrap_or_default()),
        };
        WIDE.with_borrow_mut(|wide| {
            wide.reserve(BLOCK * PANEL);
            for step in (0..steps).step_by(BLOCK) {
                for panel in panels.clone() {
                    let column = panel * PANEL;
                    let target = Target {
                        // SAFETY: `column < self.columns`, and row `rows.start` exists.
                        at: unsafe { out.0.add(rows.start * row + column) },
                        row,
                        rows: rows.len(),
                        columns: PANEL.min(self.columns - column),
                    };
                    let panel = self.panels.panel(panel, steps);
                    let wide = wide.values_mut();
                    // SAFETY: the caller's contract, for these columns of these rows.
                    unsafe { product(self.kernels, (step, steps), left, panel, wide, target) };
                }
            }
        });
    }

    /// The rows that [`Grid::pack`] packed last.
    pub(crate) fn left<'s>(&self, buffers: &'s Buffers) -> Left<'s> {
        match buffers.holds {
            Holds::Values => Left::Values(buffers.values.values()),
            Holds::Words => Left::Words(buffers.words.values()),
            Holds::Tiles => Left::Tiles(buffers.words.values()),
        }
    }

    /// Packs the rows, tile by tile.
    pub(crate) fn pack(&self, activations: Activations<'_>, buffers: &mut Buffers) {
        let (tile, input, steps) = (self.kernels.rows, self.input, self.steps());
        let bf16 = matches!(self.panels, Panels::Words(_));
        let rows = |t: usize| activations.rows(t * tile, tile.min(self.rows - t * tile), input);
        let tiles = self.rows.div_ceil(tile);
        let narrow = bf16 && activations.are_bf16();
        if let (true, Some(matrices)) = (narrow, &self.kernels.matrices) {
            buffers.holds = Holds::Tiles;
            let len = matrix::group_words(input);
            let groups = self.rows.div_ceil(GROUP);
            buffers.words.reserve(groups * len);
            let to = buffers.words.values_mut().get_mut(..groups * len);
            self.each(to.unwrap_or_default(), len, |g, to| {
                let first = g * GROUP;
                let rows = activations.rows(first, GROUP.min(self.rows - first), input);
                rows.pack_tiles(to, matrices, input);
            });
        } else if narrow && self.kernels.tile_pairs.is_some() {
            buffers.holds = Holds::Words;
            let len = tile * steps / 2;
            buffers.words.reserve(tiles * len);
            let to = buffers.words.values_mut().get_mut(..tiles * len);
            self.each(to.unwrap_or_default(), len, |t, to| {
                rows(t).pack_words(to, tile, input, steps / 2);
            });
        } else {
            buffers.holds = Holds::Values;
            let len = tile * steps;
            buffers.values.reserve(tiles * len);
            let to = buffers.values.values_mut().get_mut(..tiles * len);
            self.each(to.unwrap_or_default(), len, |t, to| {
                rows(t).pack(to, tile, input, bf16);
            });
        }
    }

    fn each<T: Send>(&self, to: &mut [T], len: usize, pack: impl Fn(usize, &mut [T]) + Sync) {
        if self.parallel() && to.len() > len {
            let tiles = to.par_chunks_mut(len).enumerate();
            tiles.for_each(|(t, to)| pack(t, to));
        } else {
            to.chunks_mut(len)
                .enumerate()
                .for_each(|(t, to)| pack(t, to));
        }
    }
}
