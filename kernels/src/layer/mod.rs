//! What stands between the products of a layer, each in one pass over memory?
//!
//! Everything is f32 and row by row: a row's bits depend on nothing but the row. Long inputs are shared out on
//! the current rayon pool.

mod activation;
mod norm;
mod rotary;

pub use activation::{gelu_tanh, gelu_tanh_on, swiglu, swiglu_on};
pub use norm::{RmsNorm, add_rms_norm, rms_norm};
pub use rotary::{Rotation, rotary};

/// Values from which on rows are shared out among threads.
const LARGE: usize = 1 << 15;
