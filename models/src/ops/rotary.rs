//! How are queries and keys turned by their positions?

use candle_core::{CpuStorage, CustomOp3, D, Error, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::{min_rows, values};

/// Rotates `x` `[n, heads, d]` by the half-width tables `cos` and `sin` `[n, d/2]` (dimension j pairs with j + d/2) and
/// returns it head-major, `[heads, n, d]`, as attention wants it.
pub(crate) fn rotate_heads(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    if x.device().is_cpu() {
        x.apply_op3_no_bwd(cos, sin, &Rotate)
    } else {
        composed(x, cos, sin)
    }
}

fn composed(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
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

struct Rotate;

impl CustomOp3 for Rotate {
    fn name(&self) -> &'static str {
        "rotate_heads_f32"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        cos: &CpuStorage,
        cos_layout: &Layout,
        sin: &CpuStorage,
        sin_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (n, heads, d) = x_layout.shape().dims3()?;
        let half = d / 2;
        let x = values(x, x_layout)?;
        let (cos, sin) = (values(cos, cos_layout)?, values(sin, sin_layout)?);
        if half == 0 || n == 0 || cos.len() != n * half || sin.len() != n * half {
            return Err(Error::Msg(format!(
                "rotary tables of {} values for {n} positions of width {d}",
                cos.len()
            )));
        }
        let mut out = vec![0f32; x.len()];
        out.par_chunks_exact_mut(d)
            .enumerate()
            .with_min_len(min_rows(d))
            .for_each(|(row, out)| {
                // Row `row` of the output is (head, position), of the input (position, head).
                let (head, at) = (row / n, row % n);
                let from = (at * heads + head) * d;
                let Some((low, high)) = x.get(from..from + d).map(|v| v.split_at(half)) else {
                    return;
                };
                let (Some(cos), Some(sin)) = (
                    cos.get(at * half..(at + 1) * half),
                    sin.get(at * half..(at + 1) * half),
                ) else {
                    return;
                };
                let (first, second) = out.split_at_mut(half);
                for (((out, low), high), (cos, sin)) in
                    first.iter_mut().zip(low).zip(high).zip(cos.iter().zip(sin))
                {
                    *out = low * cos - high * sin;
                }
                for (((out, low), high), (cos, sin)) in second
                    .iter_mut()
                    .zip(low)
                    .zip(high)
                    .zip(cos.iter().zip(sin))
                {
                    *out = high * cos + low * sin;
                }
            });
        Ok((CpuStorage::F32(out), Shape::from((heads, n, d))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use candle_core::Device;

    use super::*;

    #[test]
    fn fused_equals_composed_to_the_bit() {
        let device = &Device::Cpu;
        let (n, heads, d) = (5, 3, 8);
        let wave = |len: usize, step: f32| -> Vec<f32> {
            (0..len).map(|i| (i as f32 * step).sin()).collect()
        };
        let x = Tensor::from_vec(wave(n * heads * d, 0.7), (n, heads, d), device).unwrap();
        let cos = Tensor::from_vec(wave(n * d / 2, 0.3), (n, d / 2), device).unwrap();
        let sin = Tensor::from_vec(wave(n * d / 2, 1.1), (n, d / 2), device).unwrap();
        let fused = rotate_heads(&x, &cos, &sin).unwrap();
        let plain = composed(&x, &cos, &sin).unwrap();
        assert_eq!(fused.dims(), [heads, n, d]);
        assert_eq!(
            fused.flatten_all().unwrap().to_vec1::<f32>().unwrap(),
            plain.flatten_all().unwrap().to_vec1::<f32>().unwrap()
        );
    }
}
