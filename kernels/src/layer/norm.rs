//! How is a row scaled to a root mean square of 1?
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::LARGE;
use crate::ShapeError;
use crate::memory::filled;

/// The parameters of an RMSNorm.
#[derive(Debug, Clone, Copy)]
pub struct RmsNorm<'a> {
    /// `[width]`
    pub weight: &'a [f32],
    /// Added to the mean of the squares.
    pub epsilon: f32,
}

impl RmsNorm<'_> {
    /// What the values of a row are multiplied by, before the weight.
    pub(super) fn factor(&self, row: &[f32]) -> f32 {
        // Squares in 16 running f32 sums, whose sum is f64: vectors, and an error that does not grow with
        // the row.
        let (chunks, rest) = row.as_chunks::<16>();
        let mut sums = [0.0_f32; 16];
        for chunk in chunks {
            for (sum, x) in sums.iter_mut().zip(chunk) {
                *sum += x * x;
            }
        }
        for (sum, x) in sums.iter_mut().zip(rest) {
            *sum += x * x;
        }
        let sum: f64 = sums.iter().map(|&x| f64::from(x)).sum();
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]
        let mean = (sum / row.len() as f64) as f32;
        1.0 / (mean + self.epsilon).sqrt()
    }

    fn apply(&self, row: &[f32], out: &mut [MaybeUninit<f32>]) {
        let factor = self.factor(row);
        for ((out, &x), &w) in out.iter_mut().zip(row).zip(self.weight) {
            out.write(x * factor * w);
        }
    }

    fn width(&self) -> Result<usize, ShapeError> {
        if self.weight.is_empty() {
            return Err(ShapeError::Zero {
                what: "norm weight",
            });
        }
        Ok(self.weight.len())
    }
}

/// `x / sqrt(mean(x^2) + epsilon) * weight`, row by row; `x` and the result are `[rows, width]`.
///
/// # Errors
/// [`ShapeError`] when the weight is empty or `x` is not whole rows.
pub fn rms_norm(x: &[f32], norm: RmsNorm<'_>) -> Result<Vec<f32>, ShapeError> {
    let width = norm.width()?;
    if !x.len().is_multiple_of(width) {
        return Err(ShapeError::Rows {
            found: x.len(),
            columns: width,
        });
    }
    // SAFETY: `x` is whole rows of the weight's width, so the rows of `out` meet one each and all their values are written.
    unsafe {
        filled(x.len(), |out| {
            if x.len() < LARGE {
                let rows = x.chunks(width).zip(out.chunks_mut(width));
                rows.for_each(|(x, out)| norm.apply(x, out));
            } else {
                let rows = x.par_chunks(width).zip(out.par_chunks_mut(width));
                rows.for_each(|(x, out)| norm.apply(x, out));
            }
            Ok(())
        })
    }
}
