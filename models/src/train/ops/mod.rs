//! Which operations have both a value and a gradient?
//!
//! The fused operations of inference have no backward pass and are never used here. These have one, written beside the value, and a test
//! holds each of them against central differences; the whole model is held against PyTorch in `tests/train`.

mod bias;
mod entropy;
mod gelu;
mod lanes;
mod norm;
mod rotary;
mod softmax;
mod swiglu;

use candle_core::{CpuStorage, Error, Layout, Result, Storage, Tensor};

pub(super) use bias::add_bias;
pub(super) use entropy::cross_entropy;
pub(super) use gelu::gelu_tanh;
pub(super) use norm::{layer_norm, rms_norm};
pub(super) use rotary::{Angles, rotate};
pub(super) use softmax::{Sight, softmax};
pub(super) use swiglu::swiglu;

/// Rows that a thread takes at least.
fn min_rows(width: usize) -> usize {
    (16_384 / width.max(1)).max(1)
}

/// The values of a contiguous f32 storage.
fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let data = storage.as_slice::<f32>()?;
    layout
        .contiguous_offsets()
        .and_then(|(start, end)| data.get(start..end))
        .ok_or_else(|| Error::Msg("a trained operation needs a contiguous tensor".into()))
}

/// Hands the values of an f32 tensor on the CPU to `read`.
pub(super) fn with_values<T>(tensor: &Tensor, read: impl FnOnce(&[f32]) -> Result<T>) -> Result<T> {
    let tensor = tensor.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => read(values(storage, layout)?),
        _ => Err(Error::Msg("training runs on the CPU".into())),
    }
}

#[cfg(test)]
mod tests;
