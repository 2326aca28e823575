//! How does Qwen2.5-VL's tower turn patches into rows? Root-mean-square norms, a gated MLP, and in most blocks attention within windows.

use candle_core::{Device, Tensor};

use super::config::VisionConfig;
use super::window::Windows;
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::decoder::Mlp;
use crate::image::Grid;
use crate::ops::added;
use crate::vision::{Attention, Merger, Norm, Patches, Tower, TowerOutput, patches_in_merge_order};

/// The vision tower with its merger.
#[derive(Debug)]
pub(crate) struct VisionTower {
    patches: Patches,
    blocks: Vec<Block>,
    merger: Merger,
    merge: usize,
    window: usize,
    full: Vec<usize>,
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
        let query_norm = Norm::rms(weights, &name("ln_q"), shape.hidden)?;
        let layers = [&*name("mlp.0"), &*name("mlp.2")];
        let merger = Merger::load(shape, text_hidden, weights, (query_norm, false), layers)?;
        Ok(Self {
            patches,
            blocks,
            merger,
            merge: shape.merge,
            window: config.window,
            full: config.full.clone(),
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
        let x = self.patches.embed(grid, values, device)?;
        let (n, hidden) = x.dims2()?;
        let cell = self.merge * self.merge;
        let windows = Windows::of(grid.h / self.merge, grid.w / self.merge, self.window);
        // Whole cells move, so the order within a cell stays.
        let order = Tensor::new(windows.order.as_slice(), device)?;
        let x = x
            .reshape((n / cell, cell * hidden))?
            .index_select(&order, 0)?;
        let mut x = x.reshape((n, hidden))?;
        let places: Vec<_> = patches_in_merge_order(grid, self.merge).collect();
        let cells: Vec<_> = places.chunks(cell).collect();
        let moved = windows.order.iter().filter_map(|c| cells.get(*c as usize));
        let (cos, sin) = self
            .patches
            .rotary_at(moved.flat_map(|c| c.iter().copied()), device)?;
        let stretches: Vec<usize> = windows.cells.iter().map(|cells| cells * cell).collect();
        for (i, block) in self.blocks.iter().enumerate() {
            let stretches = if self.full.contains(&i) {
                &[][..]
            } else {
                &stretches
            };
            x = block.forward(&x, (&cos, &sin), stretches)?;
        }
        let inverse = Tensor::new(windows.inverse(), device)?;
        Ok(TowerOutput {
            merged: self.merger.forward(&x)?.index_select(&inverse, 0)?,
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
    mlp: Mlp,
}

impl Block {
    fn load(config: &VisionConfig, weights: &mut Weights, name: &str) -> Result<Self, ModelError> {
        let hidden = config.shape.hidden;
        Ok(Self {
            norm1: Norm::rms(weights, &format!("{name}.norm1"), hidden)?,
            attention: Attention::load(&config.shape, weights, &format!("{name}.attn"))?,
            norm2: Norm::rms(weights, &format!("{name}.norm2"), hidden)?,
            mlp: Mlp::load(
                weights,
                &format!("{name}.mlp"),
                (hidden, config.inner),
                true,
            )?,
        })
    }

    fn forward(
        &self,
        x: &Tensor,
        tables: (&Tensor, &Tensor),
        stretches: &[usize],
    ) -> Result<Tensor, ModelError> {
        let attended = self
            .attention
            .forward(&self.norm1.forward(x)?, tables, stretches)?;
        let x = added(x, attended)?;
        Ok(added(&x, self.mlp.forward(&self.norm2.forward(&x)?)?)?)
    }
}
