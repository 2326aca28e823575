//! How does the gate let the MLP's inner values through?

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::lanes::exp;
use super::{values, with_values};

/// Values that a thread takes at least.
const PART: usize = 1 << 14;

/// `silu(gate) * up`.
pub(crate) fn swiglu(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    gate.contiguous()?.apply_op2(&up.contiguous()?, SwiGlu)
}

struct SwiGlu;

impl CustomOp2 for SwiGlu {
    fn name(&self) -> &'static str {
        "trained_swiglu"
    }

    fn cpu_fwd(
        &self,
        gate: &CpuStorage,
        layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (gate, up) = (values(gate, layout)?, values(up, up_layout)?);
        let pairs = gate.par_iter().zip(up).with_min_len(PART);
        let out = pairs.map(|(g, u)| g * sigmoid(*g) * u).collect();
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(
        &self,
        gate: &Tensor,
        up: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let (dg, du): (Vec<f32>, Vec<f32>) = with_values(gate, |gate| {
            with_values(up, |up| {
                with_values(grad, |grad| {
                    let all = gate.par_iter().zip(up).zip(grad).with_min_len(PART);
                    Ok(all
                        .map(|((g, u), d)| {
                            let s = sigmoid(*g);
                            (d * u * s * (1.0 + g * (1.0 - s)), d * g * s)
                        })
                        .unzip())
                })
            })
        })?;
        let tensor = |v: Vec<f32>| Tensor::from_vec(v, gate.dims(), gate.device());
        Ok((Some(tensor(dg)?), Some(tensor(du)?)))
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}
