//! Is each model exactly the one that transformers computes? Golden data and the scripts that made them: `tests/golden`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attended;
mod bf16;
mod branches;
mod broken;
mod configs;
mod dtypes;
mod edited;
mod exact;
mod golden;
mod greedy;
mod moe;
mod pictures;
mod refused;
mod replay;
mod shards;
mod windows;
