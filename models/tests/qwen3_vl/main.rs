//! Is the model exactly the one that transformers computes? Golden data and the script that made them: `tests/golden`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod broken;
mod configs;
mod exact;
mod golden;
mod greedy;
mod refused;
mod replay;
