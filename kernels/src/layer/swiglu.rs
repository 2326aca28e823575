//! How does one half of a gated layer open the other?

#![allow(unsafe_code)]

use rayon::prelude::*;

use super::LARGE;
use crate::shape::expect_shape;
use crate::simd::Kernels;
use crate::{Path, ShapeError};

/// Values of a task: 64 KB.
const CHUNK: usize = 1 << 13;

/// `gate = gate / (1 + exp(-gate)) * up`, on [`Path::current`].
///
/// # Errors
/// [`ShapeError`] when the lengths differ.
pub fn swiglu(gate: &mut [f32], up: &[f32]) -> Result<(), ShapeError> {
    swiglu_on(Path::current(), gate, up)
}

/// [`swiglu`] on a path of choice; on the portable one where this CPU lacks it.
///
/// # Errors
/// As [`swiglu`].
pub fn swiglu_on(path: Path, gate: &mut [f32], up: &[f32]) -> Result<(), ShapeError> {
    expect_shape("up", up.len(), 1, gate.len())?;
    let kernels = Kernels::of(path);
    let chunk = |(gate, up): (&mut [f32], &[f32])| {
        let (whole, rest) = gate.as_chunks_mut::<16>();
        let (whole_up, rest_up) = up.as_chunks::<16>();
        let count = 16 * whole.len().min(whole_up.len());
        // SAFETY: both hold `count` values, a multiple of 16, and `gate` is ours alone; `Kernels::of` gives
        // functions that this CPU runs.
        unsafe { (kernels.swiglu)(count, whole.as_mut_ptr().cast(), whole_up.as_ptr().cast()) };
        let (mut last, mut last_up) = ([0.0; 16], [0.0; 16]);
        for (to, from) in last.iter_mut().zip(rest.iter()) {
            *to = *from;
        }
        for (to, from) in last_up.iter_mut().zip(rest_up) {
            *to = *from;
        }
        // SAFETY: two arrays of 16 values.
        unsafe { (kernels.swiglu)(16, last.as_mut_ptr(), last_up.as_ptr()) };
        for (to, from) in rest.iter_mut().zip(last) {
            *to = from;
        }
    };
    if gate.len() < LARGE {
        chunk((gate, up));
    } else {
        let chunks = gate.par_chunks_mut(CHUNK).zip(up.par_chunks(CHUNK));
        chunks.for_each(chunk);
    }
    Ok(())
}
