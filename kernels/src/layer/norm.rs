//! How is a row scaled to a root mean square of 1?

use rayon::prelude::*;

use super::LARGE;
use crate::ShapeError;
use crate::shape::expect_shape;

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

    fn apply(&self, row: &[f32], out: &mut [f32]) {
        let factor = self.factor(row);
        for ((out, &x), &w) in out.iter_mut().zip(row).zip(self.weight) {
            *out = x * factor * w;
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

/// `out = x / sqrt(mean(x^2) + epsilon) * weight`, row by row; `x` and `out` are `[rows, width]`.
///
/// # Errors
/// [`ShapeError`] when the weight is empty, `x` is not whole rows, or `out` has another length.
pub fn rms_norm(x: &[f32], norm: RmsNorm<'_>, out: &mut [f32]) -> Result<(), ShapeError> {
    let width = norm.width()?;
    if !x.len().is_multiple_of(width) {
        return Err(ShapeError::Rows {
            found: x.len(),
            columns: width,
        });
    }
    expect_shape("out", out.len(), x.len() / width, width)?;
    if x.len() < LARGE {
        let rows = x.chunks(width).zip(out.chunks_mut(width));
        rows.for_each(|(x, out)| norm.apply(x, out));
    } else {
        let rows = x.par_chunks(width).zip(out.par_chunks_mut(width));
        rows.for_each(|(x, out)| norm.apply(x, out));
    }
    Ok(())
}

/// `residual += delta`, then `out` = [`rms_norm`] of it: the end of one block and the beginning of the next, in
/// one pass. All three are `[rows, width]`.
///
/// # Errors
/// As [`rms_norm`], and when `delta` has another length.
pub fn add_rms_norm(
    residual: &mut [f32],
    delta: &[f32],
    norm: RmsNorm<'_>,
    out: &mut [f32],
) -> Result<(), ShapeError> {
    let width = norm.width()?;
    if !residual.len().is_multiple_of(width) {
        return Err(ShapeError::Rows {
            found: residual.len(),
            columns: width,
        });
    }
    let rows = residual.len() / width;
    expect_shape("delta", delta.len(), rows, width)?;
    expect_shape("out", out.len(), rows, width)?;
    let row = |((residual, delta), out): ((&mut [f32], &[f32]), &mut [f32])| {
        for (x, &delta) in residual.iter_mut().zip(delta) {
            *x += delta;
        }
        norm.apply(residual, out);
    };
    if residual.len() < LARGE {
        let rows = residual.chunks_mut(width).zip(delta.chunks(width));
        rows.zip(out.chunks_mut(width)).for_each(row);
    } else {
        let rows = residual.par_chunks_mut(width).zip(delta.par_chunks(width));
        rows.zip(out.par_chunks_mut(width)).for_each(row);
    }
    Ok(())
}
