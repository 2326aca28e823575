//! Which numbers do the bytes of an entry stand for?
//!
//! Plain types are widened here; blocks are read by candle, whose formulas equal those of gguf-py bit for bit.

use std::borrow::Cow;

use candle_core::CpuStorage;
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use candle_core::{Device, Error};
use half::{bf16, f16};
use rayon::prelude::*;

use super::entry::{Entry, Transform};

/// Blocks that one task dequantises.
const TASK: usize = 1024;

/// Strictest alignment of a block type (Q8_K has an f32).
const ALIGNMENT: usize = 8;

/// The values of an entry, row-major, from the bytes of its parts.
pub(super) fn f32(entry: &Entry, parts: &[&[u8]]) -> Result<Vec<f32>, Error> {
    let mut values = Vec::with_capacity(entry.elements());
    for (part, bytes) in entry.parts.iter().zip(parts) {
        values.extend(numbers(part.dtype, bytes)?);
    }
    let rows = entry.shape.first().copied().unwrap_or(1);
    Ok(match entry.transform {
        Transform::None | Transform::ConcatRows => values,
        Transform::UnpermuteHeads(heads) => unpermute(&values, rows, heads),
        Transform::JoinTimeSlices => join(&values, slice(entry)),
    })
}

/// A matrix as candle's quantised tensor, in the type that the file has.
pub(super) fn qtensor(entry: &Entry, parts: Vec<&[u8]>, device: &Device) -> Result<QTensor, Error> {
    if entry.dtype().is_none() {
        return Err(Error::Msg("parts of different types".into()));
    }
    if entry.transform == Transform::JoinTimeSlices {
        let message = "a convolution in time slices has no quantised form";
        return Err(Error::Msg(message.into()));
    }
    let (bytes, dtype) = bytes(entry, parts)?;
    QTensor::new(storage(dtype, &bytes, device)?, entry.shape.as_slice())
}

/// The bytes of an entry under its name, and their type. Rows move as they are; parts of several types and the slices of a
/// convolution become f32.
pub(super) fn bytes<'a>(
    entry: &Entry,
    parts: Vec<&'a [u8]>,
) -> Result<(Cow<'a, [u8]>, GgmlDType), Error> {
    let rows = entry.shape.first().copied().unwrap_or(1);
    Ok(match (entry.dtype(), entry.transform, parts.as_slice()) {
        (Some(dtype), Transform::None, [bytes]) => (Cow::Borrowed(*bytes), dtype),
        (Some(dtype), Transform::UnpermuteHeads(heads), [bytes]) => {
            (Cow::Owned(unpermute(bytes, rows, heads)), dtype)
        }
        (Some(dtype), Transform::ConcatRows, parts) => (Cow::Owned(parts.concat()), dtype),
        _ => {
            let values = f32(entry, &parts)?;
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            (Cow::Owned(bytes), GgmlDType::F32)
        }
    })
}

/// Blocks on a device.
pub(in crate::checkpoint) fn storage(
    dtype: GgmlDType,
    bytes: &[u8],
    device: &Device,
) -> Result<QStorage, Error> {
    let (buffer, skip) = aligned(bytes);
    let bytes = buffer.get(skip..skip + bytes.len()).unwrap_or_default();
    QStorage::from_data(bytes.into(), device, dtype)
}

/// Elements of one patch: what alternates between the two time slices.
fn slice(entry: &Entry) -> usize {
    entry.shape.iter().rev().take(2).product()
}

/// Numbers of one type in f32.
pub(in crate::checkpoint) fn numbers(dtype: GgmlDType, bytes: &[u8]) -> Result<Vec<f32>, Error> {
    let two = |read: fn([u8; 2]) -> f32| {
        let pairs = bytes.par_chunks_exact(2);
        pairs
            .map(|b| read(b.try_into().unwrap_or_default()))
            .collect()
    };
    match dtype {
        GgmlDType::F16 => Ok(two(|b| f16::from_le_bytes(b).to_f32())),
        GgmlDType::BF16 => Ok(two(|b| bf16::from_le_bytes(b).to_f32())),
        GgmlDType::F32 => {
            let fours = bytes.par_chunks_exact(4);
            Ok(fours
                .map(|b| f32::from_le_bytes(b.try_into().unwrap_or_default()))
                .collect())
        }
        blocks => {
            let (block, size) = (blocks.block_size(), blocks.type_size());
            let mut values = vec![0f32; bytes.len() / size * block];
            let tasks = values.par_chunks_mut(TASK * block);
            tasks
                .zip(bytes.par_chunks(TASK * size))
                .try_for_each(|(values, bytes)| {
                    values.copy_from_slice(&task(blocks, bytes, values.len())?);
                    Ok::<_, Error>(())
                })?;
            Ok(values)
        }
    }
}

fn task(dtype: GgmlDType, bytes: &[u8], elements: usize) -> Result<Vec<f32>, Error> {
    let (buffer, skip) = aligned(bytes);
    let bytes = buffer.get(skip..skip + bytes.len()).unwrap_or_default();
    match dtype.from_data(bytes.into()).dequantize(elements)? {
        CpuStorage::F32(values) => Ok(values),
        _ => Err(Error::Msg("blocks that are no f32".into())),
    }
}

/// A copy whose bytes begin at the second value, at an address that every block type may have: candle reinterprets
/// bytes in place and panics where the address does not suit.
fn aligned(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut buffer = vec![0; bytes.len() + ALIGNMENT];
    let skip = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    if let Some(room) = buffer.get_mut(skip..skip + bytes.len()) {
        room.copy_from_slice(bytes);
    }
    (buffer, skip)
}

/// Undoes the interleaving of rotary halves. `rows` rows of any width, `heads` heads of an even number of rows.
fn unpermute<T: Copy>(all: &[T], rows: usize, heads: usize) -> Vec<T> {
    let width = all.len() / rows.max(1);
    let dim = rows / heads.max(1);
    let mut out = Vec::with_capacity(all.len());
    for row in 0..rows {
        let (head, half, pair) = (row / dim, row % dim / (dim / 2), row % (dim / 2));
        let from = (head * dim + 2 * pair + half) * width;
        out.extend_from_slice(all.get(from..from + width).unwrap_or_default());
    }
    out
}

/// Lays pieces of `piece` elements of the first and of the second half of `all` in turn.
fn join<T: Copy>(all: &[T], piece: usize) -> Vec<T> {
    let (first, second) = all.split_at(all.len() / 2);
    let pairs = first.chunks(piece.max(1)).zip(second.chunks(piece.max(1)));
    pairs
        .flat_map(|(a, b)| a.iter().chain(b))
        .copied()
        .collect()
}
