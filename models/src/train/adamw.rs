//! How far does each weight go (Loshchilov and Hutter, 2019, with decoupled decay)?

use std::collections::BTreeMap;

use candle_core::{Tensor, Var};
use rayon::prelude::*;

use super::TrainError;
use super::ops::with_values;

/// First and second moments of every trained tensor.
#[derive(Debug, Clone, Default)]
pub struct AdamW {
    pub(super) first: BTreeMap<String, Vec<f32>>,
    pub(super) second: BTreeMap<String, Vec<f32>>,
}

/// What one update goes by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) rate: f64,
    pub(super) betas: (f64, f64),
    pub(super) eps: f64,
    /// 0 for vectors: norms and biases do not decay.
    pub(super) decay: f64,
    /// What gradients are multiplied with, from clipping.
    pub(super) scale: f64,
    /// The step, from 1 on.
    pub(super) step: usize,
}

impl AdamW {
    pub(super) fn update(
        &mut self,
        name: &str,
        var: &Var,
        grad: &Tensor,
        pace: Pace,
    ) -> Result<(), TrainError> {
        let count = var.elem_count();
        let zeros = || vec![0f32; count];
        let first = self.first.entry(name.to_owned()).or_insert_with(zeros);
        let second = self.second.entry(name.to_owned()).or_insert_with(zeros);
        let (b1, b2) = (pace.betas.0 as f32, pace.betas.1 as f32);
        let step = pace.step as i32;
        let rate = (pace.rate / (1.0 - pace.betas.0.powi(step))) as f32;
        let root = ((1.0 - pace.betas.1.powi(step)).sqrt().recip()) as f32;
        let keep = (1.0 - pace.rate * pace.decay) as f32;
        let (eps, scale) = (pace.eps as f32, pace.scale as f32);
        let moved = with_values(var.as_tensor(), |weights| {
            with_values(grad, |grad| {
                let moments = first.par_iter_mut().zip(second.par_iter_mut());
                let all = weights.par_iter().zip(grad).zip(moments);
                let all = all.with_min_len(1 << 14);
                Ok(all
                    .map(|((w, g), (m, v))| {
                        let g = g * scale;
                        *m = b1 * *m + (1.0 - b1) * g;
                        *v = b2 * *v + (1.0 - b2) * g * g;
                        w * keep - rate * *m / (v.sqrt() * root + eps)
                    })
                    .collect::<Vec<f32>>())
            })
        })?;
        var.set(&Tensor::from_vec(moved, var.dims(), var.device())?)?;
        Ok(())
    }
}
