//! Is every tensor there once, in the right shape, finite, and used?

use std::collections::BTreeSet;
use std::ops::Range;

use candle_core::{DType, Device, Tensor};

use super::convert::Raw;
use super::source::Source;
use super::{Checkpoint, Kept, Part, Stored, WeightDtype, WeightProblem};
use crate::ModelError;
use crate::head::Table;
use crate::linear::{Linear, Matrix};

/// Buffers that older exports wrote along; they are recomputed, never read.
const IGNORED_SUFFIXES: [&str; 2] = ["rotary_emb.inv_freq", "rotary_pos_emb.inv_freq"];

/// More problems than any half-right checkpoint has; a configuration of billions of layers must not fill the memory with them.
const MOST_PROBLEMS: usize = 100_000;

/// Hands out tensors by name. A model is built twice with the same code: first over [`Weights::checking`], which reads
/// headers only and collects every problem, then over [`Weights::loading`], which reads one tensor after the other.
#[derive(Debug)]
pub(crate) struct Weights<'a> {
    checkpoint: &'a Checkpoint,
    device: Device,
    mode: Mode,
    part: Part,
    used: BTreeSet<String>,
    problems: Vec<WeightProblem>,
    tensors: Vec<Used>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Check,
    Load {
        wanted: WeightDtype,
        parameters: u64,
    },
}

/// A tensor that the model uses, as a checking pass found it.
#[derive(Debug, Clone, Copy)]
struct Used {
    elements: u64,
    width: usize,
    stored: Stored,
    /// `None`: f32 whatever the choice.
    part: Option<Part>,
}

/// What a checking pass found out.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) parameters: u64,
    tensors: Vec<Used>,
}

impl Checked {
    /// Bytes of all weights as `wanted` keeps them.
    pub(crate) fn bytes(&self, wanted: WeightDtype) -> u64 {
        let of = |t: &Used| {
            let kept = t.part.map_or(Kept::F32, |part| {
                Kept::of(wanted, self.parameters, part, t.stored, t.width)
            });
            kept.bytes(t.elements)
        };
        self.tensors.iter().map(of).sum()
    }

    /// The types in which the matrices are stored, with the number of tensors in each, most first.
    pub(crate) fn stored(&self) -> Vec<(String, usize)> {
        let mut counts: Vec<(String, usize)> = Vec::new();
        for tensor in &self.tensors {
            let name = tensor.stored.to_string();
            match counts.iter_mut().find(|(n, _)| *n == name) {
                Some((_, count)) => *count += 1,
                None => counts.push((name, 1)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts
    }

    /// The type that most of the text model's matrices are kept in, for people.
    pub(crate) fn kept(&self, wanted: WeightDtype) -> String {
        let largest = self
            .tensors
            .iter()
            .filter(|t| t.part == Some(Part::Text))
            .max_by_key(|t| t.elements);
        let kept =
            largest.map(|t| Kept::of(wanted, self.parameters, Part::Text, t.stored, t.width));
        match kept {
            None | Some(Kept::F32) => "f32".into(),
            Some(Kept::Bf16) => "bf16".into(),
            Some(Kept::F16) => "f16".into(),
            Some(Kept::Blocks(dtype)) => format!("{dtype:?}").to_lowercase(),
        }
    }
}

/// Several matrices of the same shape in one tensor, such as the experts of a layer.
#[derive(Debug)]
pub(crate) struct Stack<'a> {
    raw: Option<Raw<'a>>,
    name: String,
    /// Whether the file holds each matrix transposed.
    transposed: bool,
    rows: usize,
    columns: usize,
}

impl<'a> Weights<'a> {
    pub(crate) fn checking(checkpoint: &'a Checkpoint) -> Self {
        Self {
            checkpoint,
            device: Device::Cpu,
            mode: Mode::Check,
            part: Part::Text,
            used: BTreeSet::new(),
            problems: checkpoint.problems.clone(),
            tensors: Vec::new(),
        }
    }

    pub(crate) fn loading(
        checkpoint: &'a Checkpoint,
        checked: &Checked,
        wanted: WeightDtype,
        device: &Device,
    ) -> Self {
        Self {
            mode: Mode::Load {
                wanted,
                parameters: checked.parameters,
            },
            device: device.clone(),
            ..Self::checking(checkpoint)
        }
    }

    /// Matrices asked for from now on belong to `part`.
    pub(crate) fn enter(&mut self, part: Part) {
        self.part = part;
    }

    /// What a checking pass learned, and every problem it found.
    pub(crate) fn inspected(mut self) -> (Checked, Vec<WeightProblem>) {
        for (name, source) in Source::all(self.checkpoint) {
            let ignored = IGNORED_SUFFIXES.iter().any(|s| name.ends_with(s));
            if !ignored && !self.used.contains(name) {
                self.problems.push(WeightProblem::Unexpected {
                    name: name.clone(),
                    found: source.shape().into(),
                });
            }
        }
        let parameters = self.tensors.iter().map(|t| t.elements).sum();
        (
            Checked {
                parameters,
                tensors: self.tensors,
            },
            self.problems,
        )
    }

    /// As [`inspected`](Self::inspected); all problems as one error, with those that only the data show.
    pub(crate) fn checked(self) -> Result<Checked, ModelError> {
        let (checkpoint, used) = (self.checkpoint, self.used.clone());
        let (checked, mut problems) = self.inspected();
        for shard in checkpoint.shards.iter().filter(|shard| !shard.has_data) {
            problems.push(WeightProblem::HeaderOnly {
                file: shard.name().into(),
            });
        }
        if problems.is_empty() {
            return Ok(checked);
        }
        for (name, source) in Source::all(checkpoint).filter(|(name, _)| used.contains(*name)) {
            problems.extend(not_finite(name, &source.raw()?));
        }
        Err(ModelError::Weights {
            place: checkpoint.place.clone(),
            problems,
        })
    }

    /// Ends a loading pass: the weights that turned out to be no numbers.
    pub(crate) fn loaded(self) -> Result<(), ModelError> {
        if self.problems.is_empty() {
            return Ok(());
        }
        Err(ModelError::Weights {
            place: self.checkpoint.place.clone(),
            problems: self.problems,
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
            .filter(|prefix| self.has(&format!("{prefix}{probe}")));
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

    /// Whether there is a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn find(&self, name: &str) -> Option<Source<'a>> {
        Source::find(self.checkpoint, name)
    }

    /// Looks `name` up. A checking pass notes it, or what is wrong with it, and returns `None`. `part` is `None` for
    /// tensors that are f32 whatever the choice.
    fn take(
        &mut self,
        name: &str,
        shape: &[usize],
        part: Option<Part>,
    ) -> Result<Option<Raw<'a>>, ModelError> {
        self.used.insert(name.into());
        let problem = match self.find(name) {
            None => WeightProblem::Missing {
                name: name.into(),
                expected: shape.into(),
            },
            Some(source) if source.shape() != shape => WeightProblem::Shape {
                name: name.into(),
                found: source.shape().into(),
                expected: shape.into(),
            },
            Some(source) if matches!(source.stored(), Stored::Other(_)) => WeightProblem::Type {
                name: name.into(),
                found: source.stored().to_string(),
            },
            Some(source) => match self.mode {
                Mode::Check => {
                    self.tensors.push(Used {
                        elements: shape.iter().map(|&n| n as u64).product(),
                        width: shape.iter().skip(1).product(),
                        stored: source.stored(),
                        part,
                    });
                    return Ok(None);
                }
                Mode::Load { .. } => {
                    let raw = source.raw()?;
                    self.problems.extend(not_finite(name, &raw));
                    return Ok(Some(raw));
                }
            },
        };
        self.problems.push(problem);
        match self.mode {
            Mode::Check if self.problems.len() < MOST_PROBLEMS => Ok(None),
            // In a loading pass: cannot follow a clean checking pass over the same mapped files.
            _ => Err(ModelError::Weights {
                place: self.checkpoint.place.clone(),
                problems: std::mem::take(&mut self.problems),
            }),
        }
    }

    /// Gives the pages of a tensor back once it has been read.
    fn release(&self, name: &str) {
        if let Some(source) = self.find(name) {
            source.release();
        }
    }

    fn kept(&self, part: Part, stored: Stored, width: usize) -> Kept {
        match self.mode {
            Mode::Check => Kept::F32,
            Mode::Load { wanted, parameters } => Kept::of(wanted, parameters, part, stored, width),
        }
    }

    /// The type of keys and values: bf16 beside bf16 weights on another device than the CPU, else f32.
    pub(crate) fn cache_dtype(&self) -> DType {
        let narrow = self.kept(Part::Text, Stored::Bf16, 1) == Kept::Bf16;
        if narrow && !self.device.is_cpu() {
            DType::BF16
        } else {
            DType::F32
        }
    }

    /// Notes weights that f16 cannot hold, where they are to be kept in it.
    fn note_overflow(&mut self, name: &str, raw: &Raw, kept: Kept) {
        if kept == Kept::F16
            && let Some((count, first)) = raw.beyond_f16()
        {
            self.problems.push(WeightProblem::BeyondF16 {
                name: name.into(),
                count,
                first,
            });
        }
    }

    /// A vector, widened to f32.
    pub(crate) fn vector(&mut self, name: &str, len: usize) -> Result<Tensor, ModelError> {
        self.f32s(name, &[len])
    }

    /// A matrix that is f32 whatever the choice, because a small difference in it changes what is computed.
    pub(crate) fn exact(
        &mut self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Tensor, ModelError> {
        self.f32s(name, &[rows, columns])
    }

    fn f32s(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, ModelError> {
        let Some(raw) = self.take(name, shape, None)? else {
            return Ok(Tensor::zeros(0, DType::F32, &self.device)?);
        };
        let tensor = Tensor::from_vec(raw.to_f32()?, shape, &self.device)?;
        self.release(name);
        Ok(tensor)
    }

    /// A matrix in the type weights are kept in. `shape` is the shape in the file, whose first dimension is the rows.
    pub(crate) fn matrix(&mut self, name: &str, shape: &[usize]) -> Result<Matrix, ModelError> {
        let Some(raw) = self.take(name, shape, Some(self.part))? else {
            return Ok(Matrix::Dense(Tensor::zeros(0, DType::F32, &self.device)?));
        };
        let rows = shape.first().copied().unwrap_or(1);
        let width = shape.iter().skip(1).product::<usize>();
        let kept = self.kept(self.part, raw.stored, width);
        self.note_overflow(name, &raw, kept);
        let matrix = raw.matrix(kept, (rows, width), &self.device)?;
        self.release(name);
        Ok(matrix)
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
        Ok(Linear::new(weight, bias))
    }

    /// A table that stays on the host: embeddings, learned positions, the head.
    pub(crate) fn table(
        &mut self,
        name: &str,
        rows: usize,
        width: usize,
    ) -> Result<Table, ModelError> {
        let Some(raw) = self.take(name, &[rows, width], Some(Part::Table))? else {
            return Ok(Table::empty(width));
        };
        let kept = self.kept(Part::Table, raw.stored, width);
        self.note_overflow(name, &raw, kept);
        let table = match kept {
            Kept::Bf16 => Table::from_bf16(width, &raw.to_bf16()?)?,
            Kept::F16 => Table::from_f16(width, raw.to_f16()?),
            Kept::F32 | Kept::Blocks(_) => Table::from_f32(width, &raw.to_f32()?)?,
        };
        self.release(name);
        Ok(table)
    }

    /// `count` matrices `[rows, columns]` in one tensor, each as it is or transposed; the shape says which, and where it
    /// cannot the checkpoint is refused.
    pub(crate) fn stack(
        &mut self,
        name: &str,
        count: usize,
        (rows, columns): (usize, usize),
    ) -> Result<Stack<'a>, ModelError> {
        let (plain, turned) = ([count, rows, columns], [count, columns, rows]);
        let transposed = self
            .find(name)
            .is_some_and(|source| source.shape() == turned);
        if rows == columns {
            self.problems.push(WeightProblem::SquareExperts {
                name: name.into(),
                side: rows,
            });
        }
        let shape = if transposed { turned } else { plain };
        Ok(Stack {
            raw: self.take(name, &shape, Some(self.part))?,
            name: name.into(),
            transposed,
            rows,
            columns,
        })
    }

    /// Rows `part` of matrix `index` of a stack.
    pub(crate) fn slice(
        &mut self,
        stack: &Stack,
        index: usize,
        part: Range<usize>,
    ) -> Result<Matrix, ModelError> {
        let Some(raw) = &stack.raw else {
            return Ok(Matrix::Dense(Tensor::zeros(0, DType::F32, &self.device)?));
        };
        let (rows, columns) = (stack.rows, stack.columns);
        let piece = raw.slice((rows, columns), index, part.clone(), stack.transposed);
        let kept = self.kept(self.part, piece.stored, columns);
        self.note_overflow(&stack.name, &piece, kept);
        Ok(piece.matrix(kept, (part.len(), columns), &self.device)?)
    }

    /// Gives the pages of a stack back once its matrices have been read.
    pub(crate) fn done(&self, stack: &Stack) {
        self.release(&stack.name);
    }
}

fn not_finite(name: &str, raw: &Raw) -> Option<WeightProblem> {
    let (count, first) = raw.not_finite()?;
    Some(WeightProblem::NotFinite {
        name: name.into(),
        count,
        first,
    })
}
