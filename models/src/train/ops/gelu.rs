//! How does the tower's blocks' gate let values through?

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;
use spare_kernels::layer;

use super::{values, with_values};

/// Values that a thread takes at least.
const PART: usize = 1 << 14;

/// The tanh approximation of GELU.
pub(crate) fn gelu_tanh(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1(Gelu)
}

struct Gelu;

impl CustomOp1 for Gelu {
    fn name(&self) -> &'static str {
        "trained_gelu"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = values(x, layout)?.to_vec();
        layer::gelu_tanh(&mut out);
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    /// gelu(x) = x s with s = sigmoid(2u) and u = sqrt(2/pi) (x + 0.044715 x^3), so s is had again from the result, and the derivative is
    /// s + x s (1 - s) 2u'.
    fn bwd(&self, x: &Tensor, y: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        const ROOT: f32 = 0.797_884_6;
        const CUBE: f32 = 0.044_715;
        let out: Vec<f32> = with_values(x, |x| {
            with_values(y, |y| {
                with_values(grad, |grad| {
                    let all = x.par_iter().zip(y).zip(grad).with_min_len(PART);
                    let each = all.map(|((x, y), grad)| {
                        let s = if *x == 0.0 { 0.5 } else { y / x };
                        let slope = 2.0 * ROOT * (1.0 + 3.0 * CUBE * x * x);
                        grad * (s + y * (1.0 - s) * slope)
                    });
                    Ok(each.collect())
                })
            })
        })?;
        Ok(Some(Tensor::from_vec(out, x.dims(), x.device())?))
    }
}
