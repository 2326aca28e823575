//! How does a picture become the rows a vision tower reads? Bytes are decoded to RGB ([`decode()`]), the target
//! size follows from the pixel budget ([`smart_resize()`]), the picture is resized with one of two exact bicubic
//! filters ([`resize()`]), and colours are scaled and cut into patches ([`Preprocessor`]).
//!
//! The reference is the Qwen2-VL image processor of transformers (Qwen2-VL, Qwen2.5-VL and Qwen3-VL share it);
//! `tests/golden/image.py` names the versions the golden file was made with.

mod config;
mod decode;
mod error;
mod jpeg;
mod patchify;
mod preprocess;
mod resize;
mod smart_resize;
mod weights;

pub use ::image::RgbImage;
pub use decode::{MAX_IMAGE_PIXELS, decode, dimensions, encode_png};
pub use error::ImageError;
pub use preprocess::{Pixels, Preprocessor};
pub use resize::resize;
pub use smart_resize::{MAX_ASPECT_RATIO, smart_resize};
pub use weights::Resizer;

/// Size of a preprocessed picture in patches: frames, rows, columns.
///
/// One row of [`Pixels::values`] belongs to each patch; `merge * merge` patches become one token of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Temporal patches; 1 for a still picture.
    pub t: usize,
    /// Rows of patches.
    pub h: usize,
    /// Columns of patches.
    pub w: usize,
}

impl Grid {
    /// Number of patches, which is the number of rows of the pixel matrix.
    pub fn patches(&self) -> usize {
        self.t * self.h * self.w
    }

    /// Number of tokens the picture takes in the prompt when `merge * merge` patches become one token.
    /// A `merge` of 0 gives 0.
    pub fn tokens(&self, merge: usize) -> usize {
        self.patches().checked_div(merge * merge).unwrap_or(0)
    }
}
