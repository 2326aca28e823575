//! Does the trainer compute what PyTorch and the inference model compute, and does a stopped run go on as if it had not been stopped?
//! Gradients of PyTorch: `tests/golden/models/gradients.py`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adapters;
mod files;
mod gradients;
mod runs;
