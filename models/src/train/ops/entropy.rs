//! How surprised is the model by what stands there?

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, Error, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::lanes::{exp, top};
use super::{values, with_values};

/// The weighted mean of `-log softmax(logits)[target]` in nats, for `logits` `[rows, classes]` and one `(target, weight)` a row.
pub(crate) fn cross_entropy(logits: &Tensor, targets: Arc<Vec<(u32, f32)>>) -> Result<Tensor> {
    let total: f64 = targets.iter().map(|t| f64::from(t.1)).sum();
    if total <= 0.0 {
        return Err(Error::Msg("no target has a weight above 0".into()));
    }
    logits.contiguous()?.apply_op1(Entropy {
        targets,
        total: total as f32,
    })
}

struct Entropy {
    targets: Arc<Vec<(u32, f32)>>,
    total: f32,
}

/// `log(sum(exp(row)))`, f64 inside.
fn log_sum(row: &[f32]) -> f32 {
    let top = top(row);
    let sum: f64 = row.iter().map(|x| f64::from(exp(x - top))).sum();
    top + sum.ln() as f32
}

impl CustomOp1 for Entropy {
    fn name(&self) -> &'static str {
        "trained_cross_entropy"
    }

    fn cpu_fwd(&self, logits: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, classes) = layout.shape().dims2()?;
        if rows != self.targets.len() {
            candle_core::bail!("{} targets for {rows} rows", self.targets.len());
        }
        if let Some((target, _)) = self.targets.iter().find(|t| t.0 as usize >= classes) {
            candle_core::bail!("target {target}, expected below {classes}");
        }
        let losses: Vec<f64> = values(logits, layout)?
            .par_chunks(classes.max(1))
            .zip(self.targets.par_iter())
            .map(|(row, (target, weight))| {
                let x = row.get(*target as usize).copied().unwrap_or(f32::NAN);
                f64::from(log_sum(row) - x) * f64::from(*weight)
            })
            .collect();
        let mean = losses.iter().sum::<f64>() / f64::from(self.total);
        Ok((CpuStorage::F32(vec![mean as f32]), Shape::from(())))
    }

    fn bwd(&self, logits: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let grad = grad.to_scalar::<f32>()? / self.total;
        let (_, classes) = logits.dims2()?;
        let out = with_values(logits, |logits| {
            let mut out = vec![0f32; logits.len()];
            out.par_chunks_mut(classes.max(1))
                .zip(logits.par_chunks(classes.max(1)))
                .zip(self.targets.par_iter())
                .for_each(|((out, row), (target, weight))| {
                    let (log_sum, scale) = (log_sum(row), grad * weight);
                    for (out, x) in out.iter_mut().zip(row) {
                        *out = exp(x - log_sum) * scale;
                    }
                    if let Some(out) = out.get_mut(*target as usize) {
                        *out -= scale;
                    }
                });
            Ok(out)
        })?;
        Ok(Some(Tensor::from_vec(out, logits.dims(), logits.device())?))
    }
}
