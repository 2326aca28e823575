//! Makes long runs of multimodal agents lighter without making them blind.

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "engine")]
mod engine;
pub mod error;
pub mod evidence;
pub mod formats;
pub mod plan;
#[cfg(feature = "engine")]
mod pruner;
#[cfg(feature = "engine")]
pub mod replay;
pub mod rules;
pub mod score;
pub mod summary;
pub mod trajectory;

#[cfg(feature = "engine")]
pub use engine::Engine;
pub use error::Error;
#[cfg(feature = "engine")]
pub use pruner::{EventOutcome, PruneOptions, Pruned, Pruner};
#[cfg(feature = "engine")]
pub use spare_models::{Control, WeightDtype};
