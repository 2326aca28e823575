//! Models.

pub mod image;
