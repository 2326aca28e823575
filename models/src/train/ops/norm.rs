//! How are rows normalised, and how does a normalised row hang on the one it was?

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::lanes::{dot, spread, sum};
use super::{add_bias, min_rows, values, with_values};

/// `x / sqrt(mean(x²) + eps) * weight` over the last dimension.
pub(crate) fn rms_norm(x: &Tensor, weight: &Tensor, eps: f64) -> Result<Tensor> {
    let norm = Norm {
        eps,
        centred: false,
    };
    x.contiguous()?.apply_op2(weight, norm)
}

/// `(x - mean) / sqrt(variance + eps) * weight + bias` over the last dimension.
pub(crate) fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f64) -> Result<Tensor> {
    let norm = Norm { eps, centred: true };
    add_bias(&x.contiguous()?.apply_op2(weight, norm)?, bias)
}

struct Norm {
    eps: f64,
    centred: bool,
}

impl Norm {
    /// Mean (0 where rows are not centred) and `1 / sqrt(mean square + eps)`.
    fn scale(&self, row: &[f32]) -> (f32, f32) {
        let width = row.len().max(1) as f64;
        let mean = match self.centred {
            true => f64::from(sum(row)) / width,
            false => 0.0,
        };
        let squares = spread(row, mean as f32);
        let scale = (f64::from(squares) / width + self.eps).sqrt().recip();
        (mean as f32, scale as f32)
    }
}

impl CustomOp2 for Norm {
    fn name(&self) -> &'static str {
        "trained_norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, weight) = (values(x, x_layout)?, values(weight, weight_layout)?);
        let width = weight.len().max(1);
        let mut out = vec![0f32; x.len()];
        out.par_chunks_mut(width)
            .zip(x.par_chunks(width))
            .with_min_len(min_rows(width))
            .for_each(|(out, row)| {
                let (mean, scale) = self.scale(row);
                for ((out, v), weight) in out.iter_mut().zip(row).zip(weight) {
                    *out = (v - mean) * scale * weight;
                }
            });
        Ok((CpuStorage::F32(out), x_layout.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let width = weight.elem_count().max(1);
        let (dx, dw) = with_values(x, |x| {
            with_values(weight, |weight| {
                with_values(grad, |grad| Ok(self.gradients(x, weight, grad, width)))
            })
        })?;
        let dx = Tensor::from_vec(dx, x.dims(), x.device())?;
        let dw = Tensor::from_vec(dw, weight.dims(), x.device())?;
        Ok((Some(dx), Some(dw)))
    }
}

impl Norm {
    fn gradients(
        &self,
        x: &[f32],
        weight: &[f32],
        grad: &[f32],
        width: usize,
    ) -> (Vec<f32>, Vec<f32>) {
        let mut dx = vec![0f32; x.len()];
        // A fixed number of rows a part, so that sums come out alike on any number of threads.
        let part = 64 * width;
        let parts: Vec<Vec<f32>> = dx
            .par_chunks_mut(part)
            .zip(x.par_chunks(part))
            .zip(grad.par_chunks(part))
            .map(|((dx, x), grad)| {
                let mut dw = vec![0f32; width];
                let rows = dx.chunks_mut(width).zip(x.chunks(width));
                for ((dx, row), grad) in rows.zip(grad.chunks(width)) {
                    self.row(dx, &mut dw, row, weight, grad);
                }
                dw
            })
            .collect();
        let mut dw = vec![0f32; width];
        for part in parts {
            dw.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
        (dx, dw)
    }

    /// With n the normalised row and h = grad * weight: dx = scale * (h - mean(h) - n * mean(h * n)), the first mean only where centred.
    fn row(&self, dx: &mut [f32], dw: &mut [f32], row: &[f32], weight: &[f32], grad: &[f32]) {
        let (mean, scale) = self.scale(row);
        for (((dx, dw), v), grad) in dx.iter_mut().zip(dw).zip(row).zip(grad) {
            *dx = grad * (v - mean) * scale;
            *dw += *dx;
        }
        let width = row.len().max(1) as f32;
        let shift = match self.centred {
            true => dot(grad, weight) / width,
            false => 0.0,
        };
        let pull = dot(dx, weight) / width;
        for (((dx, v), weight), grad) in dx.iter_mut().zip(row).zip(weight).zip(grad) {
            let n = (v - mean) * scale;
            *dx = scale * (grad * weight - shift - n * pull);
        }
    }
}
