//! How does a weight lie in memory so that a product reads it once, from front to back?
//!
//! Panels of 32 outputs; within a panel row after row along the shared dimension, a row being the 32 outputs'
//! values. bf16 rows come in pairs: one 32-bit word holds a value (lower half) and its successor (upper half),
//! which is what `vdpbf16ps` takes. f32 rows are neighbours swapped pair by pair, since the upper half comes first in every sum of
//! bf16: a weight has the same product in both. Missing outputs and a missing last value are 0.

use half::{bf16, f16};
use rayon::prelude::*;

use crate::ShapeError;
use crate::shape::expect_shape;
use crate::simd::PANEL;
use crate::simd::lines::Lines;

/// A weight `[out, in]` in bf16, packed. It takes `2 * in * out` bytes, `in` rounded up to 2 and `out` to 32.
#[derive(Debug, Clone)]
pub struct PackedBf16 {
    words: Lines<u32>,
    out: usize,
    input: usize,
    finite: bool,
}

/// A weight `[out, in]` in f32, packed. It takes `4 * in * out` bytes, `out` rounded up to 32.
#[derive(Debug, Clone)]
pub struct PackedF32 {
    values: Lines<f32>,
    out: usize,
    input: usize,
    finite: bool,
}

fn check(len: usize, out: usize, input: usize) -> Result<(), ShapeError> {
    for (what, size) in [("out", out), ("in", input)] {
        if size == 0 {
            return Err(ShapeError::Zero { what });
        }
    }
    expect_shape("weight", len, out, input)
}

impl PackedBf16 {
    /// Packs `weight [out, in]`, row-major, on the current rayon pool.
    ///
    /// # Errors
    /// [`ShapeError`] when a size is 0 or `weight` does not hold `out * in` values.
    pub fn pack(weight: &[bf16], out: usize, input: usize) -> Result<Self, ShapeError> {
        check(weight.len(), out, input)?;
        let panel = input.div_ceil(2) * PANEL;
        let mut words = Lines::zeroed(out.div_ceil(PANEL) * panel);
        let finite = words
            .values_mut()
            .par_chunks_mut(panel)
            .zip(weight.par_chunks(PANEL * input))
            .map(|(to, from)| {
                pack_words(to, from, input);
                from.iter().all(|w| w.is_finite())
            })
            .reduce(|| true, |a, b| a && b);
        Ok(Self {
            words,
            out,
            input,
            finite,
        })
    }

    /// Rows of the weight: values of an output row.
    #[must_use]
    pub fn out(&self) -> usize {
        self.out
    }

    /// Columns of the weight: values of an activation row.
    #[must_use]
    pub fn input(&self) -> usize {
        self.input
    }

    /// Whether every value is finite.
    #[must_use]
    pub fn finite(&self) -> bool {
        self.finite
    }

    /// Bytes that the packed weight takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(self.words())
    }

    /// Row `row` of the weight, as it was packed; `None` past the end. For a weight that is also an embedding.
    pub fn row(&self, row: usize) -> Option<impl Iterator<Item = bf16> + '_> {
        let pairs = self.input.div_ceil(2);
        let words = (row < self.out)
            .then(|| {
                self.words()
                    .get(row / PANEL * pairs * PANEL + row % PANEL..)
            })
            .flatten()?;
        let halves = words.iter().step_by(PANEL).take(pairs);
        #[allow(clippy::cast_possible_truncation)]
        let both = halves.flat_map(|word| [*word as u16, (word >> 16) as u16]);
        Some(both.take(self.input).map(bf16::from_bits))
    }

    pub(crate) fn words(&self) -> &[u32] {
        self.words.values()
    }
}

impl PackedF32 {
    /// Packs `weight [out, in]`, row-major, on the current rayon pool.
    ///
    /// # Errors
    /// [`ShapeError`] when a size is 0 or `weight` does not hold `out * in` values.
    pub fn pack(weight: &[f32], out: usize, input: usize) -> Result<Self, ShapeError> {
        Self::widened(weight, out, input, |w| w)
    }

    /// The same from f16, widened exactly.
    ///
    /// # Errors
    /// As [`pack`](Self::pack).
    pub fn pack_f16(weight: &[f16], out: usize, input: usize) -> Result<Self, ShapeError> {
        Self::widened(weight, out, input, f16::to_f32)
    }

    fn widened<T: Copy + Sync>(
        weight: &[T],
        out: usize,
        input: usize,
        widen: impl Fn(T) -> f32 + Sync,
    ) -> Result<Self, ShapeError> {
        check(weight.len(), out, input)?;
        let mut values = Lines::zeroed(out.div_ceil(PANEL) * input * PANEL);
        let finite = values
            .values_mut()
            .par_chunks_mut(input * PANEL)
            .zip(weight.par_chunks(PANEL * input))
            .map(|(to, from)| {
                pack_values(to, from, input, &widen);
                from.iter().all(|&w| widen(w).is_finite())
            })
            .reduce(|| true, |a, b| a && b);
        Ok(Self {
            values,
            out,
            input,
            finite,
        })
    }

    /// Rows of the weight: values of an output row.
    #[must_use]
    pub fn out(&self) -> usize {
        self.out
    }

    /// Columns of the weight: values of an activation row.
    #[must_use]
    pub fn input(&self) -> usize {
        self.input
    }

    /// Whether every value is finite.
    #[must_use]
    pub fn finite(&self) -> bool {
        self.finite
    }

    /// Bytes that the packed weight takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(self.values())
    }

    /// Row `row` of the weight, as it was packed; `None` past the end.
    pub fn row(&self, row: usize) -> Option<impl Iterator<Item = f32> + '_> {
        let first = row / PANEL * self.input * PANEL + row % PANEL;
        let values = (row < self.out).then(|| self.values())?;
        let at = move |column| first + step_of(column, self.input) * PANEL;
        Some((0..self.input).filter_map(move |column| values.get(at(column)).copied()))
    }

    pub(crate) fn values(&self) -> &[f32] {
        self.values.values()
    }
}

/// Steps (values, or pairs) of all rows that are packed before the next ones: a cache line of a row, and a
/// part of the panel that stays in the first-level cache.
const STRIDE: usize = 16;

/// One panel of words `[in / 2 up, 32]` from up to 32 rows of a bf16 weight. Values not given stay as they are.
pub(crate) fn pack_words(to: &mut [u32], from: &[bf16], input: usize) {
    for (at, to) in to.chunks_mut(STRIDE * PANEL).enumerate() {
        for (r, row) in from.chunks_exact(input).enumerate() {
            let end = input.min((at + 1) * 2 * STRIDE);
            let row = row.get(at * 2 * STRIDE..end).unwrap_or_default();
            for (word, pair) in to.iter_mut().skip(r).step_by(PANEL).zip(row.chunks(2)) {
                let low = pair.first().map_or(0, |w| u32::from(w.to_bits()));
                let high = pair.get(1).map_or(0, |w| u32::from(w.to_bits()));
                *word = high << 16 | low;
            }
        }
    }
}

/// Which step of an f32 panel holds a column: neighbours change places, a last one without a neighbour stays.
fn step_of(column: usize, input: usize) -> usize {
    let other = column ^ 1;
    if other < input { other } else { column }
}

/// One panel of values `[in, 32]` from up to 32 rows of a weight. Values not given stay as they are.
pub(crate) fn pack_values<T: Copy>(
    to: &mut [f32],
    from: &[T],
    input: usize,
    widen: impl Fn(T) -> f32,
) {
    for (at, to) in to.chunks_mut(STRIDE * PANEL).enumerate() {
        for (r, row) in from.chunks_exact(input).enumerate() {
            let end = input.min((at + 1) * STRIDE);
            let row = row.get(at * STRIDE..end).unwrap_or_default();
            let mut steps = to.iter_mut().skip(r).step_by(PANEL);
            let (pairs, rest) = row.as_chunks::<2>();
            for &[low, high] in pairs {
                // The pair first: `zip` asks its left side before it sees that the right one has ended.
                for (w, value) in [high, low].into_iter().zip(steps.by_ref()) {
                    *value = widen(w);
                }
            }
            for (value, &w) in steps.zip(rest) {
                *value = widen(w);
            }
        }
    }
}
