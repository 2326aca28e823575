//! From files to a model: which names belong to which part?

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::Device;

use super::Model;
use crate::ModelError;
use crate::checkpoint::{Checkpoint, Part, WeightDtype, Weights};
use crate::decoder::TextModel;
use crate::families::Config;
use crate::head::Table;
use crate::vision::Tower;

/// Tokens pushed at a time unless set.
pub(crate) const CHUNK: usize = 512;

/// Tells models apart, so that caches and features of one are refused by another.
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Loads a Qwen3-VL folder.
///
/// # Errors
/// Those of [`Checkpoint::open`] and [`Model::load`].
pub fn load(folder: &Path, dtype: WeightDtype, device: &Device) -> Result<Model, ModelError> {
    Model::load(Checkpoint::open(folder)?, dtype, device)
}

/// Loads a checkpoint from memory: config.json, generation_config.json if there is one, whole safetensors files.
///
/// # Errors
/// Those of [`Checkpoint::from_bytes`] and [`Model::load`].
pub fn load_from_bytes(
    config: &[u8],
    generation_config: Option<&[u8]>,
    weights: Vec<Cow<'static, [u8]>>,
    dtype: WeightDtype,
    device: &Device,
) -> Result<Model, ModelError> {
    let checkpoint = Checkpoint::from_bytes(config, generation_config, weights)?;
    Model::load(checkpoint, dtype, device)
}

type Parts = (Option<Box<dyn Tower>>, TextModel, Option<Table>);

impl Model {
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
        build(&config, &mut weights)?;
        let checked = weights.checked()?;
        let mut weights = Weights::loading(&checkpoint, &checked, dtype, device);
        let (vision, text, head) = build(&config, &mut weights)?;
        weights.loaded()?;
        Ok(Self {
            config,
            vision,
            text,
            head,
            device: device.clone(),
            parameters: checked.parameters,
            kept: checked.kept(dtype),
            weight_bytes: checked.bytes(dtype),
            checkpoint,
            chunk: CHUNK,
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            encoded: AtomicU64::new(0),
        })
    }
}

/// All parts from their tensors. The released naming first, then that of MLX exports and of the oldest files.
pub(crate) fn build(config: &Config, weights: &mut Weights) -> Result<Parts, ModelError> {
    let text = weights.prefix(
        "text model",
        &["model.language_model.", "language_model.model.", "model."],
        "embed_tokens.weight",
    );
    // Where the head is absent it is the embedding table, whatever the tie flags say; where it is present it counts.
    let head = weights.prefix("head", &["lm_head.", "language_model.lm_head."], "weight");
    let hidden = config.text.hidden;
    let vision = match &config.vision {
        None => None,
        Some(vision) => {
            let prefix = weights.prefix(
                "vision tower",
                &["model.visual.", "visual.", "vision_tower."],
                "patch_embed.proj.weight",
            );
            weights.enter(Part::Tower);
            let prefix = prefix.unwrap_or("model.visual.");
            Some(vision.tower.load(hidden, weights, prefix)?)
        }
    };
    weights.enter(Part::Text);
    let prefix = text.unwrap_or(match &config.vision {
        Some(_) => "model.language_model.",
        None => "model.",
    });
    let text = TextModel::load(&config.text, weights, prefix)?;
    let head = head
        .map(|prefix| weights.table(&format!("{prefix}weight"), config.text.vocab, hidden))
        .transpose()?;
    Ok((vision, text, head))
}
