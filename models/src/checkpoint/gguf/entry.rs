//! How does a tensor of transformers come out of the tensors of a GGUF file?

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::ops::Range;

use candle_core::quantized::GgmlDType;

use super::table::TensorInfo;
use crate::WeightProblem;

/// A tensor under its name in a transformers checkpoint, and the bytes that it is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Shape, slowest dimension first, as in safetensors.
    pub shape: Vec<usize>,
    /// What is done to the bytes.
    pub transform: Transform,
    /// The pieces, in order.
    pub parts: Vec<Part>,
}

/// Bytes of one file in one type.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// 0 for the text file, 1 for the mmproj.
    pub file: usize,
    /// Type of the numbers.
    pub dtype: GgmlDType,
    /// Where in the file.
    pub bytes: Range<usize>,
}

/// What llama.cpp's converter did to a tensor and is undone. All but [`Transform::JoinTimeSlices`] move whole rows, so
/// they move quantised rows as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transform {
    /// Nothing.
    None,
    /// In each of this many heads the rows of the two rotary halves alternate; transformers has one half behind the
    /// other.
    UnpermuteHeads(usize),
    /// The two parts are the time slices of a `[hidden, 3, 2, patch, patch]` convolution.
    JoinTimeSlices,
    /// The parts are rows, one part behind the other: q, k and v of one projection.
    ConcatRows,
}

impl Entry {
    /// The type of all its parts; `None` where they differ.
    pub fn dtype(&self) -> Option<GgmlDType> {
        let first = self.parts.first()?.dtype;
        let same = self.parts.iter().all(|part| part.dtype == first);
        same.then_some(first)
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }
}

impl Part {
    pub(super) fn of(file: usize, tensor: &TensorInfo<'_>) -> Self {
        Self {
            file,
            dtype: tensor.dtype,
            bytes: tensor.bytes.clone(),
        }
    }
}

/// Entries by name while they are collected, and what was wrong with the tensors.
#[derive(Debug, Default)]
pub(super) struct Entries {
    pub(super) by_name: BTreeMap<String, Entry>,
    pub(super) problems: Vec<WeightProblem>,
}

impl Entries {
    /// Adds an entry; the same name from two tensors is a problem.
    pub(super) fn add(&mut self, name: String, entry: Entry, from: &str) {
        match self.by_name.entry(name) {
            Slot::Vacant(slot) => drop(slot.insert(entry)),
            Slot::Occupied(slot) => self.problems.push(WeightProblem::Duplicate {
                name: slot.key().clone(),
                first: "another tensor".into(),
                second: from.into(),
            }),
        }
    }

    /// Adds a tensor as it is.
    pub(super) fn plain(&mut self, name: String, file: usize, tensor: &TensorInfo<'_>) {
        let entry = Entry {
            shape: tensor.shape.clone(),
            transform: Transform::None,
            parts: vec![Part::of(file, tensor)],
        };
        self.add(name, entry, tensor.name);
    }

    /// A tensor that the architecture has no place for.
    pub(super) fn unexpected(&mut self, tensor: &TensorInfo<'_>) {
        self.problems.push(WeightProblem::Unexpected {
            name: tensor.name.into(),
            found: tensor.shape.clone(),
        });
    }

    /// Adds each of the matrices that are stacked along the first dimension of `tensor` under `name(index)`.
    pub(super) fn stacked(
        &mut self,
        file: usize,
        tensor: &TensorInfo<'_>,
        count: usize,
        name: impl Fn(usize) -> String,
    ) {
        let [stacked, rows, width] = tensor.shape[..] else {
            return self.unexpected(tensor);
        };
        if count == 0 {
            return self.unexpected(tensor);
        }
        if stacked != count {
            self.problems.push(WeightProblem::Shape {
                name: tensor.name.into(),
                found: tensor.shape.clone(),
                expected: vec![count, rows, width],
            });
            return;
        }
        // Rows are whole blocks, so a matrix is a range of bytes.
        let size = tensor.bytes.len() / count;
        for i in 0..count {
            let start = tensor.bytes.start + i * size;
            let entry = Entry {
                shape: vec![rows, width],
                transform: Transform::None,
                parts: vec![Part {
                    file,
                    dtype: tensor.dtype,
                    bytes: start..start + size,
                }],
            };
            self.add(name(i), entry, tensor.name);
        }
    }
}
