//! How is a head turned by its position?

use rayon::prelude::*;

use super::{LARGE, RmsNorm};
use crate::ShapeError;
use crate::shape::expect_shape;

/// Angles of each row, of half a head's width: value `i` turns with value `i + size / 2`.
#[derive(Debug, Clone, Copy)]
pub struct Rotation<'a> {
    /// `[rows, size / 2]`
    pub cos: &'a [f32],
    /// `[rows, size / 2]`
    pub sin: &'a [f32],
}

/// Turns every head of `x [rows, heads, size]` in place; with `norm` (`weight [size]`) each head is first
/// brought to a root mean square of 1, as Qwen3 does, in the same pass.
///
/// # Errors
/// [`ShapeError`] when a size is 0 or odd, or a slice has the wrong length.
pub fn rotary(
    x: &mut [f32],
    heads: usize,
    size: usize,
    rotation: Rotation<'_>,
    norm: Option<RmsNorm<'_>>,
) -> Result<(), ShapeError> {
    let half = size / 2;
    for (what, size) in [("heads", heads), ("half of the head size", half)] {
        if size == 0 {
            return Err(ShapeError::Zero { what });
        }
    }
    let width = heads.saturating_mul(size);
    if !x.len().is_multiple_of(width) {
        return Err(ShapeError::Rows {
            found: x.len(),
            columns: width,
        });
    }
    let rows = x.len() / width;
    expect_shape("cos", rotation.cos.len(), rows, half)?;
    expect_shape("sin", rotation.sin.len(), rows, half)?;
    expect_shape("head size", size, 2, half)?;
    if let Some(norm) = norm {
        expect_shape("norm weight", norm.weight.len(), 1, size)?;
    }
    let row = |((x, cos), sin): ((&mut [f32], &[f32]), &[f32])| {
        for head in x.chunks_exact_mut(size) {
            if let Some(norm) = norm {
                let factor = norm.factor(head);
                for (x, &w) in head.iter_mut().zip(norm.weight) {
                    *x = *x * factor * w;
                }
            }
            let (first, second) = head.split_at_mut(half);
            for (((a, b), &cos), &sin) in first.iter_mut().zip(second).zip(cos).zip(sin) {
                (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
            }
        }
    };
    let Rotation { cos, sin } = rotation;
    if x.len() < LARGE {
        let rows = x.chunks_mut(width).zip(cos.chunks(half));
        rows.zip(sin.chunks(half)).for_each(row);
    } else {
        let rows = x.par_chunks_mut(width).zip(cos.par_chunks(half));
        rows.zip(sin.par_chunks(half)).for_each(row);
    }
    Ok(())
}
