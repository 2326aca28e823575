//! Which family does a config.json belong to?

use std::fmt;

use serde_json::Value;

use crate::ModelError;
use crate::checkpoint::{Checkpoint, Fields, Weights};
use crate::decoder::TextConfig;
use crate::vision::Tower;
use crate::{llama, qwen2_5_vl, qwen2_vl, qwen3, qwen3_vl, qwen3_vl_moe};

/// The families that load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// Qwen2-VL.
    Qwen2Vl,
    /// Qwen2.5-VL.
    Qwen2_5Vl,
    /// Qwen3-VL, dense.
    Qwen3Vl,
    /// Qwen3-VL with experts.
    Qwen3VlMoe,
    /// Qwen3, text only.
    Qwen3,
    /// Llama, text only.
    Llama,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Qwen2Vl,
        Self::Qwen2_5Vl,
        Self::Qwen3Vl,
        Self::Qwen3VlMoe,
        Self::Qwen3,
        Self::Llama,
    ];

    /// The name that config.json has under `architectures`.
    pub fn architecture(self) -> &'static str {
        match self {
            Self::Qwen2Vl => "Qwen2VLForConditionalGeneration",
            Self::Qwen2_5Vl => "Qwen2_5_VLForConditionalGeneration",
            Self::Qwen3Vl => "Qwen3VLForConditionalGeneration",
            Self::Qwen3VlMoe => "Qwen3VLMoeForConditionalGeneration",
            Self::Qwen3 => "Qwen3ForCausalLM",
            Self::Llama => "LlamaForCausalLM",
        }
    }

    /// The name that config.json has under `model_type`.
    pub fn model_type(self) -> &'static str {
        match self {
            Self::Qwen2Vl => "qwen2_vl",
            Self::Qwen2_5Vl => "qwen2_5_vl",
            Self::Qwen3Vl => "qwen3_vl",
            Self::Qwen3VlMoe => "qwen3_vl_moe",
            Self::Qwen3 => "qwen3",
            Self::Llama => "llama",
        }
    }

    /// By the first of `architectures`; where there is none, by `model_type`.
    fn of(config: &Fields) -> Result<Self, ModelError> {
        let named = config.get("architectures").and_then(|v| v.get(0));
        let model_type = config.get("model_type");
        let known = |family: &Self| match named {
            Some(name) => name == family.architecture(),
            None => model_type.is_some_and(|kind| kind == family.model_type()),
        };
        Self::ALL.into_iter().find(known).ok_or_else(|| {
            let found = named.or(model_type).map(Value::to_string);
            ModelError::Architecture {
                place: config.place().into(),
                found: found.unwrap_or_else(|| "nothing".into()),
                known: Self::ALL.map(Self::architecture).join(", "),
            }
        })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.architecture())
    }
}

/// Everything that the implementation needs from config.json.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    pub(crate) family: Family,
    pub(crate) text: TextConfig,
    /// `None`: a model without a tower.
    pub(crate) vision: Option<Vision>,
    pub(crate) eos: Vec<u32>,
}

/// What a model that sees has besides its text half.
#[derive(Debug, Clone)]
pub(crate) struct Vision {
    pub(crate) tower: TowerConfig,
    pub(crate) image_token: u32,
    pub(crate) video_token: u32,
}

/// A family's vision_config.
#[derive(Debug, Clone)]
pub(crate) enum TowerConfig {
    Qwen2(qwen2_vl::VisionConfig),
    Qwen2_5(qwen2_5_vl::VisionConfig),
    Qwen3(qwen3_vl::VisionConfig),
}

impl TowerConfig {
    /// Patches along one side of a merge cell.
    pub(crate) fn merge(&self) -> usize {
        match self {
            Self::Qwen2(config) => config.shape.merge,
            Self::Qwen2_5(config) => config.shape.merge,
            Self::Qwen3(config) => config.shape.merge,
        }
    }

    /// How many of the first text layers get features of the tower added.
    pub(crate) fn deepstack(&self) -> usize {
        match self {
            Self::Qwen3(config) => config.taps.len(),
            _ => 0,
        }
    }

    /// Builds the tower from the tensors under `prefix`.
    pub(crate) fn load(
        &self,
        text_hidden: usize,
        weights: &mut Weights,
        prefix: &str,
    ) -> Result<Box<dyn Tower>, ModelError> {
        Ok(match self {
            Self::Qwen2(config) => Box::new(qwen2_vl::VisionTower::load(
                config,
                text_hidden,
                weights,
                prefix,
            )?),
            Self::Qwen2_5(config) => Box::new(qwen2_5_vl::VisionTower::load(
                config,
                text_hidden,
                weights,
                prefix,
            )?),
            Self::Qwen3(config) => Box::new(qwen3_vl::VisionTower::load(
                config,
                text_hidden,
                weights,
                prefix,
            )?),
        })
    }
}

impl Config {
    pub(crate) fn read(checkpoint: &Checkpoint) -> Result<Self, ModelError> {
        let config = checkpoint.config()?;
        let family = Family::of(&config)?;
        if let Some(found) = config.get("quantization_config") {
            return Err(config.refuse("quantization_config", found, "no quantisation"));
        }
        // The oldest Qwen2-VL files have the text fields at the top.
        let text_fields = match config.get("text_config") {
            Some(_) => config.object("text_config")?,
            None => match family {
                Family::Qwen3Vl | Family::Qwen3VlMoe => config.object("text_config")?,
                _ => config.clone(),
            },
        };
        let text = TextConfig::read(
            &text_fields,
            match family {
                Family::Qwen2Vl | Family::Qwen2_5Vl => qwen2_vl::TEXT,
                Family::Qwen3Vl => qwen3_vl::TEXT,
                Family::Qwen3VlMoe => qwen3_vl_moe::TEXT,
                Family::Qwen3 => qwen3::TEXT,
                Family::Llama => llama::TEXT,
            },
        )?;
        let experts = text.experts.is_some();
        if experts != (family == Family::Qwen3VlMoe) {
            let (found, expected) = if experts {
                ("experts", "a dense model")
            } else {
                ("nothing", "a number of experts")
            };
            return Err(text_fields.refuse("num_experts", found, expected));
        }
        Ok(Self {
            family,
            vision: Vision::read(&config, family, &text)?,
            eos: eos(checkpoint, &config, &text_fields)?,
            text,
        })
    }
}

impl Vision {
    fn read(
        config: &Fields,
        family: Family,
        text: &TextConfig,
    ) -> Result<Option<Self>, ModelError> {
        if matches!(family, Family::Qwen3 | Family::Llama) {
            return Ok(None);
        }
        let vision = config.object("vision_config")?;
        let tower = match family {
            Family::Qwen2Vl => TowerConfig::Qwen2(qwen2_vl::VisionConfig::read(&vision, text)?),
            Family::Qwen2_5Vl => {
                TowerConfig::Qwen2_5(qwen2_5_vl::VisionConfig::read(&vision, text)?)
            }
            _ => TowerConfig::Qwen3(qwen3_vl::VisionConfig::read(&vision, text)?),
        };
        let image_token = config.id("image_token_id")?;
        if image_token as usize >= text.vocab {
            let expected = format!("an id below vocab_size {}", text.vocab);
            return Err(config.refuse("image_token_id", image_token, expected));
        }
        Ok(Some(Self {
            tower,
            image_token,
            video_token: config.id("video_token_id")?,
        }))
    }
}

/// End-of-sequence ids of generation_config.json, else of config.json, else of its text half.
fn eos(checkpoint: &Checkpoint, config: &Fields, text: &Fields) -> Result<Vec<u32>, ModelError> {
    if let Some(generation) = checkpoint.generation_config()? {
        let ids = generation.ids("eos_token_id")?;
        if !ids.is_empty() {
            return Ok(ids);
        }
    }
    match config.ids("eos_token_id")? {
        ids if !ids.is_empty() => Ok(ids),
        _ => text.ids("eos_token_id"),
    }
}
