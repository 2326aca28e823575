//! Models.

pub mod image;
pub mod prompt;
