//! Which numbers does every vision_config have, under whatever names?

use candle_core::Tensor;
use serde_json::json;

use crate::ModelError;
use crate::checkpoint::{Fields, Weights};
use crate::ops::{LayerNorm, RmsNorm};

/// Base of the tower's rotary frequencies where config.json has no field for it.
const ROPE_THETA: f64 = 10_000.0;

/// Epsilon of every norm of every tower; config.json has no field for it.
const EPS: f64 = 1e-6;

/// The sizes that all towers have.
#[derive(Debug, Clone)]
pub(crate) struct TowerShape {
    pub(crate) depth: usize,
    /// Width of the tower.
    pub(crate) hidden: usize,
    pub(crate) heads: usize,
    pub(crate) channels: usize,
    pub(crate) patch: usize,
    pub(crate) temporal_patch: usize,
    pub(crate) merge: usize,
    pub(crate) rope_theta: f64,
}

impl TowerShape {
    /// `width` is the name under which the family's file has the tower's width.
    pub(crate) fn read(vision: &Fields, width: &str) -> Result<Self, ModelError> {
        let (hidden, heads) = (vision.count(width)?, vision.count("num_heads")?);
        if !hidden.is_multiple_of(heads.saturating_mul(4)) {
            // Half of a head turns by the row and half by the column, both in pairs.
            let expected = format!("a multiple of 4 * num_heads = {}", 4 * heads);
            return Err(vision.refuse(width, hidden, expected));
        }
        let rope_theta = match vision.get("rope_parameters") {
            None => ROPE_THETA,
            Some(_) => {
                let rope = vision.object("rope_parameters")?;
                rope.only("rope_type", &json!("axial"), true)?;
                rope.positive("rope_theta")?
            }
        };
        // The released Qwen2-VL and Qwen2.5-VL files say in_chans, what transformers writes says in_channels.
        let channels = if vision.get("in_channels").is_some() {
            vision.count("in_channels")?
        } else if vision.get("in_chans").is_some() {
            vision.count("in_chans")?
        } else {
            vision.count("in_channels")?
        };
        let shape = Self {
            depth: vision.count("depth")?,
            hidden,
            heads,
            channels,
            patch: vision.count("patch_size")?,
            temporal_patch: vision.count("temporal_patch_size")?,
            merge: vision.count("spatial_merge_size")?,
            rope_theta,
        };
        let small = |sizes: &[usize]| {
            let product = sizes.iter().try_fold(1usize, |all, n| all.checked_mul(*n));
            product.is_some_and(|product| product < 1 << 31)
        };
        if !small(&[
            shape.channels,
            shape.temporal_patch,
            shape.patch,
            shape.patch,
        ]) {
            return Err(vision.refuse(
                "patch_size",
                shape.patch,
                "patches of fewer than 2147483648 values",
            ));
        }
        if !small(&[shape.hidden, shape.merge, shape.merge]) {
            let expected = "merge cells of fewer than 2147483648 values";
            return Err(vision.refuse("spatial_merge_size", shape.merge, expected));
        }
        Ok(shape)
    }

    /// Values of one patch.
    pub(crate) fn patch_width(&self) -> usize {
        self.channels * self.temporal_patch * self.patch * self.patch
    }
}

/// The norm of a tower.
#[derive(Debug)]
pub(crate) enum Norm {
    Layer(LayerNorm),
    Rms(RmsNorm),
}

impl Norm {
    pub(crate) fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Self::Layer(norm) => norm.forward(x),
            Self::Rms(norm) => norm.forward(x),
        }
    }

    pub(crate) fn rms(weights: &mut Weights, name: &str, width: usize) -> Result<Self, ModelError> {
        let weight = weights.vector(&format!("{name}.weight"), width)?;
        Ok(Self::Rms(RmsNorm { weight, eps: EPS }))
    }
}

/// A layer norm with weight and bias.
pub(crate) fn norm(weights: &mut Weights, name: &str, width: usize) -> Result<Norm, ModelError> {
    Ok(Norm::Layer(LayerNorm {
        weight: weights.vector(&format!("{name}.weight"), width)?,
        bias: weights.vector(&format!("{name}.bias"), width)?,
        eps: EPS,
    }))
}
