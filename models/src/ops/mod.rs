//! Which numbers come out of a layer? Everything here is f32.
//!
//! Each operation has a composed form out of tensor-library calls, which runs on any device, and one that hands the CPU's slices to
//! `spare-kernels`. Tests hold that one against f64 and against the composed one.
//! The library's own norms and softmax are not used: they are one-pass or accumulate in the storage type.

mod activation;
mod attention;
mod norm;
mod rotary;
mod softmax;
mod sum;

use candle_core::{CpuStorage, Error, Layout, Result};

pub(crate) use activation::{gelu_erf, gelu_quick, gelu_tanh, swiglu};
pub(crate) use attention::{Sight, attention, attention_to, watched};
pub(crate) use norm::{LayerNorm, RmsNorm};
pub(crate) use rotary::rotate_heads;
pub(crate) use sum::added;

/// The values of a contiguous f32 tensor.
pub(crate) fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let data = storage.as_slice::<f32>()?;
    layout
        .contiguous_offsets()
        .and_then(|(start, end)| data.get(start..end))
        .ok_or_else(|| Error::Msg("a fused operation needs a contiguous tensor".into()))
}

/// The same, to be changed in place: for a tensor that nobody else holds.
pub(crate) fn values_mut<'a>(
    storage: &'a mut CpuStorage,
    layout: &Layout,
) -> Result<&'a mut [f32]> {
    let CpuStorage::F32(data) = storage else {
        return Err(Error::Msg("a fused operation needs f32".into()));
    };
    layout
        .contiguous_offsets()
        .and_then(|(start, end)| data.get_mut(start..end))
        .ok_or_else(|| Error::Msg("a fused operation needs a contiguous tensor".into()))
}

/// What a kernel refuses, as an error of the tensor library.
pub(crate) fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::wrap(error)
}

/// Rows a thread takes at least, so that small tensors are not split.
fn min_rows(width: usize) -> usize {
    (16_384 / width.max(1)).max(1)
}
