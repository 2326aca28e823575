//! How are weights trained on the CPU?
//!
//! A graph over [`Params`] (f32, loaded from and saved to the checkpoint's own names) that uses only operations with a backward pass;
//! its logits are those of [`crate::Model`] on the same checkpoint. [`Trainer`] adds AdamW, a schedule, checkpoints and resuming. What
//! is learnt (which tokens, with what weight) is the caller's choice, sequence by sequence.

mod adamw;
mod adapter;
mod batch;
mod error;
mod model;
mod ops;
mod params;
mod schedule;
mod state;
mod text;
mod tower;
mod trainer;

pub use adamw::AdamW;
pub use adapter::LoraSettings;
pub use batch::{Sequence, TrainPicture};
pub use error::TrainError;
pub use model::{Outcome, TrainModel};
pub use params::{Params, SavedDtype};
pub use schedule::Schedule;
pub use trainer::{Rate, Settings, Step, Trainer};
