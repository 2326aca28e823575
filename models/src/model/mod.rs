//! How does a checkpoint turn a prepared prompt into hidden states?
//!
//! One model type for every family: a decoder and, where the family sees, a tower. Numerically that of transformers 5.24 with
//! eager attention in f32.

mod attended;
mod branches;
mod describe;
mod forward;
mod greedy;
mod load;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::{Device, Tensor};
use spare_kernels::Weight;

pub use attended::Attended;
pub use branches::{BATCH_TOKENS, Branch};
pub use describe::Description;
pub use forward::{HiddenRows, States};
pub(crate) use load::{CHUNK, build};
pub use load::{load, load_from_bytes};

use crate::ModelError;
use crate::checkpoint::Checkpoint;
use crate::decoder::TextModel;
use crate::families::Config;
use crate::head::Table;
use crate::image::Grid;
use crate::vision::Tower;

/// A loaded model: immutable, shareable between threads. Everything that changes lives in [`crate::KvCache`].
#[derive(Debug)]
pub struct Model {
    config: Config,
    /// `None`: the model cannot see.
    vision: Option<Box<dyn Tower>>,
    text: TextModel,
    /// `None` where the head is the embedding table.
    head: Option<Table>,
    checkpoint: Checkpoint,
    device: Device,
    parameters: u64,
    kept: String,
    weight_bytes: u64,
    chunk: usize,
    id: u64,
    encoded: AtomicU64,
}

/// What the vision tower made of one picture. Opaque to callers; cloning shares it.
#[derive(Debug, Clone)]
pub struct Features(Arc<FeatureTensors>);

#[derive(Debug)]
struct FeatureTensors {
    owner: u64,
    grid: Grid,
    rows: usize,
    merged: Tensor,
    deepstack: Vec<Tensor>,
}

impl Features {
    /// Placeholder tokens that the picture takes.
    pub fn rows(&self) -> usize {
        self.0.rows
    }

    /// The patch grid.
    pub fn grid(&self) -> Grid {
        self.0.grid
    }

    /// Bytes that all features take.
    pub fn bytes(&self) -> u64 {
        let all = self.0.deepstack.iter().chain([&self.0.merged]);
        all.map(|t| 4 * t.elem_count() as u64).sum()
    }

    pub(crate) fn owner(&self) -> u64 {
        self.0.owner
    }
}

impl Model {
    /// Rows of the head: every token id is below.
    pub fn vocab_size(&self) -> usize {
        self.config.text.vocab
    }

    /// Width of the hidden states.
    pub fn hidden_size(&self) -> usize {
        self.config.text.hidden
    }

    /// Bytes of keys and values that one token leaves in a cache.
    pub fn cache_bytes(&self) -> u64 {
        let narrow = self.text.cache_dtype().size_in_bytes() as u64;
        self.config.text.cache_bytes() / 4 * narrow
    }

    /// End-of-sequence ids of generation_config.json, else of config.json; empty where neither names one.
    pub fn eos(&self) -> &[u32] {
        &self.config.eos
    }

    /// The id of the picture placeholder; `None` for a model that cannot see.
    pub fn image_token(&self) -> Option<u32> {
        self.config.vision.as_ref().map(|vision| vision.image_token)
    }

    /// Whether there is a vision tower.
    pub fn sees(&self) -> bool {
        self.vision.is_some()
    }

    /// Placeholder ids of pictures and videos.
    pub(crate) fn placeholder_ids(&self) -> Option<(u32, u32)> {
        let vision = self.config.vision.as_ref()?;
        Some((vision.image_token, vision.video_token))
    }

    /// Patches along one side of a merge cell; 1 for a model that cannot see.
    pub fn merge_size(&self) -> usize {
        self.config
            .vision
            .as_ref()
            .map_or(1, |vision| vision.tower.merge())
    }

    /// Placeholder tokens that a picture of this grid takes.
    pub fn picture_tokens(&self, grid: Grid) -> usize {
        grid.t * (grid.h / self.merge_size()) * (grid.w / self.merge_size())
    }

    fn tower(&self) -> Result<&dyn Tower, ModelError> {
        self.vision.as_deref().ok_or_else(|| ModelError::Picture {
            what: "model",
            found: format!("{}, which has no vision tower", self.config.family),
            expected: "a model that sees".into(),
        })
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The head's weight, `[vocab, hidden]`: `lm_head.weight` where the checkpoint has one, else the embedding table.
    pub fn head(&self) -> Weight<'_> {
        self.head_table().weight()
    }

    /// Whether this process rounds hidden states to bf16 when it multiplies them by the head, as every other product of this
    /// model does: beside bf16 weights on CPUs that multiply bf16 by bf16.
    pub fn head_rounds_rows(&self) -> bool {
        self.head_table().rounds_rows()
    }

    fn head_table(&self) -> &Table {
        self.head.as_ref().unwrap_or(&self.text.embeddings)
    }

    /// Tokens that have gone through the text model since it was loaded, counted inside its forward pass.
    pub fn pushed(&self) -> u64 {
        self.text.pushed()
    }

    /// Packs of tokens that have been handed to the text model: a prefill is one, whatever its chunks, and so is each pack of branches.
    pub fn calls(&self) -> u64 {
        self.text.calls()
    }

    /// Pictures that have gone through the vision tower since the model was loaded.
    pub fn encoded(&self) -> u64 {
        self.encoded.load(Ordering::Relaxed)
    }

    /// SHA-256 over config.json and all weight files; see [`Checkpoint::hash`]. Computed at the first call.
    pub fn weights_hash(&self) -> [u8; 32] {
        self.checkpoint.hash()
    }

    /// The same model pushing at most `tokens` tokens at a time (at least 1; 512 unless set). The size moves low bits only.
    #[must_use]
    pub fn with_chunk(mut self, tokens: usize) -> Self {
        self.chunk = tokens.max(1);
        self
    }

    /// Runs the vision tower over one picture: `values` is `[h*w, channels*time*patch*patch]` in merge-cell order.
    ///
    /// # Errors
    /// [`ModelError::Picture`] where there is no tower, grid and values do not fit it or a value is not finite.
    pub fn encode_picture(&self, grid: Grid, values: &[f32]) -> Result<Features, ModelError> {
        let out = self.tower()?.encode(grid, values, &self.device)?;
        self.encoded.fetch_add(1, Ordering::Relaxed);
        Ok(Features(Arc::new(FeatureTensors {
            owner: self.id,
            grid,
            rows: out.merged.dim(0)?,
            merged: out.merged,
            deepstack: out.deepstack,
        })))
    }
}
