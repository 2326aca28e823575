//! From files to a model: which names belong to which part?

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::Device;

use super::Qwen3Vl;
use super::config::Config;
use super::text::TextModel;
use super::vision::VisionTower;
use crate::ModelError;
use crate::checkpoint::{Checkpoint, WeightDtype, Weights};
use crate::head::Table;

/// Tokens pushed at a time unless set.
const CHUNK: usize = 512;

/// Tells models apart, so that caches and features of one are refused by another.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Loads a Qwen3-VL folder.
///
/// # Errors
/// Those of [`Checkpoint::open`] and [`Qwen3Vl::load`].
pub fn load(folder: &Path, dtype: WeightDtype, device: &Device) -> Result<Qwen3Vl, ModelError> {
    Qwen3Vl::load(Checkpoint::open(folder)?, dtype, device)
}

/// Loads a checkpoint from memory: config.json, generation_config.json if there is one, whole safetensors files.
///
/// # Errors
/// Those of [`Checkpoint::from_bytes`] and [`Qwen3Vl::load`].
pub fn load_from_bytes(
    config: &[u8],
    generation_config: Option<&[u8]>,
    weights: Vec<Cow<'static, [u8]>>,
    dtype: WeightDtype,
    device: &Device,
) -> Result<Qwen3Vl, ModelError> {
    let checkpoint = Checkpoint::from_bytes(config, generation_config, weights)?;
    Qwen3Vl::load(checkpoint, dtype, device)
}

type Parts = (VisionTower, TextModel, Option<Table>);

impl Qwen3Vl {
    /// Checks a checkpoint against its configuration and reads it.
    ///
    /// # Errors
    /// [`ModelError::Architecture`] and [`ModelError::Config`] for what is not implemented; one [`ModelError::Weights`]
    /// that names every missing, unexpected, misshapen, mistyped or non-finite tensor and every missing file.
    pub fn load(
        checkpoint: Checkpoint,
        dtype: WeightDtype,
        device: &Device,
    ) -> Result<Self, ModelError> {
        let config = Config::read(&checkpoint)?;
        let mut weights = Weights::checking(&checkpoint);
        parts(&config, &mut weights)?;
        let checked = weights.finish(dtype)?;
        let mut weights = Weights::loading(&checkpoint, checked, device);
        let (vision, text, head) = parts(&config, &mut weights)?;
        Ok(Self {
            config,
            vision,
            text,
            head,
            checkpoint,
            device: device.clone(),
            parameters: checked.parameters,
            bf16: checked.bf16,
            chunk: CHUNK,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// The released naming first, then that of MLX exports and of the oldest files.
fn parts(config: &Config, weights: &mut Weights) -> Result<Parts, ModelError> {
    let text = weights.prefix(
        "text model",
        &["model.language_model.", "language_model.model.", "model."],
        "embed_tokens.weight",
    );
    let vision = weights.prefix(
        "vision tower",
        &["model.visual.", "visual.", "vision_tower."],
        "patch_embed.proj.weight",
    );
    // Where the head is absent it is the embedding table, whatever the tie flags say; where it is present it counts.
    let head = weights.prefix("head", &["lm_head.", "language_model.lm_head."], "weight");
    let vision = VisionTower::load(
        &config.vision,
        config.text.hidden,
        weights,
        vision.unwrap_or("model.visual."),
    )?;
    let text = TextModel::load(
        &config.text,
        weights,
        text.unwrap_or("model.language_model."),
    )?;
    let head = head
        .map(|prefix| {
            weights.table(
                &format!("{prefix}weight"),
                config.text.vocab,
                config.text.hidden,
            )
        })
        .transpose()?;
    Ok((vision, text, head))
}
