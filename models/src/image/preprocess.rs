//! What does the vision tower get for a picture, and how many tokens will that be?

use super::error::ImageError;
use super::patchify::{ColourTable, PatchShape, patchify};
use super::smart_resize::smart_resize;
use super::weights::Resizer;
use super::{Grid, RgbImage, resize};

/// A picture as the vision tower reads it.
#[derive(Debug, Clone, PartialEq)]
pub struct Pixels {
    /// Size in patches.
    pub grid: Grid,
    /// Row-major `[grid.t * grid.h * grid.w, 3 * temporal_patch_size * patch_size^2]`, normalised. Rows go by merge
    /// cell, then by patch within the cell; a row goes by channel, frame, line, column.
    pub values: Vec<f32>,
}

/// The image processor of a checkpoint: turns an RGB picture into [`Pixels`].
///
/// Made from the text of preprocessor_config.json with [`Preprocessor::from_json`]. Values equal those of the
/// Qwen2-VL image processor of transformers bit for bit.
#[derive(Debug, Clone, PartialEq)]
pub struct Preprocessor {
    pub(super) shape: PatchShape,
    pub(super) min_pixels: u64,
    pub(super) max_pixels: u64,
    pub(super) do_resize: bool,
    /// `rescale_factor` when do_rescale.
    pub(super) rescale: Option<f64>,
    /// Mean and standard deviation of each channel when do_normalize.
    pub(super) normalize: Option<[[f32; 3]; 2]>,
    pub(super) resizer: Resizer,
}

impl Preprocessor {
    /// The same preprocessor with another reference resizer.
    pub fn with_resizer(mut self, resizer: Resizer) -> Self {
        self.resizer = resizer;
        self
    }

    /// The same preprocessor with another pixel budget, as a caller of the reference would pass
    /// `size={"shortest_edge": min_pixels, "longest_edge": max_pixels}`.
    pub fn with_pixel_budget(mut self, min_pixels: u64, max_pixels: u64) -> Self {
        (self.min_pixels, self.max_pixels) = (min_pixels, max_pixels);
        self
    }

    /// Which reference the resized bytes equal.
    pub fn resizer(&self) -> Resizer {
        self.resizer
    }

    /// Side of a patch in pixels.
    pub fn patch_size(&self) -> usize {
        self.shape.patch
    }

    /// Frames a patch spans.
    pub fn temporal_patch_size(&self) -> usize {
        self.shape.frames
    }

    /// Patches along each axis that become one token.
    pub fn merge_size(&self) -> usize {
        self.shape.merge
    }

    /// Smallest and largest number of pixels a resized picture has.
    pub fn pixel_budget(&self) -> (u64, u64) {
        (self.min_pixels, self.max_pixels)
    }

    /// Values in one row of [`Pixels::values`].
    pub fn row_len(&self) -> usize {
        self.shape.row_len()
    }

    /// Grid of a picture of `width` x `height` pixels, without looking at its pixels.
    ///
    /// # Errors
    /// Those of [`smart_resize`]; with do_resize false [`ImageError::NotDivisible`] when the sides are no multiples
    /// of `patch_size * merge_size`.
    pub fn grid_for(&self, width: u32, height: u32) -> Result<Grid, ImageError> {
        let (width, height) = self.target(width, height)?;
        Ok(self.grid_of(width, height))
    }

    /// Resizes, scales, normalises and cuts `picture`. The work is spread over rayon's current thread pool.
    ///
    /// # Errors
    /// Those of [`Preprocessor::grid_for`].
    pub fn process(&self, picture: &RgbImage) -> Result<Pixels, ImageError> {
        let (width, height) = self.target(picture.width(), picture.height())?;
        let grid = self.grid_of(width, height);
        let resized = resize(picture, width, height, self.resizer)?;
        let values = patchify(&resized, grid, self.shape, &self.colours());
        Ok(Pixels { grid, values })
    }

    /// Grid of a picture that has its final size.
    fn grid_of(&self, width: u32, height: u32) -> Grid {
        let patch = self.shape.patch;
        Grid {
            t: 1,
            h: height as usize / patch,
            w: width as usize / patch,
        }
    }

    /// Size in pixels that a picture gets.
    fn target(&self, width: u32, height: u32) -> Result<(u32, u32), ImageError> {
        let factor = self.shape.patch * self.shape.merge;
        if self.do_resize {
            return smart_resize(width, height, factor, self.min_pixels, self.max_pixels);
        }
        let (long_width, long_height) = (u64::from(width), u64::from(height));
        if width == 0 || height == 0 {
            return Err(ImageError::NoArea {
                width: long_width,
                height: long_height,
            });
        }
        let fits = |side: u32| (side as usize).is_multiple_of(factor);
        if !fits(width) || !fits(height) {
            return Err(ImageError::NotDivisible {
                width: long_width,
                height: long_height,
                factor,
            });
        }
        Ok((width, height))
    }

    /// Value of each byte in each channel. A byte has 256 values, so a table is exact; each entry follows the
    /// reference's own order of f32 operations, which differs between the two.
    fn colours(&self) -> ColourTable {
        let mut table = [[0.0; 256]; 3];
        for (channel, table) in table.iter_mut().enumerate() {
            for (byte, value) in table.iter_mut().enumerate() {
                *value = self.colour(byte as f32, channel);
            }
        }
        table
    }

    fn colour(&self, byte: f32, channel: usize) -> f32 {
        match (self.resizer, self.rescale, self.normalize) {
            // Rescaling is fused into mean and standard deviation.
            (Resizer::Torchvision, Some(factor), Some([mean, std])) => {
                let inverse = (1.0 / factor) as f32;
                (byte - mean[channel] * inverse) / (std[channel] * inverse)
            }
            (Resizer::Torchvision, Some(factor), None) => byte * factor as f32,
            (Resizer::Pil, Some(factor), normalize) => {
                let scaled = (f64::from(byte) * factor) as f32;
                normalize.map_or(scaled, |[mean, std]| {
                    (scaled - mean[channel]) / std[channel]
                })
            }
            (_, None, Some([mean, std])) => (byte - mean[channel]) / std[channel],
            (_, None, None) => byte,
        }
    }
}
