//! What is added to every row, and what do all rows together ask of it?

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::{min_rows, values, with_values};

/// Rows whose gradients are added up together: a fixed number, so that sums come out alike on any number of threads.
const PART: usize = 64;

/// `x + bias` for every row of the last dimension. The sum over rows that its gradient needs is candle's slowest reduction.
pub(crate) fn add_bias(x: &Tensor, bias: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op2(bias, Bias)
}

struct Bias;

impl CustomOp2 for Bias {
    fn name(&self) -> &'static str {
        "trained_bias"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, bias) = (values(x, x_layout)?, values(bias, bias_layout)?);
        let width = bias.len().max(1);
        if x_layout.shape().dims().last() != Some(&width) {
            candle_core::bail!("a bias of {width} values for {:?}", x_layout.shape());
        }
        let mut out = vec![0f32; x.len()];
        out.par_chunks_mut(width)
            .zip(x.par_chunks(width))
            .with_min_len(min_rows(width))
            .for_each(|(out, row)| {
                for ((out, v), bias) in out.iter_mut().zip(row).zip(bias) {
                    *out = v + bias;
                }
            });
        Ok((CpuStorage::F32(out), x_layout.shape().clone()))
    }

    fn bwd(
        &self,
        _: &Tensor,
        bias: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let width = bias.elem_count().max(1);
        let sums = with_values(grad, |grad| {
            let parts: Vec<Vec<f32>> = grad
                .par_chunks(PART * width)
                .map(|rows| summed(rows.chunks(width), width))
                .collect();
            Ok(summed(parts.iter().map(Vec::as_slice), width))
        })?;
        let sums = Tensor::from_vec(sums, bias.dims(), bias.device())?;
        Ok((Some(grad.clone()), Some(sums)))
    }
}

fn summed<'a>(rows: impl Iterator<Item = &'a [f32]>, width: usize) -> Vec<f32> {
    let mut sums = vec![0f32; width];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    sums
}
