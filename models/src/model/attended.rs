//! Where do tokens look? A slow path beside the forward pass, for measurements: its weights come from the same queries and keys, and its
//! hidden states are those of the fast path up to rounding.

use std::ops::Range;

use candle_core::{DType, Tensor};

use super::{HiddenRows, Model};
use crate::{Control, KvCache, ModelError, PreparedPrompt};

/// Where some tokens look.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attended {
    /// For each layer, and in it for each group of keys, the share of attention that the keys get: the mean over the tokens and all heads, from 0
    /// to 1.
    pub shares: Vec<Vec<f64>>,
    /// The tokens' hidden states after the final norm, in their order.
    pub hidden: HiddenRows,
}

impl Model {
    /// Where tokens `rows` of `prompt` look. `cache` holds the beginning of the prompt and is not changed; the tokens behind it go through the
    /// slow path, so a long cache makes this cheap. `groups` are lists of stretches of tokens; what a token cannot see gets nothing.
    ///
    /// Attention is computed in f32 (in the type of keys and values on other devices than the CPU): where the fast path takes bf16 products,
    /// the two differ by their rounding.
    ///
    /// # Errors
    /// Those of [`prefill`](Self::prefill), and [`ModelError::Range`] for no rows.
    pub fn attended(
        &self,
        prompt: &PreparedPrompt,
        cache: &KvCache,
        rows: &[usize],
        groups: &[Vec<Range<usize>>],
        ctl: &Control,
    ) -> Result<Attended, ModelError> {
        let range = cache.len()..prompt.len();
        self.check(prompt, &range, cache, rows)?;
        if rows.is_empty() {
            return Err(ModelError::Range {
                what: "rows",
                found: "none".into(),
                expected: format!("tokens of {range:?}"),
            });
        }
        let layers = self.config.text.layers;
        let mut shares = vec![vec![0f64; groups.len()]; layers];
        let mut see = |layer: usize, first: usize, weights: &Tensor| {
            let (heads, len, _) = weights.dims3()?;
            let first = range.start + first;
            let own = rows.iter().filter(|row| (first..first + len).contains(row));
            for row in own {
                let one = weights.narrow(1, row - first, 1)?.squeeze(1)?;
                for weights in one.to_dtype(DType::F32)?.to_vec2::<f32>()? {
                    add(&weights, groups, shares.get_mut(layer), heads * rows.len());
                }
            }
            Ok(())
        };
        let (embedded, chunk) = self.inputs(prompt, &range)?;
        let hidden = self.text.watch(embedded, &chunk, cache, ctl, &mut see)?;
        let index: Vec<u32> = rows.iter().map(|row| (row - range.start) as u32).collect();
        let index = Tensor::new(index, &self.device)?;
        let picked = self.text.finish(&hidden.index_select(&index, 0)?)?;
        let values = picked
            .to_dtype(DType::F32)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        if values.iter().any(|v| !v.is_finite()) {
            let place = format!("hidden states of tokens {range:?}");
            return Err(ModelError::NotFinite { place });
        }
        Ok(Attended {
            shares,
            hidden: HiddenRows {
                values,
                width: self.hidden_size(),
            },
        })
    }
}

/// Adds what each group gets of one head's `weights`, as one of `count` parts of a mean.
fn add(weights: &[f32], groups: &[Vec<Range<usize>>], shares: Option<&mut Vec<f64>>, count: usize) {
    for (group, share) in groups.iter().zip(shares.into_iter().flatten()) {
        for keys in group {
            let keys = keys.start.min(weights.len())..keys.end.min(weights.len());
            let own = weights.get(keys).unwrap_or_default().iter();
            *share += own.map(|w| f64::from(*w)).sum::<f64>() / count.max(1) as f64;
        }
    }
}
