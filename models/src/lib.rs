//! Weights and a prepared prompt in, hidden states out.
//!
//! Which model is it and what does it compute? This crate knows no message roles, opens no files but checkpoints and
//! takes no decisions: [`load`] reads a checkpoint folder strictly, [`Model::encode_picture`] turns pixels into
//! features, [`PreparedPrompt`] binds token ids to pictures and positions, and [`Model::prefill`] pushes a stretch of
//! it through the text model into a [`KvCache`] that forks and rewinds cheaply.
//!
//! ```no_run
//! # fn main() -> Result<(), spare_models::ModelError> {
//! # let (ids, pixels, key) = (vec![1u32, 2, 3], vec![0f32; 1], [0u8; 32]);
//! use spare_models::{Control, KvCache, PreparedPrompt, WeightDtype, image::Grid, load};
//!
//! let model = load("path/to/Qwen3-VL-2B-Instruct".as_ref(), WeightDtype::Auto, &candle_core::Device::Cpu)?;
//! let picture = model.encode_picture(Grid { t: 1, h: 44, w: 80 }, &pixels)?;
//! let trunk = PreparedPrompt::with_pictures(&model, ids, vec![(picture, key)])?;
//! let mut cache = KvCache::new();
//! let last = trunk.len() - 1;
//! let hidden = model.prefill(&trunk, 0..trunk.len(), &mut cache, &[last], &Control::none())?;
//!
//! // The same context with a block of tokens in the middle, behind the prefix that both share.
//! let branch = trunk.splice(&model, last, &[7, 8, 9], trunk.len())?;
//! let mut fork = cache.fork();
//! fork.truncate(branch.common_prefix(&trunk))?;
//! let moved = model.prefill(&branch, fork.len()..branch.len(), &mut fork, &[branch.len() - 1], &Control::none())?;
//! # let _ = (hidden, moved);
//! # Ok(())
//! # }
//! ```

pub mod cache;
pub mod checkpoint;
mod companions;
mod control;
mod decoder;
mod device;
#[cfg(feature = "embedded-model")]
pub mod embedded;
mod error;
mod families;
mod head;
pub mod hub;
pub mod image;
mod linear;
mod llama;
mod memory;
pub mod model;
mod ops;
mod positions;
mod prepared;
pub mod prompt;
mod qwen2_5_vl;
mod qwen2_vl;
mod qwen3;
mod qwen3_vl;
mod qwen3_vl_moe;
#[cfg(feature = "train")]
pub mod train;
mod vision;

pub use cache::KvCache;
pub use candle_core::Device;
pub use checkpoint::{Checkpoint, Inspection, WeightDtype, WeightProblem, human_bytes};
pub use companions::Companions;
pub use control::{Control, Progress};
pub use device::DeviceChoice;
pub use error::ModelError;
pub use families::Family;
pub use memory::available_memory;
pub use model::{
    Attended, BATCH_TOKENS, Branch, Description, Features, HiddenRows, Model, load, load_from_bytes,
};
pub use positions::Positions;
pub use prepared::{PictureSpan, PreparedPrompt};

/// Sets the number of worker threads for everything numeric; only the first call in a process has an effect.
pub fn set_threads(count: usize) {
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build_global();
}
