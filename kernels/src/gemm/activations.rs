//! How do activation rows become the left operand of tiles?
//!
//! Tiles of `Kernels::rows` rows (the last one as many as are left); within a tile step after step along the
//! shared dimension, a step being one value (or word) of every row. The two values of a pair change places, as in
//! the weight.

use half::bf16;

use crate::simd::{DEPTH, Matrices, TILE};

/// Activation rows `[rows, in]`, row-major.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Activations<'a> {
    /// Single precision, taken as it is.
    F32(&'a [f32]),
    /// Single precision, rounded to bf16 (nearest even) before the product: what a model in bf16 computes.
    F32AsBf16(&'a [f32]),
    /// bf16.
    Bf16(&'a [bf16]),
}

impl<'a> Activations<'a> {
    /// Values given.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(x) | Self::F32AsBf16(x) => x.len(),
            Self::Bf16(x) => x.len(),
        }
    }

    /// Whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether every value is a bf16, so that a dot product of bf16 pairs computes the same function.
    pub(crate) fn are_bf16(&self) -> bool {
        !matches!(self, Self::F32(_))
    }

    /// Rows `first..first + rows`; empty where they do not exist.
    pub(crate) fn rows(&self, first: usize, rows: usize, input: usize) -> Self {
        let range = first * input..(first + rows) * input;
        match *self {
            Self::F32(x) => Self::F32(x.get(range).unwrap_or_default()),
            Self::F32AsBf16(x) => Self::F32AsBf16(x.get(range).unwrap_or_default()),
            Self::Bf16(x) => Self::Bf16(x.get(range).unwrap_or_default()),
        }
    }

    /// Packs up to `tile` rows as one tile of f32, the two values of a pair swapped. With `pad` a missing last
    /// one is 0. `to` has room for a tile.
    pub(crate) fn pack(self, to: &mut [f32], tile: usize, input: usize, pad: bool) {
        debug_assert!(self.len() <= tile * input);
        match self {
            Self::F32(x) => pack(to, x, input, pad, |x| x),
            Self::F32AsBf16(x) => pack(to, x, input, pad, |x| bf16::from_f32(x).to_f32()),
            Self::Bf16(x) => pack(to, x, input, pad, bf16::to_f32),
        }
    }

    /// Packs up to 16 rows as one group for tiles of bf16: step after step of 32 values, of every row 16 words, what is
    /// missing in the last step 0. Rows that are not there stay as they are. `to` has room for a group.
    pub(crate) fn pack_tiles(self, to: &mut [u32], matrices: &Matrices, input: usize) {
        match self {
            Self::F32(x) | Self::F32AsBf16(x) => {
                for (r, row) in x.chunks_exact(input).enumerate() {
                    let to = to.get_mut(r * DEPTH / 2..).unwrap_or_default();
                    let steps = input.div_ceil(DEPTH);
                    assert!(to.len() >= (steps - 1) * TILE + DEPTH / 2);
                    // SAFETY: a table gives functions that this CPU runs; the row holds `input` values, and 16 words
                    // are there for every step, as asserted.
                    #[allow(unsafe_code)]
                    unsafe {
                        (matrices.narrow_row)(input, row.as_ptr(), to.as_mut_ptr());
                    }
                }
            }
            Self::Bf16(x) => {
                let half = |x: Option<&bf16>| x.map_or(0, |x| u32::from(x.to_bits()));
                for (r, row) in x.chunks_exact(input).enumerate() {
                    for (step, values) in row.chunks(DEPTH).enumerate() {
                        let words = to.iter_mut().skip(step * TILE + r * DEPTH / 2);
                        let mut pairs = values.chunks(2);
                        for word in words.take(DEPTH / 2) {
                            let pair = pairs.next().unwrap_or_default();
                            *word = half(pair.get(1)) << 16 | half(pair.first());
                        }
                    }
                }
            }
        }
    }

    /// Packs up to `tile` rows as one tile of words of two bf16, rounding f32. `to` has room for a tile.
    pub(crate) fn pack_words(self, to: &mut [u32], tile: usize, input: usize, pairs: usize) {
        debug_assert!(self.len() <= tile * input && to.len() <= tile * pairs);
        match self {
            Self::F32(x) | Self::F32AsBf16(x) => pack_words(to, x, input, bf16::from_f32),
            Self::Bf16(x) => pack_words(to, x, input, |x| x),
        }
    }
}

fn pack<T: Copy>(to: &mut [f32], from: &[T], input: usize, pad: bool, widen: impl Fn(T) -> f32) {
    let rows = from.len() / input;
    for (r, row) in from.chunks_exact(input).enumerate() {
        let (pairs, rest) = row.as_chunks::<2>();
        let mut places = to.chunks_exact_mut(rows);
        let mut put = |value: f32| {
            if let Some(to) = places.next().and_then(|step| step.get_mut(r)) {
                *to = value;
            }
        };
        for &[low, high] in pairs {
            put(widen(high));
            put(widen(low));
        }
        if let &[last] = rest {
            if pad {
                // The missing upper half comes first.
                put(0.0);
            }
            put(widen(last));
        }
    }
}

fn pack_words<T: Copy>(to: &mut [u32], from: &[T], input: usize, narrow: impl Fn(T) -> bf16) {
    let half = |x: Option<&T>| x.map_or(0, |&x| u32::from(narrow(x).to_bits()));
    let rows = from.len() / input;
    for (r, row) in from.chunks_exact(input).enumerate() {
        for (word, pair) in to.iter_mut().skip(r).step_by(rows).zip(row.chunks(2)) {
            *word = half(pair.get(1)) << 16 | half(pair.first());
        }
    }
}
