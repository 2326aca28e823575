//! How are heads turned by their position? The gradient is turned back.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::{min_rows, values, with_values};

/// Cosines and sines of every token's angles, `[tokens, head_dim / 2]` each.
#[derive(Debug, Clone)]
pub(crate) struct Angles(Arc<Vec<(f32, f32)>>);

impl Angles {
    pub(crate) fn new(angles: &[f32]) -> Self {
        let pair = |a: &f32| (f64::from(*a).cos() as f32, f64::from(*a).sin() as f32);
        Self(Arc::new(angles.iter().map(pair).collect()))
    }

    /// The same angles `times` times over.
    pub(crate) fn repeated(&self, times: usize) -> Self {
        Self(Arc::new(self.0.repeat(times)))
    }
}

/// Turns `x` `[tokens, heads, head_dim]`: value i of the first half of a head with value i of the second.
pub(crate) fn rotate(x: &Tensor, angles: &Angles) -> Result<Tensor> {
    let turn = Turn {
        angles: angles.clone(),
        back: false,
    };
    x.contiguous()?.apply_op1(turn)
}

struct Turn {
    angles: Angles,
    back: bool,
}

impl Turn {
    fn turned(&self, x: &[f32], (heads, width): (usize, usize)) -> Vec<f32> {
        let half = width / 2;
        let mut out = vec![0f32; x.len()];
        out.par_chunks_mut(heads * width)
            .zip(x.par_chunks(heads * width))
            .zip(self.angles.0.par_chunks(half.max(1)))
            .with_min_len(min_rows(heads * width))
            .for_each(|((out, x), angles)| {
                for (out, x) in out.chunks_mut(width).zip(x.chunks(width)) {
                    let (out_a, out_b) = out.split_at_mut(half);
                    let (a, b) = x.split_at(half);
                    let places = out_a.iter_mut().zip(out_b).zip(a.iter().zip(b));
                    for (((out_a, out_b), (a, b)), (cos, sin)) in places.zip(angles) {
                        let sin = if self.back { -sin } else { *sin };
                        *out_a = a * cos - b * sin;
                        *out_b = b * cos + a * sin;
                    }
                }
            });
        out
    }
}

impl CustomOp1 for Turn {
    fn name(&self) -> &'static str {
        "trained_rotary"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (tokens, heads, width) = layout.shape().dims3()?;
        if self.angles.0.len() * 2 != tokens * width {
            candle_core::bail!(
                "{} angles for {tokens} tokens of {width} values a head",
                self.angles.0.len()
            );
        }
        let out = self.turned(values(x, layout)?, (heads, width));
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let (_, heads, width) = grad.dims3()?;
        let turn = Self {
            angles: self.angles.clone(),
            back: true,
        };
        let out = with_values(grad, |grad| Ok(turn.turned(grad, (heads, width))))?;
        Ok(Some(Tensor::from_vec(out, grad.dims(), grad.device())?))
    }
}
