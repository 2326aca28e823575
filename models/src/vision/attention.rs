//! Which patches attend to which?

use candle_core::Tensor;

use super::TowerShape;
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::linear::Linear;
use crate::ops::{Sight, attention, attention_to, rotate_heads};

/// Attention over all patches of a picture or, window by window, over stretches of them.
#[derive(Debug)]
pub(crate) struct Attention {
    qkv: Linear,
    proj: Linear,
    heads: usize,
}

impl Attention {
    pub(crate) fn load(
        shape: &TowerShape,
        weights: &mut Weights,
        name: &str,
    ) -> Result<Self, ModelError> {
        let hidden = shape.hidden;
        Ok(Self {
            qkv: weights.linear(&format!("{name}.qkv"), hidden, 3 * hidden, true)?,
            proj: weights.linear(&format!("{name}.proj"), hidden, hidden, true)?,
            heads: shape.heads,
        })
    }

    /// `x` is `[n, hidden]`. `stretches` are lengths that add up to n; patches see their own stretch only. Empty: one stretch.
    // A list of one range is meant.
    #[allow(clippy::single_range_in_vec_init)]
    pub(crate) fn forward(
        &self,
        x: &Tensor,
        tables: (&Tensor, &Tensor),
        stretches: &[usize],
    ) -> Result<Tensor, ModelError> {
        let (n, hidden) = x.dims2()?;
        let qkv = self.qkv.forward(x)?;
        let part = |i: usize| -> candle_core::Result<Tensor> {
            let heads = (n, self.heads, hidden / self.heads.max(1));
            qkv.narrow(1, i * hidden, hidden)?
                .contiguous()?
                .reshape(heads)
        };
        let query = rotate_heads(part(0)?, None, tables)?;
        let key = rotate_heads(part(1)?, None, tables)?;
        let value = part(2)?.transpose(0, 1)?;
        let whole = [n];
        let stretches = if stretches.is_empty() {
            &whole
        } else {
            stretches
        };
        let attended = if x.device().is_cpu() {
            let mut sights = Vec::with_capacity(n);
            let mut start = 0;
            for &len in stretches {
                let sight = Sight {
                    prefix: 0,
                    own: vec![start..start + len],
                };
                sights.extend(std::iter::repeat_n(sight, len));
                start += len;
            }
            attention_to(&query, [&(key, value)], &sights, self.qkv.products())?
        } else {
            let mut start = 0;
            let mut outputs = Vec::with_capacity(stretches.len());
            for &len in stretches {
                let own = |t: &Tensor| t.narrow(1, start, len)?.contiguous();
                outputs.push(attention(&own(&query)?, &own(&key)?, &own(&value)?, false)?);
                start += len;
            }
            Tensor::cat(&outputs, 0)?
        };
        Ok(self.proj.forward(&attended)?)
    }
}
