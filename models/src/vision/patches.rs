//! Which values make a patch, and where on the picture does it stand?

use candle_core::{Device, Tensor};

use super::TowerShape;
use super::grid::patches_in_merge_order;
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::decoder::{inverse_frequencies, tables};
use crate::image::Grid;
use crate::linear::Linear;

/// The patch embedding and the rotary frequencies.
#[derive(Debug)]
pub(crate) struct Patches {
    embed: Linear,
    merge: usize,
    width: usize,
    frequencies: Vec<f32>,
}

impl Patches {
    pub(crate) fn load(
        shape: &TowerShape,
        weights: &mut Weights,
        prefix: &str,
        bias: bool,
    ) -> Result<Self, ModelError> {
        let kernel = [
            shape.hidden,
            shape.channels,
            shape.temporal_patch,
            shape.patch,
            shape.patch,
        ];
        // The kernel's stride is its size, so the convolution is a product with flattened patches.
        let weight = weights.matrix(&format!("{prefix}patch_embed.proj.weight"), &kernel)?;
        let bias = bias
            .then(|| weights.vector(&format!("{prefix}patch_embed.proj.bias"), shape.hidden))
            .transpose()?;
        Ok(Self {
            embed: Linear::new(weight, bias),
            merge: shape.merge,
            width: shape.patch_width(),
            // A quarter of a head's dimensions are pairs turned by the row, a quarter by the column.
            frequencies: inverse_frequencies(shape.rope_theta, shape.hidden / shape.heads / 2),
        })
    }

    /// Checks a picture's grid and values and embeds them: `[patches, hidden]`.
    pub(crate) fn embed(
        &self,
        grid: Grid,
        values: &[f32],
        device: &Device,
    ) -> Result<Tensor, ModelError> {
        let patches = self.check(grid, values)?;
        let pixels = Tensor::from_slice(values, (patches, self.width), device)?;
        Ok(self.embed.forward(&pixels)?)
    }

    fn check(&self, grid: Grid, values: &[f32]) -> Result<usize, ModelError> {
        let refuse = |what, found: String, expected: String| ModelError::Picture {
            what,
            found,
            expected,
        };
        let Grid { t, h, w } = grid;
        if t != 1 {
            return Err(refuse(
                "frames",
                t.to_string(),
                "1 (a still picture)".into(),
            ));
        }
        if h == 0 || w == 0 || !h.is_multiple_of(self.merge) || !w.is_multiple_of(self.merge) {
            let expected = format!("positive multiples of {}", self.merge);
            return Err(refuse(
                "patch rows and columns",
                format!("{h} x {w}"),
                expected,
            ));
        }
        let patches = h.checked_mul(w);
        if patches.and_then(|n| n.checked_mul(self.width)) != Some(values.len()) {
            let expected = format!("{h} * {w} patches of {} values", self.width);
            return Err(refuse("pixel values", values.len().to_string(), expected));
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            let found = format!("{} at {at}", values[at]);
            return Err(refuse("pixel values", found, "finite values".into()));
        }
        Ok(h * w)
    }

    /// Half-width tables `[patches, head_dim / 2]` in merge-cell order: the row's angles, then the column's.
    pub(crate) fn rotary(
        &self,
        grid: Grid,
        device: &Device,
    ) -> Result<(Tensor, Tensor), ModelError> {
        let places = patches_in_merge_order(grid, self.merge);
        self.rotary_at(places, device)
    }

    /// The same for patches in another order.
    pub(crate) fn rotary_at(
        &self,
        places: impl IntoIterator<Item = (usize, usize)>,
        device: &Device,
    ) -> Result<(Tensor, Tensor), ModelError> {
        let mut angles = Vec::new();
        for (row, column) in places {
            for at in [row, column] {
                angles.extend(self.frequencies.iter().map(|f| at as f32 * f));
            }
        }
        tables(&angles, 2 * self.frequencies.len(), device)
    }
}
