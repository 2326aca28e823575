//! What is `activations * weight^T`, at the rate of the hardware and with bits that depend on nothing but
//! the row and the weight?
//!
//! The weight is packed once ([`PackedBf16`], [`PackedF32`]) at its own size. An output is a fixed chain of
//! f32 sums along the shared dimension, so a row gets the same bits alone or among others, on one thread or on
//! many, in one call or in several. bf16 products are exact in f32; where bf16 meets
//! bf16 on [`Path::Avx512Bf16`] and [`Path::Amx`] denormals are 0, elsewhere they are kept.
//!
//! [`Path::Avx512Bf16`]: crate::Path::Avx512Bf16
//! [`Path::Amx`]: crate::Path::Amx

#![allow(unsafe_code)]

mod activations;
mod drive;
mod matrix;
mod pack;
mod product;

pub use activations::Activations;
pub use pack::{PackedBf16, PackedF32};
pub(crate) use pack::{pack_values, pack_words};

pub(crate) use drive::{Buffers, Grid, Panels};

use std::mem::MaybeUninit;

use crate::memory::{filled, writable};
use crate::shape::expect_shape;
use crate::simd::Kernels;
use crate::{Path, ShapeError};

/// A packed weight `[out, in]`.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Packed<'a> {
    /// bf16.
    Bf16(&'a PackedBf16),
    /// Single precision.
    F32(&'a PackedF32),
}

impl Packed<'_> {
    /// Rows of the weight: values of an output row.
    #[must_use]
    pub fn out(&self) -> usize {
        match self {
            Self::Bf16(w) => w.out(),
            Self::F32(w) => w.out(),
        }
    }

    /// Columns of the weight: values of an activation row.
    #[must_use]
    pub fn input(&self) -> usize {
        match self {
            Self::Bf16(w) => w.input(),
            Self::F32(w) => w.input(),
        }
    }

    /// Whether every value is finite.
    #[must_use]
    pub fn finite(&self) -> bool {
        match self {
            Self::Bf16(w) => w.finite(),
            Self::F32(w) => w.finite(),
        }
    }
}

impl<'a> From<&'a PackedBf16> for Packed<'a> {
    fn from(weight: &'a PackedBf16) -> Self {
        Self::Bf16(weight)
    }
}

impl<'a> From<&'a PackedF32> for Packed<'a> {
    fn from(weight: &'a PackedF32) -> Self {
        Self::F32(weight)
    }
}

/// `out [rows, weight.out()] = activations [rows, weight.input()] * weight^T` on [`Path::current`] and the
/// current rayon pool.
///
/// # Errors
/// [`ShapeError`] when the activations are not whole rows or `out` has another number of them.
///
/// ```
/// use spare_kernels::gemm::{Activations, PackedF32, gemm};
///
/// let weight = PackedF32::pack(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2)?;
/// let mut out = [0.0; 3];
/// gemm(Activations::F32(&[10.0, 1.0]), &weight, &mut out)?;
/// assert_eq!(out, [12.0, 34.0, 56.0]);
/// # Ok::<(), spare_kernels::ShapeError>(())
/// ```
pub fn gemm<'a>(
    activations: Activations<'_>,
    weight: impl Into<Packed<'a>>,
    out: &mut [f32],
) -> Result<(), ShapeError> {
    gemm_on(Path::current(), activations, weight, out)
}

/// [`gemm()`] on a path of choice; on the portable one where this CPU lacks it.
///
/// # Errors
/// As [`gemm()`].
pub fn gemm_on<'a>(
    path: Path,
    activations: Activations<'_>,
    weight: impl Into<Packed<'a>>,
    out: &mut [f32],
) -> Result<(), ShapeError> {
    let weight = weight.into();
    let rows = rows_of(activations, weight)?;
    expect_shape("out", out.len(), rows, weight.out())?;
    run(path, activations, weight, writable(out));
    Ok(())
}

/// [`gemm()`] into a new buffer, `[rows, weight.out()]`, which is written once.
///
/// # Errors
/// [`ShapeError`] when the activations are not whole rows.
pub fn product<'a>(
    activations: Activations<'_>,
    weight: impl Into<Packed<'a>>,
) -> Result<Vec<f32>, ShapeError> {
    let weight = weight.into();
    let rows = rows_of(activations, weight)?;
    // SAFETY: a product writes all its outputs, `weight.out()` for each of its rows.
    unsafe {
        filled(rows * weight.out(), |out| {
            run(Path::current(), activations, weight, out);
            Ok(())
        })
    }
}

fn rows_of(activations: Activations<'_>, weight: Packed<'_>) -> Result<usize, ShapeError> {
    let input = weight.input();
    if !activations.len().is_multiple_of(input) {
        return Err(ShapeError::Rows {
            found: activations.len(),
            columns: input,
        });
    }
    Ok(activations.len() / input)
}

/// `out` holds the outputs of all rows.
fn run(path: Path, activations: Activations<'_>, weight: Packed<'_>, out: &mut [MaybeUninit<f32>]) {
    let rows = activations.len() / weight.input();
    if rows > 0 {
        Grid {
            kernels: Kernels::of(path),
            panels: weight.into(),
            columns: weight.out(),
            input: weight.input(),
            rows,
        }
        .run(activations, out);
    }
}
