//! In which order do pixels become the rows of the vision tower's input?

use super::{Grid, RgbImage};
use rayon::prelude::*;

/// Colour value of each byte, a table for each channel.
pub(super) type ColourTable = [[f32; 256]; 3];

/// Patch geometry: side of a patch, frames a patch spans, patches a token merges along each axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PatchShape {
    pub(super) patch: usize,
    pub(super) frames: usize,
    pub(super) merge: usize,
}

impl PatchShape {
    /// Values in one row: channel, frame, row, column, outermost first.
    pub(super) fn row_len(&self) -> usize {
        3 * self.frames * self.patch * self.patch
    }
}

/// Rows `[grid.h * grid.w, row_len]` of a picture whose sides are `grid` times the patch side.
///
/// Rows go by merge cell (row-major), then by patch within the cell (row-major). A still picture is one frame,
/// repeated for each frame a patch spans.
pub(super) fn patchify(
    picture: &RgbImage,
    grid: Grid,
    shape: PatchShape,
    table: &ColourTable,
) -> Vec<f32> {
    let PatchShape {
        patch,
        frames,
        merge,
    } = shape;
    let plane = patch * patch;
    let line = picture.width() as usize * 3;
    let pixels = picture.as_raw();
    let mut values = vec![0.0f32; grid.h * grid.w * shape.row_len()];
    let band = merge * grid.w * shape.row_len();
    values
        .par_chunks_exact_mut(band)
        .enumerate()
        .for_each(|(cell_row, band)| {
            for (i, row) in band.chunks_exact_mut(shape.row_len()).enumerate() {
                let (cell, within) = (i / (merge * merge), i % (merge * merge));
                let top = (cell_row * merge + within / merge) * patch;
                let left = (cell * merge + within % merge) * patch;
                for (channel, (out, table)) in
                    row.chunks_exact_mut(frames * plane).zip(table).enumerate()
                {
                    let (first, copies) = out.split_at_mut(plane);
                    for (y, out) in first.chunks_exact_mut(patch).enumerate() {
                        let source = &pixels[(top + y) * line + left * 3 + channel..];
                        for (value, byte) in out.iter_mut().zip(source.iter().step_by(3)) {
                            *value = table[usize::from(*byte)];
                        }
                    }
                    copies
                        .chunks_exact_mut(plane)
                        .for_each(|copy| copy.copy_from_slice(first));
                }
            }
        });
    values
}
