//! How are the states of a layer and what a block adds to them brought together?

use rayon::prelude::*;

use super::LARGE;
use crate::ShapeError;
use crate::shape::expect_shape;

/// Values of a task: 64 KB.
const CHUNK: usize = 1 << 14;

/// `to += x`, value by value.
///
/// # Errors
/// [`ShapeError`] when the lengths differ.
pub fn add_to(to: &mut [f32], x: &[f32]) -> Result<(), ShapeError> {
    expect_shape("x", x.len(), 1, to.len())?;
    let add = |(to, x): (&mut [f32], &[f32])| {
        for (to, x) in to.iter_mut().zip(x) {
            *to += x;
        }
    };
    if to.len() < LARGE {
        add((to, x));
    } else {
        let chunks = to.par_chunks_mut(CHUNK).zip(x.par_chunks(CHUNK));
        chunks.for_each(add);
    }
    Ok(())
}
