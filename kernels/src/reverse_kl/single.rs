//! How do f32 hidden states and a weight become f32 logits, a tile at a time ([`Precision::Single`])?
//!
//! The products are those of [`crate::gemm`]: a logit's bits depend on its hidden state and its weight row only.
//!
//! [`Precision::Single`]: super::Precision::Single

use half::f16;
use rayon::prelude::*;

use super::logits::widen;
use super::{HeadError, Weight, bad_weight};
use crate::gemm::{Activations, Buffers, Grid, Packed, Panels, pack_values, pack_words};
use crate::memory::writable;
use crate::simd::lines::Lines;
use crate::simd::{Kernels, PANEL};

/// Logits of both contexts of one block of tokens over one tile of the vocabulary. The buffers are allocated
/// once and used for every tile.
#[derive(Debug)]
pub(super) struct Logits {
    kernels: &'static Kernels,
    hidden: usize,
    /// Whether states are rounded to bf16 beside a weight in bf16.
    round: bool,
    /// `[2 * tokens, hidden]`: the student's rows, then the teacher's.
    states: Vec<f32>,
    packed: Buffers,
    /// A tile of a weight that came unpacked.
    values: Lines<f32>,
    words: Lines<u32>,
    /// `[2 * tokens, columns]`
    logits: Vec<f32>,
    columns: usize,
    /// First column of the tile in use: a packed weight begins at the panel that holds it.
    offset: usize,
}

impl Logits {
    pub(super) fn new(
        kernels: &'static Kernels,
        tokens: usize,
        tile_rows: usize,
        hidden: usize,
        round: bool,
    ) -> Self {
        // A tile that begins within a panel may reach into one more than it fills.
        let columns = (tile_rows + PANEL - 1).next_multiple_of(PANEL);
        Self {
            kernels,
            hidden,
            round,
            states: Vec::with_capacity(2 * tokens * hidden),
            packed: Buffers::default(),
            values: Lines::default(),
            words: Lines::default(),
            logits: vec![0.0; 2 * tokens * columns],
            columns,
            offset: 0,
        }
    }
}

impl super::Tile for Logits {
    type Logit = f32;

    /// Takes the hidden states `[tokens, hidden]` of the next block; the last one may be shorter.
    fn set_states(&mut self, student: &[f32], teacher: &[f32]) {
        self.states.clear();
        self.states.extend_from_slice(student);
        self.states.extend_from_slice(teacher);
        self.logits
            .truncate(self.states.len() / self.hidden * self.columns);
    }

    /// Computes the logits of the `rows` vocabulary entries from `first` on. The hidden states are packed
    /// when `first` is 0.
    ///
    /// # Errors
    /// [`HeadError::Weight`] when a weight of the tile is NaN or infinite.
    fn compute(&mut self, weight: &Weight<'_>, first: usize, rows: usize) -> Result<(), HeadError> {
        let hidden = self.hidden;
        let range = first * hidden..(first + rows) * hidden;
        self.offset = 0;
        let panels = match weight {
            Weight::F32(all) => {
                let tile = all.get(range).unwrap_or_default();
                pack(&mut self.values, tile, hidden, first, |w| w)?
            }
            Weight::F16(all) => {
                let tile = all.get(range).unwrap_or_default();
                pack(&mut self.values, tile, hidden, first, f16::to_f32)?
            }
            Weight::Bf16(all) => {
                let tile = all.get(range).unwrap_or_default();
                if tile
                    .par_chunks(hidden)
                    .any(|row| row.iter().any(|w| !w.is_finite()))
                {
                    return Err(bad_weight(tile.iter().map(|&w| widen(w)), first, hidden));
                }
                let len = hidden.div_ceil(2) * PANEL;
                self.words.reserve(rows.div_ceil(PANEL) * len);
                let panels = self.words.values_mut().par_chunks_mut(len);
                let tiles = tile.par_chunks(PANEL * hidden);
                panels
                    .zip(tiles)
                    .for_each(|(to, from)| pack_words(to, from, hidden));
                Panels::Words(self.words.values())
            }
            Weight::Packed(packed) => {
                self.offset = first % PANEL;
                let panels = Panels::from(*packed).starting_at(first / PANEL, hidden);
                if !packed.finite() {
                    check_rows(packed, first, rows, hidden)?;
                }
                panels
            }
        };
        let grid = Grid {
            kernels: self.kernels,
            panels,
            columns: self.offset + rows,
            input: hidden,
            rows: self.states.len() / hidden,
        };
        // The order along the shared dimension is the panels' kind, the same for every tile.
        if first == 0 {
            let states = if self.round && matches!(panels, Panels::Words(_)) {
                Activations::F32AsBf16(&self.states)
            } else {
                Activations::F32(&self.states)
            };
            grid.pack(states, &mut self.packed);
        }
        let logits = writable(&mut self.logits);
        grid.multiply(grid.left(&self.packed), logits, self.columns);
        Ok(())
    }

    /// Student and teacher logits of each token, from the tile's first on.
    fn rows(&self) -> impl IndexedParallelIterator<Item = (&[f32], &[f32])> {
        let (student, teacher) = self.logits.split_at(self.logits.len() / 2);
        let rows = student
            .par_chunks(self.columns)
            .zip(teacher.par_chunks(self.columns));
        let offset = self.offset;
        rows.map(move |(student, teacher)| {
            (
                student.get(offset..).unwrap_or_default(),
                teacher.get(offset..).unwrap_or_default(),
            )
        })
    }
}

fn pack<'a, T: Copy + Sync>(
    to: &'a mut Lines<f32>,
    tile: &[T],
    hidden: usize,
    first: usize,
    widen: impl Fn(T) -> f32 + Sync,
) -> Result<Panels<'a>, HeadError> {
    if tile
        .par_chunks(hidden)
        .any(|row| row.iter().any(|&w| !widen(w).is_finite()))
    {
        return Err(bad_weight(tile.iter().map(|&w| widen(w)), first, hidden));
    }
    let len = hidden * PANEL;
    to.reserve((tile.len() / hidden).div_ceil(PANEL) * len);
    let panels = to.values_mut().par_chunks_mut(len);
    let tiles = tile.par_chunks(PANEL * hidden);
    panels
        .zip(tiles)
        .for_each(|(to, from)| pack_values(to, from, hidden, &widen));
    Ok(Panels::Values(to.values()))
}

/// Names the first weight of the rows that is not finite; it may belong to a neighbouring tile.
fn check_rows(
    packed: &Packed<'_>,
    first: usize,
    rows: usize,
    hidden: usize,
) -> Result<(), HeadError> {
    for row in first..first + rows {
        let values: Vec<f32> = match packed {
            Packed::Bf16(w) => w.row(row).into_iter().flatten().map(widen).collect(),
            Packed::F32(w) => w.row(row).into_iter().flatten().collect(),
        };
        if values.iter().any(|w| !w.is_finite()) {
            return Err(bad_weight(values.into_iter(), row, hidden));
        }
    }
    Ok(())
}
