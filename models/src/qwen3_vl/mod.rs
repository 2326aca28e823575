//! How does a Qwen3-VL checkpoint turn a prepared prompt into hidden states?
//!
//! Dense Qwen3-VL, numerically that of transformers 5.24 with eager attention in f32: interleaved multimodal rotary
//! positions, queries and keys normed per head, features of the vision tower in place of the placeholders and, by deepstack,
//! on top of the first layers' outputs.

mod config;
mod forward;
mod greedy;
mod grid;
mod load;
mod rope;
mod text;
mod vision;

use std::fmt;
use std::sync::Arc;

use candle_core::{Device, Tensor};

pub(crate) use config::ARCHITECTURE;
pub use forward::{HiddenRows, States};
pub use load::{load, load_from_bytes};

use crate::checkpoint::Checkpoint;
use crate::head::{HeadWeight, Table};
use crate::image::Grid;
use crate::{ModelError, WeightDtype};
use config::Config;
use text::TextModel;
use vision::VisionTower;

/// A loaded model: immutable, shareable between threads. Everything that changes lives in [`crate::KvCache`].
#[derive(Debug)]
pub struct Qwen3Vl {
    config: Config,
    vision: VisionTower,
    text: TextModel,
    /// `None` where the head is the embedding table.
    head: Option<Table>,
    checkpoint: Checkpoint,
    device: Device,
    parameters: u64,
    bf16: bool,
    chunk: usize,
    id: u64,
}

/// What a loaded model is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Name in config.json.
    pub architecture: &'static str,
    /// Weights in the checkpoint.
    pub parameters: u64,
    /// The type in which weight matrices are kept: `F32` or `Bf16`.
    pub dtype: WeightDtype,
    /// Text layers.
    pub layers: usize,
    /// Width of the text model.
    pub hidden_size: usize,
    /// Rows of the head.
    pub vocab_size: usize,
    /// Folder it came from.
    pub place: String,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = match self.dtype {
            WeightDtype::Bf16 => "bf16",
            _ => "f32",
        };
        write!(
            f,
            "{}, {:.1} M parameters in {dtype}, {} layers of width {}, vocabulary of {}",
            self.architecture,
            self.parameters as f64 / 1e6,
            self.layers,
            self.hidden_size,
            self.vocab_size
        )
    }
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

    pub(crate) fn owner(&self) -> u64 {
        self.0.owner
    }
}

impl Qwen3Vl {
    /// Rows of the head: every token id is below.
    pub fn vocab_size(&self) -> usize {
        self.config.text.vocab
    }

    /// Width of the hidden states.
    pub fn hidden_size(&self) -> usize {
        self.config.text.hidden
    }

    /// End-of-sequence ids of generation_config.json, else of config.json; empty where neither names one.
    pub fn eos(&self) -> &[u32] {
        &self.config.eos
    }

    /// The id of the picture placeholder.
    pub fn image_token(&self) -> u32 {
        self.config.image_token
    }

    /// Placeholder ids of pictures and videos.
    pub(crate) fn placeholder_ids(&self) -> (u32, u32) {
        (self.config.image_token, self.config.video_token)
    }

    /// Patches along one side of a merge cell.
    pub fn merge_size(&self) -> usize {
        self.config.vision.merge
    }

    /// Placeholder tokens that a picture of this grid takes.
    pub fn picture_tokens(&self, grid: Grid) -> usize {
        grid.t * (grid.h / self.merge_size()) * (grid.w / self.merge_size())
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The head's weight, `[vocab, hidden]`: `lm_head.weight` where the checkpoint has one, else the embedding table.
    pub fn head(&self) -> HeadWeight<'_> {
        self.head_table().weight()
    }

    fn head_table(&self) -> &Table {
        self.head.as_ref().unwrap_or(&self.text.embeddings)
    }

    /// Tokens that have gone through the text model since it was loaded, counted inside its forward pass.
    pub fn pushed(&self) -> u64 {
        self.text.pushed()
    }

    /// SHA-256 over config.json and all weight files; see [`Checkpoint::hash`]. Computed at the first call.
    pub fn weights_hash(&self) -> [u8; 32] {
        self.checkpoint.hash()
    }

    /// Size, type and origin.
    pub fn describe(&self) -> Description {
        Description {
            architecture: "Qwen3VLForConditionalGeneration",
            parameters: self.parameters,
            dtype: if self.bf16 {
                WeightDtype::Bf16
            } else {
                WeightDtype::F32
            },
            layers: self.config.text.layers,
            hidden_size: self.hidden_size(),
            vocab_size: self.vocab_size(),
            place: self.checkpoint.place().into(),
        }
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
    /// [`ModelError::Picture`] where grid and values do not fit the tower or a value is not finite.
    pub fn encode_picture(&self, grid: Grid, values: &[f32]) -> Result<Features, ModelError> {
        let out = self.vision.encode(grid, values, &self.device)?;
        Ok(Features(Arc::new(FeatureTensors {
            owner: self.id,
            grid,
            rows: out.merged.dim(0)?,
            merged: out.merged,
            deepstack: out.deepstack,
        })))
    }
}
