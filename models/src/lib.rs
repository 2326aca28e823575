//! Models.

pub mod prompt;
