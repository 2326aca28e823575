//! How do f32 hidden states and a weight become f64 logits, a tile at a time ([`Precision::Double`])?
//!
//! Products of two f32 are exact in f64, so the only rounding is that of the f64 sums (about 1e-14 for
//! logits of 50).
//!
//! [`Precision::Double`]: super::Precision::Double

use half::{bf16, f16};
use rayon::prelude::*;

use super::{HeadError, Weight};
use crate::gemm::Packed;

/// Logits of both contexts of one block of tokens over one tile of the vocabulary, and what they are made
/// of. The buffers are allocated once and used for every tile.
#[derive(Debug)]
pub(super) struct Logits {
    hidden: usize,
    tile_rows: usize,
    /// `[2 * tokens, hidden]`: the student's rows, then the teacher's.
    states: Vec<f64>,
    /// `[tile_rows, hidden]`
    tile: Vec<f64>,
    /// `[2 * tokens, tile_rows]`
    logits: Vec<f64>,
}

impl Logits {
    pub(super) fn new(tokens: usize, tile_rows: usize, hidden: usize) -> Self {
        Self {
            hidden,
            tile_rows,
            states: vec![0.0; 2 * tokens * hidden],
            tile: vec![0.0; tile_rows * hidden],
            logits: vec![0.0; 2 * tokens * tile_rows],
        }
    }
}

impl super::Tile for Logits {
    type Logit = f64;

    /// Takes the hidden states `[tokens, hidden]` of the next block; the last one may be shorter.
    fn set_states(&mut self, student: &[f32], teacher: &[f32]) {
        self.states.truncate(student.len() + teacher.len());
        self.logits
            .truncate(self.states.len() / self.hidden * self.tile_rows);
        let (first, second) = self.states.split_at_mut(student.len());
        for (to, from) in [(first, student), (second, teacher)] {
            to.par_chunks_mut(self.hidden)
                .zip(from.par_chunks(self.hidden))
                .for_each(|(to, from)| {
                    for (to, &from) in to.iter_mut().zip(from) {
                        *to = f64::from(from);
                    }
                });
        }
    }

    /// Computes the logits of the `rows` vocabulary entries from `first` on.
    ///
    /// A last, shorter tile leaves old rows behind it in the buffer and multiplies the whole of it: every
    /// product then has the same shape, so equal weight rows give equal logits wherever they stand.
    ///
    /// # Errors
    /// [`HeadError::Weight`] when a weight of the tile is NaN or infinite.
    fn compute(&mut self, weight: &Weight<'_>, first: usize, rows: usize) -> Result<(), HeadError> {
        let range = first * self.hidden..(first + rows) * self.hidden;
        match weight {
            Weight::F32(all) => self.load(all.get(range).unwrap_or_default(), first, |w| w)?,
            Weight::Bf16(all) => self.load(all.get(range).unwrap_or_default(), first, widen)?,
            Weight::F16(all) => {
                self.load(all.get(range).unwrap_or_default(), first, f16::to_f32)?
            }
            Weight::Packed(Packed::Bf16(packed)) => {
                let rows = (first..first + rows).filter_map(|row| packed.row(row));
                let tile: Vec<bf16> = rows.flatten().collect();
                self.load(&tile, first, widen)?;
            }
            Weight::Packed(Packed::F32(packed)) => {
                let rows = (first..first + rows).filter_map(|row| packed.row(row));
                let tile: Vec<f32> = rows.flatten().collect();
                self.load(&tile, first, |w| w)?;
            }
        }
        self.multiply();
        Ok(())
    }

    /// Student and teacher logits of each token, `tile_rows` a row.
    fn rows(&self) -> impl IndexedParallelIterator<Item = (&[f64], &[f64])> {
        let (student, teacher) = self.logits.split_at(self.logits.len() / 2);
        student
            .par_chunks(self.tile_rows)
            .zip(teacher.par_chunks(self.tile_rows))
    }
}

impl Logits {
    fn load<T: Copy + Sync>(
        &mut self,
        from: &[T],
        first: usize,
        widen: impl Fn(T) -> f32 + Sync,
    ) -> Result<(), HeadError> {
        let rows = self
            .tile
            .par_chunks_mut(self.hidden)
            .zip(from.par_chunks(self.hidden));
        let finite = rows
            .map(|(to, from)| {
                let mut finite = true;
                for (to, &from) in to.iter_mut().zip(from) {
                    let w = widen(from);
                    finite &= w.is_finite();
                    *to = f64::from(w);
                }
                finite
            })
            .reduce(|| true, |a, b| a & b);
        if finite {
            return Ok(());
        }
        Err(super::bad_weight(
            from.iter().map(|&w| widen(w)),
            first,
            self.hidden,
        ))
    }

    /// `logits = states * tile^T`
    #[allow(unsafe_code)]
    fn multiply(&mut self) {
        let (m, k) = (self.tile_rows, self.hidden);
        let n = self.states.len() / k;
        debug_assert!(
            self.tile.len() == m * k && self.states.len() == n * k && self.logits.len() == m * n
        );
        let (m_, k_) = (m.cast_signed(), k.cast_signed());
        // SAFETY: in column-major words this is dst [m, n] = lhs [m, k] * rhs [k, n] with dst[i + j m],
        // lhs[l + i k], rhs[l + j k]; the three buffers hold m n, m k and n k values (see `new` and
        // `set_states`), are disjoint, and dst is not read because `read_dst` is false.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                self.logits.as_mut_ptr(),
                m_,
                1,
                false,
                self.tile.as_ptr(),
                1,
                k_,
                self.states.as_ptr(),
                k_,
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::Rayon(0),
            );
        }
    }
}

/// bf16 is the upper half of an f32.
pub(super) fn widen(w: bf16) -> f32 {
    f32::from_bits(u32::from(w.to_bits()) << 16)
}
