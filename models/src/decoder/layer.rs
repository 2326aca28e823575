//! What happens to each token in one layer?

use candle_core::{DType, Tensor};
use spare_kernels::attention::Products;

use super::config::TextConfig;
use super::mlp::FeedForward;
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::linear::Linear;
use crate::ops::{RmsNorm, added, rotate_heads};

#[derive(Debug)]
pub(super) struct Layer {
    input_norm: RmsNorm,
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    /// Norms of queries and keys within each head.
    head_norms: Option<(RmsNorm, RmsNorm)>,
    mlp_norm: RmsNorm,
    mlp: FeedForward,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    /// The type of keys and values.
    cache: DType,
}

impl Layer {
    pub(super) fn load(
        config: &TextConfig,
        weights: &mut Weights,
        layer: usize,
        name: &str,
    ) -> Result<Self, ModelError> {
        let (hidden, head_dim, eps) = (config.hidden, config.head_dim, config.eps);
        let (queries, keys) = (config.heads * head_dim, config.kv_heads * head_dim);
        let attn = |part: &str| format!("{name}.self_attn.{part}");
        let biases = config.biases;
        Ok(Self {
            input_norm: norm(weights, &format!("{name}.input_layernorm"), hidden, eps)?,
            query: weights.linear(&attn("q_proj"), hidden, queries, biases.qkv)?,
            key: weights.linear(&attn("k_proj"), hidden, keys, biases.qkv)?,
            value: weights.linear(&attn("v_proj"), hidden, keys, biases.qkv)?,
            output: weights.linear(&attn("o_proj"), queries, hidden, biases.output)?,
            head_norms: match config.head_norms {
                false => None,
                true => Some((
                    norm(weights, &attn("q_norm"), head_dim, eps)?,
                    norm(weights, &attn("k_norm"), head_dim, eps)?,
                )),
            },
            mlp_norm: norm(
                weights,
                &format!("{name}.post_attention_layernorm"),
                hidden,
                eps,
            )?,
            mlp: FeedForward::load(config, weights, layer, &format!("{name}.mlp"))?,
            heads: config.heads,
            kv_heads: config.kv_heads,
            head_dim,
            cache: weights.cache_dtype(),
        })
    }

    /// What attention is computed in on the CPU.
    pub(super) fn products(&self) -> Products {
        self.query.products()
    }

    pub(super) fn cache_dtype(&self) -> DType {
        self.cache
    }

    /// `attend` gets the queries `[heads, n, head_dim]` and the new keys and values, and says what is attended to: `[n, heads * head_dim]`.
    pub(super) fn forward(
        &self,
        x: &Tensor,
        tables: (&Tensor, &Tensor),
        attend: impl FnOnce(&Tensor, &(Tensor, Tensor)) -> Result<Tensor, ModelError>,
    ) -> Result<(Tensor, (Tensor, Tensor)), ModelError> {
        let n = x.dim(0)?;
        let normed = self.input_norm.forward(x)?;
        let split = |t: Tensor, heads| t.reshape((n, heads, self.head_dim));
        let query = split(self.query.forward(&normed)?, self.heads)?;
        let key = split(self.key.forward(&normed)?, self.kv_heads)?;
        let value = split(self.value.forward(&normed)?, self.kv_heads)?;
        // Norm within each head, then rotate.
        let norms = self.head_norms.as_ref();
        let query = rotate_heads(query, norms.map(|n| &n.0), tables)?;
        let key = rotate_heads(key, norms.map(|n| &n.1), tables)?;
        let value = value.transpose(0, 1)?;
        let value = match value.device().is_cpu() {
            true => value,
            false => value.contiguous()?,
        };
        let new = (key.to_dtype(self.cache)?, value.to_dtype(self.cache)?);
        let attended = attend(&query, &new)?;
        let x = added(x, self.output.forward(&attended)?)?;
        let normed = self.mlp_norm.forward(&x)?;
        Ok((added(&x, self.mlp.forward(&normed)?)?, new))
    }
}

pub(super) fn norm(
    weights: &mut Weights,
    name: &str,
    width: usize,
    eps: f64,
) -> Result<RmsNorm, ModelError> {
    let weight = weights.vector(&format!("{name}.weight"), width)?;
    Ok(RmsNorm { weight, eps })
}
