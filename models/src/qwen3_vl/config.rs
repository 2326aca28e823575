//! What does config.json ask for, and is it something that this implementation computes?

use serde_json::{Value, json};

use super::rope::axis_of_pairs;
use crate::ModelError;
use crate::checkpoint::{Checkpoint, Fields};

/// Architectures that load.
pub(crate) const ARCHITECTURE: &str = "Qwen3VLForConditionalGeneration";

/// Base of the tower's rotary frequencies where config.json has no field for it.
const VISION_ROPE_THETA: f64 = 10_000.0;

/// Everything that the implementation needs from config.json.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) text: TextConfig,
    pub(crate) vision: VisionConfig,
    pub(crate) image_token: u32,
    pub(crate) video_token: u32,
    pub(crate) eos: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct TextConfig {
    pub(crate) vocab: usize,
    pub(crate) hidden: usize,
    pub(crate) intermediate: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) kv_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) eps: f64,
    pub(crate) rope_theta: f64,
    /// For each pair of rotary dimensions the axis (0 time, 1 height, 2 width) whose position turns it.
    pub(crate) axes: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct VisionConfig {
    pub(crate) depth: usize,
    pub(crate) hidden: usize,
    pub(crate) intermediate: usize,
    pub(crate) heads: usize,
    pub(crate) channels: usize,
    pub(crate) patch: usize,
    pub(crate) temporal_patch: usize,
    pub(crate) merge: usize,
    /// Rows (and columns) of the square table of learned positions.
    pub(crate) table_side: usize,
    /// Blocks after which features are tapped, ascending.
    pub(crate) taps: Vec<usize>,
    pub(crate) rope_theta: f64,
}

impl Config {
    pub(crate) fn read(checkpoint: &Checkpoint) -> Result<Self, ModelError> {
        let config = checkpoint.config()?;
        architecture(&config)?;
        if let Some(found) = config.get("quantization_config") {
            return Err(config.refuse("quantization_config", found, "no quantisation"));
        }
        let text_fields = config.object("text_config")?;
        let text = TextConfig::read(&text_fields)?;
        let vision = VisionConfig::read(&config.object("vision_config")?, &text)?;
        let eos = match checkpoint.generation_config()? {
            Some(generation) => generation.ids("eos_token_id")?,
            None => Vec::new(),
        };
        let eos = match (eos.is_empty(), config.ids("eos_token_id")?) {
            (false, _) => eos,
            (true, ids) if !ids.is_empty() => ids,
            _ => text_fields.ids("eos_token_id")?,
        };
        let image_token = config.id("image_token_id")?;
        if image_token as usize >= text.vocab {
            let expected = format!("an id below vocab_size {}", text.vocab);
            return Err(config.refuse("image_token_id", image_token, expected));
        }
        Ok(Self {
            text,
            vision,
            image_token,
            video_token: config.id("video_token_id")?,
            eos,
        })
    }
}

fn architecture(config: &Fields) -> Result<(), ModelError> {
    let named = config.get("architectures").and_then(|v| v.get(0));
    let model_type = config.get("model_type");
    let known = match named {
        Some(name) => name == ARCHITECTURE,
        None => model_type == Some(&json!("qwen3_vl")),
    };
    if known {
        return Ok(());
    }
    let found = named.or(model_type).map(Value::to_string);
    Err(ModelError::Architecture {
        place: config.place().into(),
        found: found.unwrap_or_else(|| "nothing".into()),
        known: ARCHITECTURE,
    })
}

impl TextConfig {
    fn read(text: &Fields) -> Result<Self, ModelError> {
        text.only("hidden_act", &json!("silu"), false)?;
        text.only("attention_bias", &json!(false), false)?;
        let heads = text.count("num_attention_heads")?;
        let kv_heads = text.count("num_key_value_heads")?;
        if !heads.is_multiple_of(kv_heads) {
            return Err(text.refuse(
                "num_key_value_heads",
                kv_heads,
                format!("a divisor of {heads} heads"),
            ));
        }
        // Never hidden / heads: the two differ in released checkpoints.
        let head_dim = text.count("head_dim")?;
        if !head_dim.is_multiple_of(2) {
            return Err(text.refuse("head_dim", head_dim, "an even number"));
        }
        let (rope_theta, axes) = rope(text, head_dim / 2)?;
        Ok(Self {
            vocab: text.count("vocab_size")?,
            hidden: text.count("hidden_size")?,
            intermediate: text.count("intermediate_size")?,
            layers: text.count("num_hidden_layers")?,
            heads,
            kv_heads,
            head_dim,
            eps: text.positive("rms_norm_eps")?,
            rope_theta,
            axes,
        })
    }
}

/// Base and axes, from `rope_parameters` (transformers 5) or `rope_scaling` beside `rope_theta` (transformers 4).
fn rope(text: &Fields, pairs: usize) -> Result<(f64, Vec<usize>), ModelError> {
    let (rope, theta) = if text.get("rope_parameters").is_some() {
        let rope = text.object("rope_parameters")?;
        let theta = rope.positive("rope_theta")?;
        (rope, theta)
    } else {
        (text.object("rope_scaling")?, text.positive("rope_theta")?)
    };
    // Older files say "type", and "mrope" where newer ones say "default"; neither tells how axes are laid out.
    for name in ["rope_type", "type"] {
        match rope.get(name) {
            None => {}
            Some(kind) if kind == "default" || kind == "mrope" => {}
            Some(kind) => return Err(rope.refuse(name, kind, "\"default\" or \"mrope\"")),
        }
    }
    rope.only("partial_rotary_factor", &json!(1.0), true)?;
    // transformers interleaves Qwen3-VL whatever the flag says, so a file that says otherwise contradicts itself.
    rope.only("mrope_interleaved", &json!(true), true)?;
    let section = rope.counts("mrope_section")?;
    let bad = || {
        let expected = format!("three counts that add up to head_dim / 2 = {pairs}");
        rope.refuse("mrope_section", format!("{section:?}"), expected)
    };
    let total = section
        .iter()
        .try_fold(0usize, |sum, n| sum.checked_add(*n));
    let section: [usize; 3] = section.as_slice().try_into().map_err(|_| bad())?;
    if total != Some(pairs) {
        return Err(bad());
    }
    Ok((theta, axis_of_pairs(section, true)))
}

impl VisionConfig {
    fn read(vision: &Fields, text: &TextConfig) -> Result<Self, ModelError> {
        vision.only("hidden_act", &json!("gelu_pytorch_tanh"), false)?;
        vision.only("out_hidden_size", &json!(text.hidden), false)?;
        let (hidden, heads) = (vision.count("hidden_size")?, vision.count("num_heads")?);
        if !hidden.is_multiple_of(heads.saturating_mul(4)) {
            // Half of a head turns by the row and half by the column, both in pairs.
            let expected = format!("a multiple of 4 * num_heads = {}", 4 * heads);
            return Err(vision.refuse("hidden_size", hidden, expected));
        }
        let entries = vision.count("num_position_embeddings")?;
        let table_side = entries.isqrt();
        if table_side * table_side != entries {
            return Err(vision.refuse("num_position_embeddings", entries, "a square number"));
        }
        let depth = vision.count("depth")?;
        let taps = vision.counts("deepstack_visual_indexes")?;
        let ascending = taps.windows(2).all(|pair| pair.first() < pair.last());
        if !ascending || taps.iter().any(|t| *t >= depth) || taps.len() > text.layers {
            let expected = format!(
                "ascending block indexes below depth {depth}, at most {} (text layers)",
                text.layers
            );
            return Err(vision.refuse("deepstack_visual_indexes", format!("{taps:?}"), expected));
        }
        let rope_theta = match vision.get("rope_parameters") {
            None => VISION_ROPE_THETA,
            Some(_) => {
                let rope = vision.object("rope_parameters")?;
                rope.only("rope_type", &json!("axial"), true)?;
                rope.positive("rope_theta")?
            }
        };
        Ok(Self {
            depth,
            hidden,
            intermediate: vision.count("intermediate_size")?,
            heads,
            channels: vision.count("in_channels")?,
            patch: vision.count("patch_size")?,
            temporal_patch: vision.count("temporal_patch_size")?,
            merge: vision.count("spatial_merge_size")?,
            table_side,
            taps,
            rope_theta,
        })
    }
}
