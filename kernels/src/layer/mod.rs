//! What stands between the products of a layer, each in one pass over memory?
//!
//! Everything is f32 and row by row: a row's bits depend on nothing but the row. Long inputs are shared out on
//! the current rayon pool.

mod activation;
mod norm;
mod rotary;
mod sum;

pub use activation::{gelu_tanh, gelu_tanh_on, swiglu, swiglu_on};
pub use norm::{RmsNorm, rms_norm};
pub use rotary::{Rotation, rotary};
pub use sum::add_to;

/// Values from which on rows are shared out among threads.
const LARGE: usize = 1 << 15;
