//! How do the bytes of a tensor become numbers of another type?

use std::borrow::Cow;
use std::ops::Range;

use candle_core::quantized::QTensor;
use candle_core::{Device, Tensor};
use half::{bf16, f16};
use rayon::prelude::*;

use super::{Kept, Stored, gguf};
use crate::linear::{Matrix, PackedMatrix};

/// Bytes, or elements, that one task takes at least. A multiple of every element's size.
const BLOCK: usize = 1 << 16;

/// The bytes of one tensor, or of some rows of it, in row-major order.
#[derive(Debug, Clone)]
pub(super) struct Raw<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    pub(super) stored: Stored,
}

impl Raw<'_> {
    /// To f32, which holds every bf16 and f16 exactly; blocks are dequantised.
    pub(super) fn to_f32(&self) -> candle_core::Result<Vec<f32>> {
        Ok(match self.stored {
            Stored::F32 | Stored::Other(_) => self.map(f32_at),
            Stored::Bf16 => self.map(|b| bf16_at(b).to_f32()),
            Stored::F16 => self.map(|b| f16_at(b).to_f32()),
            Stored::Blocks(dtype) => gguf::numbers(dtype, &self.bytes)?,
        })
    }

    /// To bf16, rounding to nearest even where the file holds more.
    pub(super) fn to_bf16(&self) -> candle_core::Result<Vec<bf16>> {
        Ok(match self.stored {
            Stored::Bf16 => self.map(bf16_at),
            Stored::F16 => self.map(|b| bf16::from_f32(f16_at(b).to_f32())),
            Stored::F32 | Stored::Other(_) => self.map(|b| bf16::from_f32(f32_at(b))),
            Stored::Blocks(_) => self.to_f32()?.into_par_iter().map(bf16::from_f32).collect(),
        })
    }

    /// To f16, rounding to nearest even; a weight beyond 65504 becomes infinite.
    pub(super) fn to_f16(&self) -> candle_core::Result<Vec<f16>> {
        Ok(match self.stored {
            Stored::F16 => self.map(f16_at),
            Stored::Bf16 => self.map(|b| f16::from_f32(bf16_at(b).to_f32())),
            Stored::F32 | Stored::Other(_) => self.map(|b| f16::from_f32(f32_at(b))),
            Stored::Blocks(_) => self.to_f32()?.into_par_iter().map(f16::from_f32).collect(),
        })
    }

    /// A matrix `[rows, width]` in the type it is to be kept in.
    pub(super) fn matrix(
        &self,
        kept: Kept,
        dims: (usize, usize),
        device: &Device,
    ) -> candle_core::Result<Matrix> {
        let cpu = device.is_cpu();
        Ok(match kept {
            Kept::F32 if cpu => Matrix::Packed(PackedMatrix::of_f32(&self.to_f32()?, dims)?),
            Kept::Bf16 if cpu => Matrix::Packed(PackedMatrix::of_bf16(&self.to_bf16()?, dims)?),
            Kept::F32 => Matrix::Dense(Tensor::from_vec(self.to_f32()?, dims, device)?),
            Kept::Bf16 => Matrix::Dense(Tensor::from_vec(self.to_bf16()?, dims, device)?),
            Kept::F16 => Matrix::Dense(Tensor::from_vec(self.to_f16()?, dims, device)?),
            Kept::Blocks(dtype) if self.stored == Stored::Blocks(dtype) => {
                let storage = gguf::storage(dtype, &self.bytes, device)?;
                Matrix::quantised(QTensor::new(storage, dims)?)?
            }
            Kept::Blocks(dtype) => {
                let values = Tensor::from_vec(self.to_f32()?, dims, &Device::Cpu)?;
                Matrix::quantised(QTensor::quantize_onto(&values, dtype, device)?)?
            }
        })
    }

    /// Rows `part` of matrix `index` out of several `[rows, columns]`, which may each be stored transposed.
    pub(super) fn slice(
        &self,
        (rows, columns): (usize, usize),
        index: usize,
        part: Range<usize>,
        transposed: bool,
    ) -> Raw<'_> {
        let bytes_of = |values: usize| match self.stored {
            Stored::Blocks(dtype) => values / dtype.block_size() * dtype.type_size(),
            _ => values * self.size(),
        };
        let matrix = bytes_of(rows * columns);
        let matrix = self
            .bytes
            .get(index * matrix..(index + 1) * matrix)
            .unwrap_or_default();
        let bytes = if transposed {
            // Out of [columns, rows]: value (row, column) stands at column * rows + row.
            let size = self.size();
            let mut out = Vec::with_capacity(part.len() * columns * size);
            for row in part {
                for column in 0..columns {
                    let at = (column * rows + row) * size;
                    out.extend_from_slice(matrix.get(at..at + size).unwrap_or_default());
                }
            }
            Cow::Owned(out)
        } else {
            let range = bytes_of(part.start * columns)..bytes_of(part.end * columns);
            Cow::Borrowed(matrix.get(range).unwrap_or_default())
        };
        Raw {
            bytes,
            stored: self.stored,
        }
    }

    fn size(&self) -> usize {
        match self.stored {
            Stored::F32 | Stored::Other(_) => 4,
            _ => 2,
        }
    }

    fn map<T: Send>(&self, read: impl Fn(&[u8]) -> T + Sync + Send) -> Vec<T> {
        let elements = self.bytes.par_chunks_exact(self.size());
        elements.with_min_len(BLOCK).map(read).collect()
    }

    /// How many elements are NaN or infinite, and the first of them. Blocks are not looked into: what they spoil is found
    /// when the model runs.
    pub(super) fn not_finite(&self) -> Option<(usize, usize)> {
        match self.stored {
            Stored::F32 => self.first(|b| !f32_at(b).is_finite()),
            Stored::Bf16 => self.first(|b| !bf16_at(b).is_finite()),
            Stored::F16 => self.first(|b| !f16_at(b).is_finite()),
            Stored::Blocks(_) | Stored::Other(_) => None,
        }
    }

    /// As [`not_finite`](Self::not_finite), for weights that f16 cannot hold.
    pub(super) fn beyond_f16(&self) -> Option<(usize, usize)> {
        match self.stored {
            Stored::F32 => self.first(|b| f16::from_f32(f32_at(b)).is_infinite()),
            Stored::Bf16 => self.first(|b| f16::from_f32(bf16_at(b).to_f32()).is_infinite()),
            _ => None,
        }
    }

    fn first(&self, bad: impl Fn(&[u8]) -> bool + Sync) -> Option<(usize, usize)> {
        let size = self.size();
        // A look at all without a branch, which the compiler turns into a few wide instructions; details only on a hit.
        let block = |bytes: &[u8]| bytes.chunks_exact(size).fold(false, |any, b| any | bad(b));
        if !self.bytes.par_chunks(BLOCK).any(block) {
            return None;
        }
        let chunks = self.bytes.par_chunks_exact(size).enumerate();
        let hits = chunks.filter(|(_, b)| bad(b)).map(|(i, _)| (1usize, i));
        hits.reduce_with(|a, b| (a.0 + b.0, a.1.min(b.1)))
    }
}

fn f32_at(b: &[u8]) -> f32 {
    b.try_into().map_or(f32::NAN, f32::from_le_bytes)
}

fn bf16_at(b: &[u8]) -> bf16 {
    b.try_into().map_or(bf16::NAN, bf16::from_le_bytes)
}

fn f16_at(b: &[u8]) -> f16 {
    b.try_into().map_or(f16::NAN, f16::from_le_bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::quantized::GgmlDType;

    use super::*;
    use crate::linear::Linear;

    fn raw(values: &[f32]) -> Raw<'static> {
        Raw {
            bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            stored: Stored::F32,
        }
    }

    fn wave(len: usize, step: f32) -> Vec<f32> {
        (0..len).map(|i| (i as f32 * step).sin()).collect()
    }

    /// Each offered type against the product in f64; the bounds are those of 8, 7, 3 and 4 bits a weight.
    #[test]
    fn products_in_every_type_stay_near_f64() {
        let (rows, width, n) = (8, 512, 3);
        let (weight, x) = (wave(rows * width, 0.7), wave(n * width, 1.3));
        let dot = |a: &[f32], b: &[f32]| -> f64 {
            a.iter()
                .zip(b)
                .map(|(a, b)| f64::from(*a) * f64::from(*b))
                .sum()
        };
        let exact: Vec<f64> = x
            .chunks(width)
            .flat_map(|x| weight.chunks(width).map(|w| dot(x, w)).collect::<Vec<_>>())
            .collect();
        let input = Tensor::from_slice(&x, (n, width), &Device::Cpu).unwrap();
        for (kept, bound) in [
            (Kept::F32, 1e-4),
            (Kept::F16, 0.01),
            (Kept::Bf16, 0.1),
            (Kept::Blocks(GgmlDType::Q8_0), 0.4),
            (Kept::Blocks(GgmlDType::Q4K), 4.0),
        ] {
            let matrix = raw(&weight)
                .matrix(kept, (rows, width), &Device::Cpu)
                .unwrap();
            let got = Linear::new(matrix, None).forward(&input).unwrap();
            let got = got.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            let gaps = got
                .iter()
                .zip(&exact)
                .map(|(a, b)| (f64::from(*a) - b).abs());
            let gap = gaps.fold(0.0, f64::max);
            println!("{kept:?}: {gap:.1e}");
            assert!(gap < bound, "{kept:?}: {gap}");
            assert!(
                kept == Kept::F32 || gap > 1e-6,
                "{kept:?}: nothing was rounded"
            );
        }
    }

    #[test]
    fn slices_of_both_layouts_are_the_same_rows() {
        let (rows, columns) = (4, 6);
        let plain = wave(2 * rows * columns, 0.3);
        let turned: Vec<f32> = (0..2)
            .flat_map(|e| (0..columns).flat_map(move |c| (0..rows).map(move |r| (e, r, c))))
            .map(|(e, r, c)| plain[e * rows * columns + r * columns + c])
            .collect();
        let (plain, turned) = (raw(&plain), raw(&turned));
        for (index, part) in [(0, 0..4), (1, 0..2), (1, 2..4)] {
            let a = plain.slice((rows, columns), index, part.clone(), false);
            let b = turned.slice((rows, columns), index, part.clone(), true);
            assert_eq!(a.to_f32().unwrap(), b.to_f32().unwrap());
            assert_eq!(a.to_f32().unwrap().len(), part.len() * columns);
        }
    }

    #[test]
    fn what_no_type_holds_is_counted() {
        let mut values = wave(100, 0.1);
        values[7] = f32::NAN;
        values[70] = f32::INFINITY;
        assert_eq!(raw(&values).not_finite(), Some((2, 7)));
        values[7] = 65504.0;
        values[70] = -7e4;
        assert_eq!(raw(&values).not_finite(), None);
        assert_eq!(raw(&values).beyond_f16(), Some((1, 70)));
    }
}
