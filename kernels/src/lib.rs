//! Numbers only: what does one distribution say about another, and at what cost? Functions on slices,
//! without a tensor library; nothing here knows models, messages or files.

pub mod attention;
pub mod gemm;
pub mod layer;
mod memory;
mod path;
pub mod reverse_kl;
mod shape;
mod simd;

pub use memory::keep_freed_memory;
pub use path::{PATH_VARIABLE, Path};
pub use reverse_kl::{
    Blocking, Divergence, HeadError, HeadInput, Options, Precision, Weight, reverse_kl,
};
pub use shape::ShapeError;
