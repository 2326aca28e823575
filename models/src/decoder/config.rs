//! What does the text half of a config.json say, whichever family wrote it?

use serde_json::json;

use super::rope::{Rope, RopeStyle};
use crate::ModelError;
use crate::checkpoint::Fields;

/// Everything that a text model needs from config.json.
#[derive(Debug, Clone)]
pub(crate) struct TextConfig {
    pub(crate) vocab: usize,
    pub(crate) hidden: usize,
    /// Width of the dense layers' inner states; 0 where every layer has experts and the file gives none.
    pub(crate) intermediate: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) eps: f64,
    pub(crate) rope: Rope,
    pub(crate) biases: Biases,
    /// Whether queries and keys are normed within each head.
    pub(crate) head_norms: bool,
    pub(crate) experts: Option<Experts>,
    /// Tokens that the model was made for; `None` where the file does not say.
    pub(crate) context: Option<usize>,
}

/// Which linear layers have a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Biases {
    /// Queries, keys and values.
    pub(crate) qkv: bool,
    /// The attention's output.
    pub(crate) output: bool,
    /// The dense MLP's three matrices.
    pub(crate) mlp: bool,
}

/// Mixture of experts.
#[derive(Debug, Clone)]
pub(crate) struct Experts {
    pub(crate) count: usize,
    pub(crate) per_token: usize,
    pub(crate) intermediate: usize,
    /// Every how many layers one has experts: layers step - 1, 2 step - 1, ...
    step: usize,
    /// Layers that have none all the same.
    dense: Vec<usize>,
}

/// What a family fixes in code rather than in its config.json.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextStyle {
    /// Whether head_dim has to stand in the file. Where it may be left out it is hidden_size / heads.
    pub(crate) explicit_head_dim: bool,
    /// `None`: attention_bias and mlp_bias say so.
    pub(crate) biases: Option<Biases>,
    pub(crate) head_norms: bool,
    pub(crate) rope: RopeStyle,
    /// Rotary base of files that do not name one; `None`: the file has to.
    pub(crate) default_theta: Option<f64>,
}

impl TextConfig {
    pub(crate) fn read(text: &Fields, style: TextStyle) -> Result<Self, ModelError> {
        text.only("hidden_act", &json!("silu"), false)?;
        text.only("use_sliding_window", &json!(false), true)?;
        let hidden = text.count("hidden_size")?;
        let layers = text.count("num_hidden_layers")?;
        let heads = text.count("num_attention_heads")?;
        let kv_heads = text.count("num_key_value_heads")?;
        if !heads.is_multiple_of(kv_heads) {
            let expected = format!("a divisor of {heads} heads");
            return Err(text.refuse("num_key_value_heads", kv_heads, expected));
        }
        let head_dim = if style.explicit_head_dim || text.get("head_dim").is_some() {
            text.count("head_dim")?
        } else if hidden.is_multiple_of(heads) {
            hidden / heads
        } else {
            let expected = format!("a multiple of {heads} heads, as head_dim is not given");
            return Err(text.refuse("hidden_size", hidden, expected));
        };
        if !head_dim.is_multiple_of(2) {
            return Err(text.refuse("head_dim", head_dim, "an even number"));
        }
        let biases = match style.biases {
            Some(biases) => {
                text.only("attention_bias", &json!(biases.qkv), true)?;
                biases
            }
            None => {
                let attention = text.flag("attention_bias", false)?;
                let mlp = text.flag("mlp_bias", false)?;
                Biases {
                    qkv: attention,
                    output: attention,
                    mlp,
                }
            }
        };
        let experts = Experts::read(text)?;
        let all_sparse = experts.as_ref().is_some_and(Experts::everywhere);
        Ok(Self {
            vocab: text.count("vocab_size")?,
            hidden,
            intermediate: match text.get("intermediate_size") {
                None if all_sparse => 0,
                _ => text.count("intermediate_size")?,
            },
            layers,
            heads,
            kv_heads,
            head_dim,
            eps: text.positive("rms_norm_eps")?,
            rope: Rope::read(text, style.rope, style.default_theta, head_dim)?,
            biases,
            head_norms: style.head_norms,
            experts,
            context: match text.get("max_position_embeddings") {
                None => None,
                Some(_) => Some(text.count("max_position_embeddings")?),
            },
        })
    }

    /// Bytes of keys and values that one token leaves in the cache, f32.
    pub(crate) fn cache_bytes(&self) -> u64 {
        product(&[2 * 4, self.layers, self.kv_heads, self.head_dim])
    }

    /// Bytes that are at work beside weights and cache at the most: the largest matrix widened to f32, and the inner states of
    /// one chunk of tokens.
    pub(crate) fn working_bytes(&self, chunk: usize) -> u64 {
        let inner = self
            .experts
            .as_ref()
            .map_or(0, |e| e.intermediate)
            .max(self.intermediate);
        let attention = self.heads.saturating_mul(self.head_dim);
        let matrix = product(&[4, self.hidden, inner.max(attention)]);
        let states = [(8, self.hidden), (3, inner), (4, attention)];
        let states = states.map(|(times, width)| product(&[4, chunk, times, width]));
        states.into_iter().fold(matrix, u64::saturating_add)
    }
}

/// Sizes of a hostile file may multiply beyond 64 bits; such a model does not fit anywhere.
fn product(sizes: &[usize]) -> u64 {
    sizes
        .iter()
        .fold(1, |product: u64, size| product.saturating_mul(*size as u64))
}

impl Experts {
    /// `None` where the file names no experts.
    fn read(text: &Fields) -> Result<Option<Self>, ModelError> {
        // Released files say num_experts, transformers 5 saves num_local_experts.
        const NAMES: [&str; 2] = ["num_experts", "num_local_experts"];
        let mut given = NAMES.into_iter().filter(|name| text.get(name).is_some());
        let (Some(name), second) = (given.next(), given.next()) else {
            return Ok(None);
        };
        let count = text.count(name)?;
        if let Some(second) = second.filter(|second| text.get(second) != text.get(name)) {
            let found = text.count(second)?;
            return Err(text.refuse(second, found, format!("{count} as {name} says")));
        }
        let per_token = text.count("num_experts_per_tok")?;
        if per_token > count {
            let expected = format!("at most {count} experts");
            return Err(text.refuse("num_experts_per_tok", per_token, expected));
        }
        // The reference renormalises whatever the flag says, so a file that says otherwise contradicts itself.
        text.only("norm_topk_prob", &json!(true), true)?;
        text.only("shared_expert_intermediate_size", &json!(0), true)?;
        let step = match text.get("decoder_sparse_step") {
            None => 1,
            Some(_) => text.count("decoder_sparse_step")?,
        };
        let dense = match text.get("mlp_only_layers") {
            None => Vec::new(),
            Some(_) => text.counts("mlp_only_layers")?,
        };
        Ok(Some(Self {
            count,
            per_token,
            intermediate: text.count("moe_intermediate_size")?,
            step,
            dense,
        }))
    }

    /// Whether a layer has experts.
    pub(crate) fn at(&self, layer: usize) -> bool {
        !self.dense.contains(&layer) && (layer + 1).is_multiple_of(self.step)
    }

    fn everywhere(&self) -> bool {
        self.step == 1 && self.dense.is_empty()
    }
}
