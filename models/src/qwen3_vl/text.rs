//! How do embedded tokens become hidden states?

use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::{DType, Tensor};

use super::config::TextConfig;
use super::rope::{inverse_frequencies, tables};
use crate::checkpoint::{Linear, Weights};
use crate::head::Table;
use crate::ops::{RmsNorm, attention, rotate_heads, swiglu};
use crate::{Control, KvCache, ModelError, Positions};

/// The text model without its head.
#[derive(Debug)]
pub(crate) struct TextModel {
    pub(crate) embeddings: Table,
    layers: Vec<Layer>,
    norm: RmsNorm,
    head_dim: usize,
    axes: Vec<usize>,
    frequencies: Vec<f32>,
    pushed: AtomicU64,
}

#[derive(Debug)]
struct Layer {
    input_norm: RmsNorm,
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    query_norm: RmsNorm,
    key_norm: RmsNorm,
    mlp_norm: RmsNorm,
    gate: Linear,
    up: Linear,
    down: Linear,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
}

/// What a chunk brings besides its embedded tokens.
pub(super) struct Chunk<'a> {
    /// Positions of the whole context; the chunk stands right behind the cache.
    pub(super) positions: &'a Positions,
    /// Rows `[n, hidden]` to add to the output of layer k, zero at text tokens. Empty without pictures.
    pub(super) deepstack: Vec<Tensor>,
}

/// Hidden states `[n, hidden]` before the final norm and the new keys and values of every layer.
pub(super) struct Pushed {
    pub(super) hidden: Tensor,
    pub(super) keys_values: Vec<(Tensor, Tensor)>,
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
            .map(|i| Layer::load(config, weights, &format!("{prefix}layers.{i}")))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            embeddings,
            layers,
            norm: norm(weights, &format!("{prefix}norm"), config.hidden, config.eps)?,
            head_dim: config.head_dim,
            axes: config.axes.clone(),
            frequencies: inverse_frequencies(config.rope_theta, config.head_dim),
            pushed: AtomicU64::new(0),
        })
    }

    /// Tokens that have gone through [`forward`](Self::forward).
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed.load(Ordering::Relaxed)
    }

    /// Runs `x` `[n, hidden]`, the tokens right behind `cache`, through all layers. `trace` gets the state entering each
    /// layer and the final norm.
    pub(super) fn forward(
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
        let (cos, sin) = self.rotary(chunk.positions, cache.len(), &x)?;
        let mut hidden = x;
        let mut keys_values = Vec::with_capacity(self.layers.len());
        for (i, layer) in self.layers.iter().enumerate() {
            ctl.check()?;
            if let Some(trace) = trace.as_deref_mut() {
                trace.push(hidden.clone());
            }
            let (out, pair) = layer.forward(&hidden, (&cos, &sin), |new| cache.joined(i, new))?;
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

    /// The final norm.
    pub(super) fn finish(&self, hidden: &Tensor) -> Result<Tensor, ModelError> {
        Ok(self.norm.forward(hidden)?)
    }

    /// Half-width cosine and sine tables `[n, head_dim / 2]` for the tokens from `start`.
    fn rotary(
        &self,
        positions: &Positions,
        start: usize,
        x: &Tensor,
    ) -> Result<(Tensor, Tensor), ModelError> {
        let n = x.dim(0)?;
        let mut angles = Vec::with_capacity(n * self.axes.len());
        for token in start..start + n {
            for (axis, frequency) in self.axes.iter().zip(&self.frequencies) {
                let position = positions.axes.get(*axis).and_then(|axis| axis.get(token));
                let Some(position) = position else {
                    return Err(ModelError::Range {
                        what: "positions",
                        found: format!("{} positions", positions.len()),
                        expected: format!("at least {}", start + n),
                    });
                };
                angles.push(*position as f32 * frequency);
            }
        }
        tables(&angles, self.head_dim / 2, x.device())
    }

    /// Rows of the embedding table, `[ids, hidden]`.
    pub(super) fn embed(
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

impl Layer {
    fn load(config: &TextConfig, weights: &mut Weights, name: &str) -> Result<Self, ModelError> {
        let (hidden, head_dim, eps) = (config.hidden, config.head_dim, config.eps);
        let (queries, keys) = (config.heads * head_dim, config.kv_heads * head_dim);
        let attn = |part: &str| format!("{name}.self_attn.{part}");
        let mlp = |part: &str| format!("{name}.mlp.{part}");
        Ok(Self {
            input_norm: norm(weights, &format!("{name}.input_layernorm"), hidden, eps)?,
            query: weights.linear(&attn("q_proj"), hidden, queries, false)?,
            key: weights.linear(&attn("k_proj"), hidden, keys, false)?,
            value: weights.linear(&attn("v_proj"), hidden, keys, false)?,
            output: weights.linear(&attn("o_proj"), queries, hidden, false)?,
            query_norm: norm(weights, &attn("q_norm"), head_dim, eps)?,
            key_norm: norm(weights, &attn("k_norm"), head_dim, eps)?,
            mlp_norm: norm(
                weights,
                &format!("{name}.post_attention_layernorm"),
                hidden,
                eps,
            )?,
            gate: weights.linear(&mlp("gate_proj"), hidden, config.intermediate, false)?,
            up: weights.linear(&mlp("up_proj"), hidden, config.intermediate, false)?,
            down: weights.linear(&mlp("down_proj"), config.intermediate, hidden, false)?,
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim,
        })
    }

    /// `joined` puts the cached keys and values before the new ones.
    fn forward(
        &self,
        x: &Tensor,
        (cos, sin): (&Tensor, &Tensor),
        joined: impl FnOnce(&(Tensor, Tensor)) -> Result<(Tensor, Tensor), ModelError>,
    ) -> Result<(Tensor, (Tensor, Tensor)), ModelError> {
        let n = x.dim(0)?;
        let normed = self.input_norm.forward(x)?;
        let split = |t: Tensor, heads| t.reshape((n, heads, self.head_dim));
        let query = split(self.query.forward(&normed)?, self.heads)?;
        let key = split(self.key.forward(&normed)?, self.kv_heads)?;
        let value = split(self.value.forward(&normed)?, self.kv_heads)?;
        // Norm within each head, then rotate.
        let query = rotate_heads(&self.query_norm.forward(&query)?, cos, sin)?;
        let key = rotate_heads(&self.key_norm.forward(&key)?, cos, sin)?;
        let new = (key, value.transpose(0, 1)?.contiguous()?);
        let (keys, values) = joined(&new)?;
        let attended = attention(&query, &keys, &values, true)?;
        let x = (x + self.output.forward(&attended)?)?;
        let normed = self.mlp_norm.forward(&x)?;
        let inner = swiglu(&self.gate.forward(&normed)?, &self.up.forward(&normed)?)?;
        Ok(((x + self.down.forward(&inner)?)?, new))
    }
}

fn norm(weights: &mut Weights, name: &str, width: usize, eps: f64) -> Result<RmsNorm, ModelError> {
    let weight = weights.vector(&format!("{name}.weight"), width)?;
    Ok(RmsNorm { weight, eps })
}
