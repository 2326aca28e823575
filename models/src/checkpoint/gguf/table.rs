//! Which tensors does a GGUF file hold, and can they all lie where the table puts them?

use std::ops::Range;

use candle_core::quantized::GgmlDType;

use super::bytes::{Cursor, Malformed, malformed, shown};
use super::types;

const MAX_NAME: u64 = 256;
const MAX_DIMS: u32 = 4;

/// One row of the table of tensors.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorInfo<'a> {
    /// Name.
    pub name: &'a str,
    /// Dimensions, slowest first: the reverse of the file's order, the order of safetensors.
    pub shape: Vec<usize>,
    /// Type of the numbers.
    pub dtype: GgmlDType,
    /// Bytes of the file that hold them.
    pub bytes: Range<usize>,
}

/// A row of the table before the data's place is known.
struct Row<'a> {
    name: &'a str,
    shape: Vec<usize>,
    dtype: GgmlDType,
    size: u64,
    offset: u64,
}

impl<'a> Row<'a> {
    fn read(cursor: &mut Cursor<'a>, index: u64) -> Result<Self, Malformed> {
        let name = cursor.string(1..=MAX_NAME);
        let name = name.map_err(|fault| fault.at(format!("name of tensor {index}")))?;
        let place = || format!("tensor {}", shown(name));
        let dims = cursor.u32().map_err(|fault| fault.at(place()))?;
        if !(1..=MAX_DIMS).contains(&dims) {
            let expected = format!("1 to {MAX_DIMS} dimensions");
            return Err(malformed(place(), format!("{dims} dimensions"), expected));
        }
        let mut shape = Vec::with_capacity(dims as usize);
        for _ in 0..dims {
            shape.push(cursor.u64().map_err(|fault| fault.at(place()))?);
        }
        let id = cursor.u32().map_err(|fault| fault.at(place()))?;
        let dtype = types::of(id)
            .map_err(|found| malformed(place(), found, format!("one of {}", types::names())))?;
        let offset = cursor.u64().map_err(|fault| fault.at(place()))?;

        let row = shape.first().copied().unwrap_or_default();
        if !row.is_multiple_of(dtype.block_size() as u64) {
            let found = format!("rows of {row} numbers in {}", types::name(dtype));
            let expected = format!("a multiple of {}", dtype.block_size());
            return Err(malformed(place(), found, expected));
        }
        let elements = shape.iter().try_fold(1u64, |n, dim| n.checked_mul(*dim));
        let size = elements
            .filter(|n| *n > 0)
            .and_then(|n| types::bytes(dtype, n))
            .filter(|n| i64::try_from(*n).is_ok());
        let Some(size) = size else {
            let expected = "dimensions from 1 whose product is below 2^63 bytes";
            return Err(malformed(
                place(),
                format!("dimensions {shape:?}"),
                expected,
            ));
        };
        // No dimension is above the size, which the next check holds against the file.
        let shape = shape.iter().rev().map(|n| *n as usize).collect();
        Ok(Self {
            name,
            shape,
            dtype,
            size,
            offset,
        })
    }

    fn place(self, start: u64, alignment: u64, file: usize) -> Result<TensorInfo<'a>, Malformed> {
        let place = || format!("tensor {}", shown(self.name));
        if !self.offset.is_multiple_of(alignment) {
            let expected = format!("a multiple of {alignment}");
            return Err(malformed(
                place(),
                format!("offset {}", self.offset),
                expected,
            ));
        }
        let begin = start.checked_add(self.offset);
        let range = begin.and_then(|begin| {
            let end = usize::try_from(begin.checked_add(self.size)?).ok()?;
            (end <= file).then_some(usize::try_from(begin).ok()?..end)
        });
        let Some(bytes) = range else {
            let found = format!(
                "{} bytes at offset {} of the data, which begins at byte {start}",
                self.size, self.offset
            );
            let expected = format!("bytes of a file of {file}");
            return Err(malformed(place(), found, expected));
        };
        Ok(TensorInfo {
            name: self.name,
            shape: self.shape,
            dtype: self.dtype,
            bytes,
        })
    }
}

/// The rows of the table and what they say about the data behind it.
pub(super) fn read<'a>(
    cursor: &mut Cursor<'a>,
    count: u64,
    alignment: u64,
    file: usize,
) -> Result<Vec<TensorInfo<'a>>, Malformed> {
    let rows = (0..count)
        .map(|i| Row::read(cursor, i))
        .collect::<Result<Vec<_>, _>>()?;
    let start = (cursor.position() as u64).next_multiple_of(alignment);
    let tensors = rows
        .into_iter()
        .map(|row| row.place(start, alignment, file))
        .collect::<Result<Vec<_>, _>>()?;
    disjoint(&tensors)?;
    Ok(tensors)
}

/// No name twice, no byte twice.
fn disjoint(tensors: &[TensorInfo<'_>]) -> Result<(), Malformed> {
    let mut sorted: Vec<&TensorInfo<'_>> = tensors.iter().collect();
    sorted.sort_by_key(|tensor| tensor.name);
    for pair in sorted.windows(2) {
        if let [first, second] = pair
            && first.name == second.name
        {
            let place = format!("tensor {}", shown(first.name));
            return Err(malformed(place, "it twice", "each name once"));
        }
    }
    sorted.sort_by_key(|tensor| tensor.bytes.start);
    for pair in sorted.windows(2) {
        if let [first, second] = pair
            && second.bytes.start < first.bytes.end
        {
            let place = format!("tensor {}", shown(second.name));
            let found = format!("bytes {:?}", second.bytes);
            let expected = format!(
                "bytes after those of {}, {:?}",
                shown(first.name),
                first.bytes
            );
            return Err(malformed(place, found, expected));
        }
    }
    Ok(())
}
