//! How does one half of a gated layer open the other, and how does a tower bend its values?

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
        let (mut last, last_up) = (padded(rest), padded(rest_up));
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

/// The tanh approximation of GELU, in place, on [`Path::current`].
pub fn gelu_tanh(x: &mut [f32]) {
    gelu_tanh_on(Path::current(), x);
}

/// [`gelu_tanh`] on a path of choice; on the portable one where this CPU lacks it.
pub fn gelu_tanh_on(path: Path, x: &mut [f32]) {
    let kernels = Kernels::of(path);
    let chunk = |x: &mut [f32]| {
        let (whole, rest) = x.as_chunks_mut::<16>();
        // SAFETY: `whole` holds 16 values a chunk and is ours alone; `Kernels::of` gives functions that this
        // CPU runs.
        unsafe { (kernels.gelu)(16 * whole.len(), whole.as_mut_ptr().cast()) };
        let mut last = padded(rest);
        // SAFETY: an array of 16 values.
        unsafe { (kernels.gelu)(16, last.as_mut_ptr()) };
        for (to, from) in rest.iter_mut().zip(last) {
            *to = from;
        }
    };
    if x.len() < LARGE {
        chunk(x);
    } else {
        x.par_chunks_mut(CHUNK).for_each(chunk);
    }
}

/// Up to 16 values, the rest 0.
fn padded(values: &[f32]) -> [f32; 16] {
    let mut out = [0.0; 16];
    for (to, from) in out.iter_mut().zip(values) {
        *to = *from;
    }
    out
}
