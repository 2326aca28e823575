//! Is every tensor there once, in the right shape, finite, and used?

use std::collections::BTreeSet;

use candle_core::{DType, Device, Tensor};
use half::{bf16, f16};
use rayon::prelude::*;
use safetensors::Dtype;

use super::shards::{Entry, Shard};
use super::{Checkpoint, WeightDtype, WeightProblem};
use crate::ModelError;
use crate::head::Table;

/// From this many parameters on [`WeightDtype::Auto`] keeps bf16 weights in bf16.
const AUTO_BF16_FROM: u64 = 1_500_000_000;

/// Buffers that older exports wrote along; they are recomputed, never read.
const IGNORED_SUFFIXES: [&str; 2] = ["rotary_emb.inv_freq", "rotary_pos_emb.inv_freq"];

/// Hands out tensors by name. A model is built twice with the same code: first over [`Weights::checking`], which only
/// collects every problem, then over [`Weights::loading`], which reads.
#[derive(Debug)]
pub(crate) struct Weights<'a> {
    checkpoint: &'a Checkpoint,
    device: Device,
    mode: Mode,
    used: BTreeSet<String>,
    problems: Vec<WeightProblem>,
    parameters: u64,
    all_bf16: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Check,
    Load { bf16: bool },
}

/// What a checking pass found out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checked {
    pub(crate) parameters: u64,
    pub(crate) bf16: bool,
}

/// `x · weightᵀ + bias` with the weight as it is kept, `[out, in]`.
#[derive(Debug, Clone)]
pub(crate) struct Linear {
    pub(crate) weight: Tensor,
    pub(crate) bias: Option<Tensor>,
}

impl<'a> Weights<'a> {
    pub(crate) fn checking(checkpoint: &'a Checkpoint) -> Self {
        Self {
            checkpoint,
            device: Device::Cpu,
            mode: Mode::Check,
            used: BTreeSet::new(),
            problems: checkpoint.problems.clone(),
            parameters: 0,
            all_bf16: true,
        }
    }

    pub(crate) fn loading(checkpoint: &'a Checkpoint, checked: Checked, device: &Device) -> Self {
        Self {
            mode: Mode::Load { bf16: checked.bf16 },
            device: device.clone(),
            ..Self::checking(checkpoint)
        }
    }

    /// All problems as one error, else what was learned.
    pub(crate) fn finish(mut self, wanted: WeightDtype) -> Result<Checked, ModelError> {
        for shard in &self.checkpoint.shards {
            for (name, entry) in &shard.tensors {
                let ignored = IGNORED_SUFFIXES.iter().any(|s| name.ends_with(s));
                if !ignored && !self.used.contains(name) {
                    self.problems.push(WeightProblem::Unexpected {
                        name: name.clone(),
                        found: entry.shape.clone(),
                    });
                }
            }
        }
        if !self.problems.is_empty() {
            return Err(ModelError::Weights {
                place: self.checkpoint.place.clone(),
                problems: self.problems,
            });
        }
        Ok(Checked {
            parameters: self.parameters,
            bf16: match wanted {
                WeightDtype::F32 => false,
                WeightDtype::Bf16 => true,
                WeightDtype::Auto => self.parameters >= AUTO_BF16_FROM && self.all_bf16,
            },
        })
    }

    /// The first of `prefixes` under which `probe` exists; `None` when none has it. Two that have it are a problem.
    pub(crate) fn prefix(
        &mut self,
        part: &'static str,
        prefixes: &[&'static str],
        probe: &str,
    ) -> Option<&'static str> {
        let mut found = prefixes
            .iter()
            .filter(|prefix| self.find(&format!("{prefix}{probe}")).is_some());
        let (first, second) = (found.next().copied(), found.next().copied());
        if let (Some(first), Some(second)) = (first, second) {
            self.problems.push(WeightProblem::Ambiguous {
                part,
                first: first.into(),
                second: second.into(),
            });
        }
        first
    }

    fn find(&self, name: &str) -> Option<(&'a Shard, &'a Entry)> {
        self.checkpoint
            .shards
            .iter()
            .find_map(|shard| Some((shard, shard.tensors.get(name)?)))
    }

    /// Looks `name` up; in a checking pass notes what is wrong and returns `None`.
    fn take(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<Option<(&'a [u8], Dtype)>, ModelError> {
        self.used.insert(name.into());
        let problem = match self.find(name) {
            None => WeightProblem::Missing {
                name: name.into(),
                expected: shape.into(),
            },
            Some((_, entry)) if entry.shape != shape => WeightProblem::Shape {
                name: name.into(),
                found: entry.shape.clone(),
                expected: shape.into(),
            },
            Some((_, entry)) if !matches!(entry.dtype, Dtype::F32 | Dtype::BF16 | Dtype::F16) => {
                WeightProblem::Type {
                    name: name.into(),
                    found: format!("{:?}", entry.dtype),
                }
            }
            Some((shard, entry)) => {
                let bytes = shard.tensor(entry);
                if let Mode::Load { .. } = self.mode {
                    return Ok(Some((bytes, entry.dtype)));
                }
                self.parameters += shape.iter().map(|&n| n as u64).product::<u64>();
                self.all_bf16 &= shape.len() < 2 || entry.dtype == Dtype::BF16;
                match not_finite(bytes, entry.dtype) {
                    None => return Ok(None),
                    Some((count, first)) => WeightProblem::NotFinite {
                        name: name.into(),
                        count,
                        first,
                    },
                }
            }
        };
        self.problems.push(problem);
        match self.mode {
            Mode::Check => Ok(None),
            // Cannot follow a clean checking pass over the same mapped files.
            Mode::Load { .. } => Err(ModelError::Weights {
                place: self.checkpoint.place.clone(),
                problems: std::mem::take(&mut self.problems),
            }),
        }
    }

    /// A vector, widened to f32.
    pub(crate) fn vector(&mut self, name: &str, len: usize) -> Result<Tensor, ModelError> {
        match self.take(name, &[len])? {
            None => Ok(Tensor::zeros(0, DType::F32, &self.device)?),
            Some((bytes, dtype)) => Ok(Tensor::from_vec(widen(bytes, dtype), len, &self.device)?),
        }
    }

    /// A matrix in the type weights are kept in. `shape` is the shape in the file, whose first dimension is the rows.
    pub(crate) fn matrix(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let Some((bytes, dtype)) = self.take(name, shape)? else {
            return Ok(Tensor::zeros(0, DType::F32, &self.device)?);
        };
        let rows = shape.first().copied().unwrap_or(1);
        let dims = (rows, shape.iter().skip(1).product::<usize>());
        Ok(match self.mode {
            Mode::Load { bf16: true } => {
                Tensor::from_vec(narrow(bytes, dtype), dims, &self.device)?
            }
            _ => Tensor::from_vec(widen(bytes, dtype), dims, &self.device)?,
        })
    }

    /// A linear layer; `bias` says whether it has one.
    pub(crate) fn linear(
        &mut self,
        name: &str,
        inputs: usize,
        outputs: usize,
        bias: bool,
    ) -> Result<Linear, ModelError> {
        let weight = self.matrix(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = bias
            .then(|| self.vector(&format!("{name}.bias"), outputs))
            .transpose()?;
        Ok(Linear { weight, bias })
    }

    /// A table that stays on the host: embeddings, learned positions, the head.
    pub(crate) fn table(
        &mut self,
        name: &str,
        rows: usize,
        width: usize,
    ) -> Result<Table, ModelError> {
        let Some((bytes, dtype)) = self.take(name, &[rows, width])? else {
            return Ok(Table::from_f32(width, Vec::new()));
        };
        Ok(match self.mode {
            Mode::Load { bf16: true } => Table::from_bf16(width, narrow(bytes, dtype)),
            _ => Table::from_f32(width, widen(bytes, dtype)),
        })
    }
}

fn f32_at(b: &[u8]) -> f32 {
    b.try_into().map_or(f32::NAN, f32::from_le_bytes)
}

fn bf16_at(b: &[u8]) -> bf16 {
    b.try_into().map_or(bf16::NAN, bf16::from_le_bytes)
}

fn f16_at(b: &[u8]) -> f16 {
    b.try_into().map_or(f16::NAN, f16::from_le_bytes)
}

/// To f32, which holds every bf16 and f16 exactly.
fn widen(bytes: &[u8], dtype: Dtype) -> Vec<f32> {
    match dtype {
        Dtype::F32 => bytes.par_chunks_exact(4).map(f32_at).collect(),
        Dtype::BF16 => bytes
            .par_chunks_exact(2)
            .map(|b| bf16_at(b).to_f32())
            .collect(),
        _ => bytes
            .par_chunks_exact(2)
            .map(|b| f16_at(b).to_f32())
            .collect(),
    }
}

/// To bf16, rounding to nearest even where the file holds more.
fn narrow(bytes: &[u8], dtype: Dtype) -> Vec<bf16> {
    match dtype {
        Dtype::F32 => bytes
            .par_chunks_exact(4)
            .map(|b| bf16::from_f32(f32_at(b)))
            .collect(),
        Dtype::BF16 => bytes.par_chunks_exact(2).map(bf16_at).collect(),
        _ => bytes
            .par_chunks_exact(2)
            .map(|b| bf16::from_f32(f16_at(b).to_f32()))
            .collect(),
    }
}

/// How many elements are NaN or infinite, and the first of them.
fn not_finite(bytes: &[u8], dtype: Dtype) -> Option<(usize, usize)> {
    let scan = |size: usize, bad: fn(&[u8]) -> bool| {
        bytes
            .par_chunks_exact(size)
            .enumerate()
            .filter(|(_, b)| bad(b))
            .map(|(i, _)| (1usize, i))
            .reduce_with(|a, b| (a.0 + b.0, a.1.min(b.1)))
    };
    match dtype {
        Dtype::F32 => scan(4, |b| !f32_at(b).is_finite()),
        Dtype::BF16 => scan(2, |b| !bf16_at(b).is_finite()),
        _ => scan(2, |b| !f16_at(b).is_finite()),
    }
}
