//! How does Qwen3-VL's tower turn patches into rows? Layer norms, learned positions, tanh GELU; features are tapped on the way.

use candle_core::{Device, Tensor};

use super::config::VisionConfig;
use super::table::LearnedPositions;
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::image::Grid;
use crate::linear::Linear;
use crate::ops::{added, gelu_tanh};
use crate::vision::{Attention, Merger, Norm, Patches, Tower, TowerOutput, norm};

/// The vision tower with its mergers.
#[derive(Debug)]
pub(crate) struct VisionTower {
    patches: Patches,
    learned: LearnedPositions,
    blocks: Vec<Block>,
    merger: Merger,
    taps: Vec<(usize, Merger)>,
}

impl VisionTower {
    pub(crate) fn load(
        config: &VisionConfig,
        text_hidden: usize,
        weights: &mut Weights,
        prefix: &str,
    ) -> Result<Self, ModelError> {
        let shape = &config.shape;
        let patches = Patches::load(shape, weights, prefix, true)?;
        let learned = LearnedPositions::load(
            weights,
            &format!("{prefix}pos_embed.weight"),
            (config.table_side, shape.hidden),
            shape.merge,
        )?;
        let blocks = (0..shape.depth)
            .map(|i| Block::load(config, weights, &format!("{prefix}blocks.{i}")))
            .collect::<Result<_, _>>()?;
        // The main merger's norm runs over each patch, those of the taps over the joined cell.
        let merger = |weights: &mut Weights, name: String, joined: bool| {
            let cell = if joined { shape.merge * shape.merge } else { 1 };
            let cell_norm = norm(weights, &format!("{name}.norm"), cell * shape.hidden)?;
            let layers = [
                &*format!("{name}.linear_fc1"),
                &*format!("{name}.linear_fc2"),
            ];
            Merger::load(shape, text_hidden, weights, (cell_norm, joined), layers)
        };
        let main = merger(weights, format!("{prefix}merger"), false)?;
        let taps = config.taps.iter().enumerate().map(|(k, &block)| {
            let name = format!("{prefix}deepstack_merger_list.{k}");
            Ok((block, merger(weights, name, true)?))
        });
        let taps = taps.collect::<Result<_, ModelError>>()?;
        Ok(Self {
            patches,
            learned,
            blocks,
            merger: main,
            taps,
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
        let embedded = self.patches.embed(grid, values, device)?;
        let positions = self.learned.at(grid, device)?;
        let mut x = (embedded + &positions)?;
        let (cos, sin) = self.patches.rotary(grid, device)?;
        let mut deepstack = Vec::with_capacity(self.taps.len());
        for (i, block) in self.blocks.iter().enumerate() {
            x = block.forward(&x, (&cos, &sin))?;
            for (_, merger) in self.taps.iter().filter(|(tap, _)| *tap == i) {
                deepstack.push(merger.forward(&x)?);
            }
        }
        Ok(TowerOutput {
            merged: self.merger.forward(&x)?,
            deepstack,
            positions: Some(positions),
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
            fc1: weights.linear(&format!("{name}.mlp.linear_fc1"), hidden, inner, true)?,
            fc2: weights.linear(&format!("{name}.mlp.linear_fc2"), inner, hidden, true)?,
        })
    }

    fn forward(&self, x: &Tensor, tables: (&Tensor, &Tensor)) -> Result<Tensor, ModelError> {
        let attended = self
            .attention
            .forward(&self.norm1.forward(x)?, tables, &[])?;
        let x = added(x, attended)?;
        let inner = gelu_tanh(self.fc1.forward(&self.norm2.forward(&x)?)?)?;
        Ok(added(&x, self.fc2.forward(&inner)?)?)
    }
}
