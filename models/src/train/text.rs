//! How do packed tokens become logits, with a gradient for every weight on the way?

use candle_core::{Device, Tensor};

use super::batch::{Group, Packed};
use super::ops::{Angles, Sight, add_bias, rms_norm, rotate, softmax, swiglu};
use super::{Params, TrainError};
use crate::decoder::TextConfig;

/// What the decoder adds for pictures: rows in place of the placeholders, and rows to add behind each of the first layers.
pub(super) struct Seen {
    pub(super) merged: Tensor,
    pub(super) deepstack: Vec<Tensor>,
}

/// The text model as a graph over `params`.
pub(super) struct Decoder<'a> {
    pub(super) config: &'a TextConfig,
    pub(super) params: &'a Params,
    /// Beginning of the names.
    pub(super) prefix: &'a str,
}

impl Decoder<'_> {
    fn weight(&self, name: &str) -> Result<Tensor, TrainError> {
        self.params.get(&format!("{}{name}", self.prefix))
    }

    /// `x · weightᵀ + bias` with the weights of this name.
    fn linear(&self, x: &Tensor, name: &str, bias: bool) -> Result<Tensor, TrainError> {
        let mut y = x.matmul(&self.weight(&format!("{name}.weight"))?.t()?)?;
        let layer = format!("{}{name}", self.prefix);
        if let Some(more) = self.params.adapter(&layer, x)? {
            y = (y + more)?;
        }
        Ok(match bias {
            true => add_bias(&y, &self.weight(&format!("{name}.bias"))?)?,
            false => y,
        })
    }

    fn norm(&self, x: &Tensor, name: &str) -> Result<Tensor, TrainError> {
        let weight = self.weight(&format!("{name}.weight"))?;
        Ok(rms_norm(x, &weight, self.config.eps)?)
    }

    /// Logits `[rows, vocab]` of the tokens `rows`; `head` is the name of the head's weight, `None` where it is the embedding table.
    pub(super) fn logits(
        &self,
        batch: &Packed,
        rows: &[u32],
        seen: Option<&Seen>,
        head: Option<&str>,
    ) -> Result<Tensor, TrainError> {
        let device = Device::Cpu;
        let table = self.weight("embed_tokens.weight")?;
        let ids = Tensor::new(batch.ids.as_slice(), &device)?;
        let mut x = table.index_select(&ids, 0)?;
        let picture_tokens = Tensor::new(batch.picture_tokens.as_slice(), &device)?;
        if let Some(seen) = seen {
            // Row n + i of both together is row i of the pictures.
            let mut from: Vec<u32> = (0..batch.ids.len() as u32).collect();
            for (i, token) in batch.picture_tokens.iter().enumerate() {
                if let Some(from) = from.get_mut(*token as usize) {
                    *from = (batch.ids.len() + i) as u32;
                }
            }
            let both = Tensor::cat(&[&x, &seen.merged], 0)?;
            x = both.index_select(&Tensor::new(from, &device)?, 0)?;
        }
        let angles = self.angles(batch);
        let places = Places::of(batch, self.config.heads)?;
        for layer in 0..self.config.layers {
            x = self.layer(&x, layer, &angles, &places)?;
            if let Some(features) = seen.and_then(|s| s.deepstack.get(layer)) {
                x = x.index_add(&picture_tokens, features, 0)?;
            }
        }
        let x = x.index_select(&Tensor::new(rows, &device)?, 0)?;
        let x = self.norm(&x, "norm")?;
        let head = match head {
            Some(name) => self.params.get(name)?,
            None => table,
        };
        Ok(x.matmul(&head.t()?)?)
    }

    fn angles(&self, batch: &Packed) -> Angles {
        let rope = &self.config.rope;
        let mut angles = Vec::with_capacity(batch.ids.len() * rope.axes.len());
        for token in 0..batch.ids.len() {
            for (axis, frequency) in rope.axes.iter().zip(&rope.frequencies) {
                let position = batch.positions.axes.get(*axis).and_then(|a| a.get(token));
                angles.push(position.copied().unwrap_or(0) as f32 * frequency);
            }
        }
        Angles::new(&angles)
    }

    fn layer(
        &self,
        x: &Tensor,
        layer: usize,
        angles: &Angles,
        places: &Places,
    ) -> Result<Tensor, TrainError> {
        let name = |part: &str| format!("layers.{layer}.{part}");
        let config = self.config;
        let n = x.dim(0)?;
        let normed = self.norm(x, &name("input_layernorm"))?;
        let heads = |part: &str, count: usize| -> Result<Tensor, TrainError> {
            let all = self.linear(
                &normed,
                &name(&format!("self_attn.{part}")),
                config.biases.qkv,
            )?;
            Ok(all.reshape((n, count, config.head_dim))?)
        };
        let turned = |part: &str, norm: &str, count: usize| -> Result<Tensor, TrainError> {
            let mut all = heads(part, count)?;
            if config.head_norms {
                all = self.norm(&all, &name(&format!("self_attn.{norm}")))?;
            }
            Ok(rotate(&all, angles)?)
        };
        let query = turned("q_proj", "q_norm", config.heads)?;
        let key = turned("k_proj", "k_norm", config.kv_heads)?;
        let value = heads("v_proj", config.kv_heads)?;
        let attended = self.attend(&query, &key, &value, places)?;
        let output = self.linear(&attended, &name("self_attn.o_proj"), config.biases.output)?;
        let x = (x + output)?;
        let normed = self.norm(&x, &name("post_attention_layernorm"))?;
        let inner =
            |part: &str| self.linear(&normed, &name(&format!("mlp.{part}")), config.biases.mlp);
        let inner = swiglu(&inner("gate_proj")?, &inner("up_proj")?)?;
        Ok((x + self.linear(&inner, &name("mlp.down_proj"), config.biases.mlp)?)?)
    }

    /// Causal attention within each sequence, `[tokens, heads, head_dim]` to `[tokens, heads * head_dim]`.
    fn attend(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        places: &Places,
    ) -> Result<Tensor, TrainError> {
        let config = self.config;
        let (heads, kv, dim) = (config.heads, config.kv_heads, config.head_dim);
        let mut parts = Vec::with_capacity(places.groups.len());
        for (group, tokens) in &places.groups {
            let (count, longest) = (group.count, group.longest);
            // Padding stands behind a sequence's end, where no row of it looks.
            let spread = |t: &Tensor, heads: usize| -> candle_core::Result<Tensor> {
                let rows = t.index_select(tokens, 0)?;
                let rows = rows.reshape((count, longest, heads, dim))?;
                rows.transpose(1, 2)?.contiguous()
            };
            // Heads that share keys stand one below the other.
            let query = spread(query, heads)?.reshape((count, kv, heads / kv * longest, dim))?;
            let (key, value) = (spread(key, kv)?, spread(value, kv)?);
            let scores = query.matmul(&key.t()?)?;
            let shares = softmax(&scores, 1.0 / (dim as f32).sqrt(), Sight::Causal)?;
            let attended = shares.matmul(&value)?;
            let attended = attended.reshape((count, heads, longest, dim))?;
            let attended = attended.transpose(1, 2)?.contiguous()?;
            parts.push(attended.reshape((count * longest, heads * dim))?);
        }
        Ok(Tensor::cat(&parts, 0)?.index_select(&places.rows, 0)?)
    }
}

/// Where tokens stand in attention.
struct Places {
    /// Each with its tokens as indices.
    groups: Vec<(Group, Tensor)>,
    /// For every token its row among those of all groups.
    rows: Tensor,
}

impl Places {
    fn of(batch: &Packed, heads: usize) -> Result<Self, TrainError> {
        let (groups, rows) = batch.groups(heads);
        let groups = groups.into_iter().map(|group| {
            let tokens = Tensor::new(group.tokens.as_slice(), &Device::Cpu)?;
            Ok((group, tokens))
        });
        Ok(Self {
            groups: groups.collect::<candle_core::Result<_>>()?,
            rows: Tensor::new(rows, &Device::Cpu)?,
        })
    }
}
