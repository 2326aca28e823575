//! How much does each row look at each column?

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::lanes::{dot, exp, sum, top};
use super::{min_rows, values, with_values};

/// What a row may look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Every column.
    All,
    /// Rows come in stretches of the number of columns; row i of a stretch sees columns 0 to i.
    Causal,
}

/// `softmax(scale * scores)` over the last dimension, zero where a row does not see.
pub(crate) fn softmax(scores: &Tensor, scale: f32, sight: Sight) -> Result<Tensor> {
    scores.contiguous()?.apply_op1(Softmax { scale, sight })
}

struct Softmax {
    scale: f32,
    sight: Sight,
}

impl Softmax {
    /// Columns that a row sees.
    fn seen(&self, row: usize, columns: usize) -> usize {
        match self.sight {
            Sight::All => columns,
            Sight::Causal => row % columns.max(1) + 1,
        }
    }
}

impl CustomOp1 for Softmax {
    fn name(&self) -> &'static str {
        "trained_softmax"
    }

    fn cpu_fwd(&self, scores: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let scores = values(scores, layout)?;
        let columns = layout.shape().dims().last().copied().unwrap_or(1).max(1);
        let mut out = vec![0f32; scores.len()];
        out.par_chunks_mut(columns)
            .zip(scores.par_chunks(columns))
            .with_min_len(min_rows(columns))
            .enumerate()
            .for_each(|(row, (out, scores))| {
                let seen = self.seen(row, columns);
                let scores = first(seen, scores);
                let top = top(scores);
                let out = out.get_mut(..seen).unwrap_or_default();
                for (out, x) in out.iter_mut().zip(scores) {
                    *out = exp(self.scale * (x - top));
                }
                let share = sum(out).recip();
                out.iter_mut().for_each(|out| *out *= share);
            });
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, shares: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let columns = shares.dims().last().copied().unwrap_or(1).max(1);
        let out = with_values(shares, |shares| {
            with_values(grad, |grad| {
                let mut out = vec![0f32; shares.len()];
                out.par_chunks_mut(columns)
                    .zip(shares.par_chunks(columns))
                    .zip(grad.par_chunks(columns))
                    .with_min_len(min_rows(columns))
                    .enumerate()
                    .for_each(|(row, ((out, shares), grad))| {
                        let seen = self.seen(row, columns);
                        let (shares, grad) = (first(seen, shares), first(seen, grad));
                        let mean = dot(shares, grad);
                        for ((out, p), g) in out.iter_mut().zip(shares).zip(grad) {
                            *out = self.scale * p * (g - mean);
                        }
                    });
                Ok(out)
            })
        })?;
        Ok(Some(Tensor::from_vec(out, shares.dims(), shares.device())?))
    }
}

fn first(seen: usize, row: &[f32]) -> &[f32] {
    row.get(..seen).unwrap_or(row)
}
