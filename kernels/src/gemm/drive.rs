//! How is a product shared out among threads and cut to fit the caches?
//!
//! Tasks are blocks of rows by groups of panels. A task packs its rows once (they then stay in the
//! second-level cache) and passes its panels over them, each read from memory once a row block.

#![allow(unsafe_code)]

use std::cell::RefCell;

use rayon::prelude::*;

use super::product::{BLOCK, Left, Panel, Target, product};
use super::{Activations, Packed};
use crate::Path;
use crate::simd::lines::Lines;
use crate::simd::{Kernels, PANEL};

/// Bytes of packed rows of a task.
const ROW_BYTES: usize = 1 << 20;
/// Multiply-adds below which a call stays on its thread: handing out work costs some microseconds.
const SMALL: usize = 1 << 17;
/// Tasks a thread: others may be slower, or be used by somebody else.
const TASKS: usize = 4;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::default());
}

/// Buffers of a thread, at most some MB.
#[derive(Default)]
struct Scratch {
    values: Lines<f32>,
    words: Lines<u32>,
    wide: Lines<f32>,
}

/// One product, cut.
pub(crate) struct Grid<'a> {
    kernels: &'static Kernels,
    activations: Activations<'a>,
    weight: Packed<'a>,
    rows: usize,
    /// Steps along the shared dimension.
    steps: usize,
    /// Rows of a task, whole tiles.
    block: usize,
}

/// Where the tasks write, each to places of its own.
#[derive(Clone, Copy)]
struct Shared(*mut f32);
// SAFETY: tasks write disjoint parts, see `Grid::task`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl<'a> Grid<'a> {
    /// `activations` are `rows >= 1` rows of `weight.input()` values.
    pub(crate) fn new(
        path: Path,
        activations: Activations<'a>,
        weight: Packed<'a>,
        rows: usize,
    ) -> Self {
        let kernels = Kernels::of(path);
        let steps = match weight {
            Packed::Bf16(_) => weight.input().next_multiple_of(2),
            Packed::F32(_) => weight.input(),
        };
        let tiles = rows.div_ceil(kernels.rows);
        let fit = ROW_BYTES / (steps * kernels.rows * size_of::<f32>()).max(1);
        let blocks = tiles.div_ceil(fit.clamp(4, 64));
        Self {
            kernels,
            activations,
            weight,
            rows,
            steps,
            block: tiles.div_ceil(blocks) * kernels.rows,
        }
    }

    /// Computes the product; `out` holds `rows * weight.out()` values.
    pub(crate) fn run(&self, out: &mut [f32]) {
        debug_assert_eq!(out.len(), self.rows * self.weight.out());
        let (blocks, panels) = (
            self.rows.div_ceil(self.block),
            self.weight.out().div_ceil(PANEL),
        );
        let out = Shared(out.as_mut_ptr());
        let threads = rayon::current_num_threads();
        if threads == 1 || self.rows * self.weight.out() * self.steps < SMALL {
            (0..blocks).for_each(|block| self.task(block, 0, panels, out));
            return;
        }
        let groups = (TASKS * threads).div_ceil(blocks).clamp(1, panels);
        (0..blocks * groups)
            .into_par_iter()
            .with_max_len(1)
            .for_each(|task| {
                let (block, group) = (task / groups, task % groups);
                let first = group * panels / groups;
                self.task(block, first, (group + 1) * panels / groups, out);
            });
    }

    /// Rows of block `block` by panels `first..end`: no other task has these outputs.
    fn task(&self, block: usize, first: usize, end: usize, out: Shared) {
        let row = block * self.block;
        let rows = self.block.min(self.rows - row);
        let activations = self.activations.rows(row, rows, self.weight.input());
        SCRATCH.with_borrow_mut(|scratch| {
            let Scratch {
                values,
                words,
                wide,
            } = scratch;
            wide.reserve(BLOCK * PANEL);
            let left = self.pack(activations, rows, values, words);
            for panel in first..end {
                let column = panel * PANEL;
                let columns = PANEL.min(self.weight.out() - column);
                let target = Target {
                    // SAFETY: `row < self.rows` and `column < weight.out()`.
                    at: unsafe { out.0.add(row * self.weight.out() + column) },
                    row: self.weight.out(),
                    rows,
                    columns,
                };
                let panel = self.panel(panel);
                // SAFETY: `out` holds `self.rows` rows of `weight.out()` values (see `run`), and tasks
                // have different rows or columns.
                unsafe {
                    product(
                        self.kernels,
                        self.steps,
                        left,
                        panel,
                        wide.values_mut(),
                        target,
                    );
                }
            }
        });
    }

    fn pack<'s>(
        &self,
        activations: Activations<'_>,
        rows: usize,
        values: &'s mut Lines<f32>,
        words: &'s mut Lines<u32>,
    ) -> Left<'s> {
        let (tile, input) = (self.kernels.rows, self.weight.input());
        let pairs = matches!(self.weight, Packed::Bf16(_));
        if pairs && self.kernels.tile_pairs.is_some() && activations.are_bf16() {
            words.reserve(rows * self.steps / 2);
            activations.pack_words(words.values_mut(), tile, input, self.steps / 2);
            Left::Words(words.values())
        } else {
            values.reserve(rows * self.steps);
            activations.pack(values.values_mut(), tile, input, self.steps, pairs);
            Left::Values(values.values())
        }
    }

    fn panel(&self, panel: usize) -> Panel<'_> {
        match self.weight {
            Packed::Bf16(w) => {
                let len = self.steps / 2 * PANEL;
                Panel::Words(w.words().get(panel * len..(panel + 1) * len).unwrap_or(&[]))
            }
            Packed::F32(w) => {
                let len = self.steps * PANEL;
                Panel::Values(w.values().get(panel * len..(panel + 1) * len).unwrap_or(&[]))
            }
        }
    }
}
