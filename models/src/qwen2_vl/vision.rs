//! How does Qwen2-VL's tower turn patches into rows? Layer norms, attention over the whole picture, quick GELU; no learned positions.

use candle_core::{Device, Tensor};

use super::config::VisionConfig;
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::image::Grid;
use crate::linear::Linear;
use crate::ops::{added, gelu_quick};
use crate::vision::{Attention, Merger, Norm, Patches, Tower, TowerOutput, norm};

/// The vision tower with its merger.
#[derive(Debug)]
pub(crate) struct VisionTower {
    patches: Patches,
    blocks: Vec<Block>,
    merger: Merger,
}

impl VisionTower {
    pub(crate) fn load(
        config: &VisionConfig,
        text_hidden: usize,
        weights: &mut Weights,
        prefix: &str,
    ) -> Result<Self, ModelError> {
        let shape = &config.shape;
        let patches = Patches::load(shape, weights, prefix, false)?;
        let blocks = (0..shape.depth)
            .map(|i| Block::load(config, weights, &format!("{prefix}blocks.{i}")))
            .collect::<Result<_, _>>()?;
        let name = |part: &str| format!("{prefix}merger.{part}");
        let query_norm = norm(weights, &name("ln_q"), shape.hidden)?;
        let layers = [&*name("mlp.0"), &*name("mlp.2")];
        let merger = Merger::load(shape, text_hidden, weights, (query_norm, false), layers)?;
        Ok(Self {
            patches,
            blocks,
            merger,
        })
    }
}

impl Tower for VisionTower {
    fn encode(
        &self,
        grid: Grid,
        values: &[f32],
        device: &Device,
    ) -> Result<TowerOutput, ModelError> {
        let mut x = self.patches.embed(grid, values, device)?;
        let (cos, sin) = self.patches.rotary(grid, device)?;
        for block in &self.blocks {
            x = block.forward(&x, (&cos, &sin))?;
        }
        Ok(TowerOutput {
            merged: self.merger.forward(&x)?,
            deepstack: Vec::new(),
            positions: None,
            blocks: x,
        })
    }
}

#[derive(Debug)]
struct Block {
    norm1: Norm,
    attention: Attention,
    norm2: Norm,
    fc1: Linear,
    fc2: Linear,
}

impl Block {
    fn load(config: &VisionConfig, weights: &mut Weights, name: &str) -> Result<Self, ModelError> {
        let (hidden, inner) = (config.shape.hidden, config.inner);
        Ok(Self {
            norm1: norm(weights, &format!("{name}.norm1"), hidden)?,
            attention: Attention::load(&config.shape, weights, &format!("{name}.attn"))?,
            norm2: norm(weights, &format!("{name}.norm2"), hidden)?,
            fc1: weights.linear(&format!("{name}.mlp.fc1"), hidden, inner, true)?,
            fc2: weights.linear(&format!("{name}.mlp.fc2"), inner, hidden, true)?,
        })
    }

    fn forward(&self, x: &Tensor, tables: (&Tensor, &Tensor)) -> Result<Tensor, ModelError> {
        let attended = self
            .attention
            .forward(&self.norm1.forward(x)?, tables, &[])?;
        let x = added(x, attended)?;
        let inner = gelu_quick(&self.fc1.forward(&self.norm2.forward(&x)?)?)?;
        Ok(added(&x, self.fc2.forward(&inner)?)?)
    }
}
