//! How do embedded tokens become hidden states?
//!
//! One decoder for every family: pre-norm layers of grouped-query attention and a gated MLP or experts. What differs
//! (biases, norms within heads, rotary axes, experts) stands in [`TextConfig`].

mod config;
mod experts;
mod layer;
mod mlp;
mod rope;
mod watched;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::{DType, Tensor};

pub(crate) use config::{Biases, TextConfig, TextStyle};
pub(crate) use mlp::Mlp;
pub(crate) use rope::{RopeStyle, inverse_frequencies, tables};

use crate::checkpoint::Weights;
use crate::head::Table;
use crate::ops::{RmsNorm, Sight, attention, attention_to};
use crate::{Control, KvCache, ModelError, Positions};
use layer::{Layer, norm};
use rope::Rope;

/// The text model without its head.
#[derive(Debug)]
pub(crate) struct TextModel {
    pub(crate) embeddings: Table,
    layers: Vec<Layer>,
    norm: RmsNorm,
    rope: Rope,
    pushed: AtomicU64,
    calls: AtomicU64,
}

/// What a chunk brings besides its embedded tokens.
pub(crate) struct Chunk<'a> {
    /// Positions of the whole context; the chunk stands right behind the cache.
    pub(crate) positions: &'a Positions,
    /// Rows `[n, hidden]` to add to the output of layer k, zero at text tokens. Empty without pictures.
    pub(crate) deepstack: Vec<Tensor>,
}

/// One of several continuations that are pushed together.
pub(crate) struct BranchChunk<'a> {
    /// Positions of its whole context.
    pub(crate) positions: &'a Positions,
    /// Its own tokens in that context.
    pub(crate) tokens: Range<usize>,
    /// Cached tokens that it does not see.
    pub(crate) hidden: Range<usize>,
}

impl BranchChunk<'_> {
    /// What each of its tokens sees, where its own keys are numbered from `start` on.
    // A list of one range is meant.
    #[allow(clippy::single_range_in_vec_init)]
    fn sights(&self, start: usize) -> impl Iterator<Item = Sight> + '_ {
        let at = self.tokens.start;
        let hidden = self.hidden.start.min(at)..self.hidden.end.min(at);
        (start..start + self.tokens.len()).map(move |key| Sight {
            prefix: if hidden.is_empty() { at } else { hidden.start },
            own: if hidden.is_empty() {
                vec![start..key + 1]
            } else {
                vec![hidden.end..at, start..key + 1]
            },
        })
    }
}

/// Hidden states `[n, hidden]` before the final norm and the new keys and values of every layer.
pub(crate) struct Pushed {
    pub(crate) hidden: Tensor,
    pub(crate) keys_values: Vec<(Tensor, Tensor)>,
}

impl TextModel {
    pub(crate) fn load(
        config: &TextConfig,
        weights: &mut Weights,
        prefix: &str,
    ) -> Result<Self, ModelError> {
        let embeddings = weights.table(
            &format!("{prefix}embed_tokens.weight"),
            config.vocab,
            config.hidden,
        )?;
        let layers = (0..config.layers)
            .map(|i| Layer::load(config, weights, i, &format!("{prefix}layers.{i}")))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            embeddings,
            layers,
            norm: norm(weights, &format!("{prefix}norm"), config.hidden, config.eps)?,
            rope: config.rope.clone(),
            pushed: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        })
    }

    /// Tokens that have gone through [`forward`](Self::forward).
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed.load(Ordering::Relaxed)
    }

    /// The type of keys and values.
    pub(crate) fn cache_dtype(&self) -> DType {
        self.layers.first().map_or(DType::F32, Layer::cache_dtype)
    }

    /// Packs of tokens that were announced by [`begin`](Self::begin).
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Counts one more pack of tokens.
    pub(crate) fn begin(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// Runs `x` `[n, hidden]`, the tokens right behind `cache`, through all layers. `trace` gets the state entering each
    /// layer and the final norm.
    pub(crate) fn forward(
        &self,
        x: Tensor,
        chunk: &Chunk,
        cache: &KvCache,
        ctl: &Control,
        mut trace: Option<&mut Vec<Tensor>>,
    ) -> Result<Pushed, ModelError> {
        let n = x.dim(0)?;
        self.pushed.fetch_add(n as u64, Ordering::Relaxed);
        ctl.count(n);
        let angles = self.angles(chunk.positions, cache.len()..cache.len() + n)?;
        let (cos, sin) = tables(&angles, self.rope.axes.len(), x.device())?;
        let first = cache.len() + 1;
        let sights: Vec<Sight> = (first..first + n)
            .map(|prefix| Sight {
                prefix,
                own: Vec::new(),
            })
            .collect();
        let mut hidden = x;
        let mut keys_values = Vec::with_capacity(self.layers.len());
        for (i, layer) in self.layers.iter().enumerate() {
            ctl.check()?;
            if let Some(trace) = trace.as_deref_mut() {
                trace.push(hidden.clone());
            }
            let (out, pair) = layer.forward(&hidden, (&cos, &sin), |query, new| {
                if query.device().is_cpu() {
                    let pairs = cache.pairs(i).chain([new]);
                    return Ok(attention_to(query, pairs, &sights, layer.products())?);
                }
                let (keys, values) = cache.joined(i, cache.len(), new)?;
                Ok(attention(query, &keys, &values, true)?)
            })?;
            hidden = match chunk.deepstack.get(i) {
                Some(features) => (out + features)?,
                None => out,
            };
            keys_values.push(pair);
        }
        if let Some(trace) = trace {
            trace.push(hidden.clone());
        }
        Ok(Pushed {
            hidden,
            keys_values,
        })
    }

    /// Runs `x` `[n, hidden]`, the tokens of all `branches` in order, through all layers. Each branch attends to the cached tokens before
    /// its first one and to its own.
    pub(crate) fn forward_branches(
        &self,
        x: Tensor,
        branches: &[BranchChunk<'_>],
        cache: &KvCache,
        ctl: &Control,
    ) -> Result<Tensor, ModelError> {
        let n = x.dim(0)?;
        self.pushed.fetch_add(n as u64, Ordering::Relaxed);
        ctl.count(n);
        let mut angles = Vec::new();
        for branch in branches {
            angles.extend(self.angles(branch.positions, branch.tokens.clone())?);
        }
        let (cos, sin) = tables(&angles, self.rope.axes.len(), x.device())?;
        let mut sights = Vec::with_capacity(n);
        let mut start = cache.len();
        for branch in branches {
            sights.extend(branch.sights(start));
            start += branch.tokens.len();
        }
        let mut hidden = x;
        for (i, layer) in self.layers.iter().enumerate() {
            ctl.check()?;
            let attend = |query: &Tensor, new: &(Tensor, Tensor)| {
                if query.device().is_cpu() {
                    let pairs = cache.pairs(i).chain([new]);
                    return Ok(attention_to(query, pairs, &sights, layer.products())?);
                }
                let mut out = Vec::with_capacity(branches.len());
                let mut start = 0;
                for BranchChunk { tokens, hidden, .. } in branches {
                    let own = |t: &Tensor| t.narrow(1, start, tokens.len());
                    let new = (own(&new.0)?, own(&new.1)?);
                    let (keys, values) = cache.joined_without(i, tokens.start, hidden, &new)?;
                    out.push(attention(&own(query)?, &keys, &values, true)?);
                    start += tokens.len();
                }
                Ok(Tensor::cat(&out, 0)?)
            };
            hidden = layer.forward(&hidden, (&cos, &sin), attend)?.0;
        }
        Ok(hidden)
    }

    /// The final norm.
    pub(crate) fn finish(&self, hidden: &Tensor) -> Result<Tensor, ModelError> {
        Ok(self.norm.forward(hidden)?)
    }

    /// Rotary angles of tokens, `head_dim / 2` each.
    fn angles(&self, positions: &Positions, tokens: Range<usize>) -> Result<Vec<f32>, ModelError> {
        let Rope { axes, frequencies } = &self.rope;
        let mut angles = Vec::with_capacity(tokens.len() * axes.len());
        for token in tokens.clone() {
            for (axis, frequency) in axes.iter().zip(frequencies) {
                let position = positions.axes.get(*axis).and_then(|axis| axis.get(token));
                let Some(position) = position else {
                    return Err(ModelError::Range {
                        what: "positions",
                        found: format!("{} positions", positions.len()),
                        expected: format!("at least {}", tokens.end),
                    });
                };
                angles.push(*position as f32 * frequency);
            }
        }
        Ok(angles)
    }

    /// Rows of the embedding table, `[ids, hidden]`.
    pub(crate) fn embed(
        &self,
        ids: &[u32],
        device: &candle_core::Device,
    ) -> Result<Tensor, ModelError> {
        let width = self.embeddings.width;
        let mut rows = Vec::with_capacity(ids.len() * width);
        for (token, &id) in ids.iter().enumerate() {
            if !self.embeddings.push_row(id as usize, &mut rows) {
                return Err(ModelError::Prompt {
                    token,
                    found: format!("id {id}"),
                    expected: "an id of the vocabulary".into(),
                });
            }
        }
        Ok(Tensor::from_vec(rows, (ids.len(), width), device)?.to_dtype(DType::F32)?)
    }
}
