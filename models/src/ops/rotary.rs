//! How are queries and keys turned by their positions?

use candle_core::{CpuStorage, D, InplaceOp3, Layout, Result, Tensor};
use spare_kernels::layer::{self, Rotation};

use super::{RmsNorm, failed, values, values_mut};

/// Rotates `x` `[n, heads, d]` by the half-width tables `cos` and `sin` `[n, d/2]` (dimension j pairs with j + d/2) and
/// returns it head-major, `[heads, n, d]`, as attention wants it. With `norm` each head is normed first. `x` is a result that
/// nobody else holds: on the CPU it is changed in place.
pub(crate) fn rotate_heads(
    x: Tensor,
    norm: Option<&RmsNorm>,
    (cos, sin): (&Tensor, &Tensor),
) -> Result<Tensor> {
    if x.device().is_cpu() {
        x.inplace_op3(cos, sin, &Rotate { norm })?;
        // A view: the CPU's attention takes any strides.
        x.transpose(0, 1)
    } else {
        composed(&x, norm, cos, sin)
    }
}

fn composed(x: &Tensor, norm: Option<&RmsNorm>, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let x = match norm {
        Some(norm) => &norm.forward(x)?,
        None => x,
    };
    let half = x.dim(D::Minus1)? / 2;
    let (low, high) = (
        x.narrow(D::Minus1, 0, half)?,
        x.narrow(D::Minus1, half, half)?,
    );
    let (cos, sin) = (cos.unsqueeze(1)?, sin.unsqueeze(1)?);
    let first = (low.broadcast_mul(&cos)? - high.broadcast_mul(&sin)?)?;
    let second = (high.broadcast_mul(&cos)? + low.broadcast_mul(&sin)?)?;
    Tensor::cat(&[first, second], D::Minus1)?
        .transpose(0, 1)?
        .contiguous()
}

struct Rotate<'a> {
    norm: Option<&'a RmsNorm>,
}

impl InplaceOp3 for Rotate<'_> {
    fn name(&self) -> &'static str {
        "rotate_heads_f32"
    }

    fn cpu_fwd(
        &self,
        x: &mut CpuStorage,
        x_layout: &Layout,
        cos: &CpuStorage,
        cos_layout: &Layout,
        sin: &CpuStorage,
        sin_layout: &Layout,
    ) -> Result<()> {
        let (_, heads, d) = x_layout.shape().dims3()?;
        let x = values_mut(x, x_layout)?;
        let rotation = Rotation {
            cos: values(cos, cos_layout)?,
            sin: values(sin, sin_layout)?,
        };
        match self.norm {
            None => layer::rotary(x, heads, d, rotation, None),
            Some(norm) => norm.on_cpu(|norm| layer::rotary(x, heads, d, rotation, Some(norm)))?,
        }
        .map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::Device;

    use super::*;

    #[test]
    fn fused_equals_composed() {
        let device = &Device::Cpu;
        let (n, heads, d) = (5, 3, 8);
        let wave = |len: usize, step: f32| -> Vec<f32> {
            (0..len).map(|i| (i as f32 * step).sin()).collect()
        };
        let x = Tensor::from_vec(wave(n * heads * d, 0.7), (n, heads, d), device).unwrap();
        let cos = Tensor::from_vec(wave(n * d / 2, 0.3), (n, d / 2), device).unwrap();
        let sin = Tensor::from_vec(wave(n * d / 2, 1.1), (n, d / 2), device).unwrap();
        let norm = RmsNorm {
            weight: Tensor::from_vec(wave(d, 0.9), d, device).unwrap(),
            eps: 1e-6,
        };
        for (norm, bound) in [(None, 0.0), (Some(&norm), 1e-6)] {
            let plain = composed(&x, norm, &cos, &sin).unwrap();
            let fused = rotate_heads(x.copy().unwrap(), norm, (&cos, &sin)).unwrap();
            assert_eq!(fused.dims(), [heads, n, d]);
            let gap = (fused.contiguous().unwrap() - plain)
                .unwrap()
                .abs()
                .unwrap();
            let gap = gap.flatten_all().unwrap().max(0).unwrap();
            assert!(gap.to_scalar::<f32>().unwrap() <= bound);
        }
    }
}
