//! How do pictures become rows, with a gradient for every weight of the tower?

use std::collections::BTreeMap;

use candle_core::{Device, Tensor};

use super::batch::TrainPicture;
use super::ops::{Angles, Sight, add_bias, gelu_tanh, layer_norm, rotate, softmax};
use super::text::Seen;
use super::{Params, TrainError};
use crate::decoder::inverse_frequencies;
use crate::image::Grid;
use crate::qwen3_vl::{VisionConfig, table_taps};
use crate::vision::patches_in_merge_order;

/// Epsilon of every norm of the tower.
const EPS: f64 = 1e-6;

/// Qwen3-VL's tower as a graph over `params`.
pub(super) struct Tower<'a> {
    pub(super) config: &'a VisionConfig,
    pub(super) params: &'a Params,
    /// Beginning of the names.
    pub(super) prefix: &'a str,
}

impl Tower<'_> {
    fn weight(&self, name: &str) -> Result<Tensor, TrainError> {
        self.params.get(&format!("{}{name}", self.prefix))
    }

    fn linear(&self, x: &Tensor, name: &str) -> Result<Tensor, TrainError> {
        let y = x.matmul(&self.weight(&format!("{name}.weight"))?.t()?)?;
        Ok(add_bias(&y, &self.weight(&format!("{name}.bias"))?)?)
    }

    fn norm(&self, x: &Tensor, name: &str) -> Result<Tensor, TrainError> {
        let weight = self.weight(&format!("{name}.weight"))?;
        Ok(layer_norm(
            x,
            &weight,
            &self.weight(&format!("{name}.bias"))?,
            EPS,
        )?)
    }

    /// Rows of all pictures in their order. Pictures of one grid go through the tower together; none sees another.
    pub(super) fn encode(&self, pictures: &[TrainPicture]) -> Result<Seen, TrainError> {
        let mut grids: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (i, picture) in pictures.iter().enumerate() {
            let grid = (picture.grid.h, picture.grid.w);
            grids.entry(grid).or_default().push(i);
        }
        let merge = self.config.shape.merge.max(1);
        // First row of every picture among the rows grid by grid.
        let mut starts = vec![0; pictures.len()];
        let mut next = 0;
        let mut parts: Vec<Seen> = Vec::with_capacity(grids.len());
        for ((h, w), members) in grids {
            let grid = Grid { t: 1, h, w };
            let values: Vec<&TrainPicture> =
                members.iter().filter_map(|i| pictures.get(*i)).collect();
            parts.push(self.group(grid, &values)?);
            for member in members {
                if let Some(start) = starts.get_mut(member) {
                    *start = next;
                }
                next += (h / merge * (w / merge)) as u32;
            }
        }
        let order: Vec<u32> = pictures
            .iter()
            .zip(starts)
            .flat_map(|(picture, start)| {
                let rows = picture.grid.h / merge * (picture.grid.w / merge);
                start..start + rows as u32
            })
            .collect();
        let order = Tensor::new(order, &Device::Cpu)?;
        let joined = |of: &dyn Fn(&Seen) -> Option<Tensor>| -> Result<Tensor, TrainError> {
            let all: Vec<Tensor> = parts.iter().filter_map(of).collect();
            Ok(Tensor::cat(&all, 0)?.index_select(&order, 0)?)
        };
        Ok(Seen {
            merged: joined(&|seen| Some(seen.merged.clone()))?,
            deepstack: (0..self.config.taps.len())
                .map(|k| joined(&|seen| seen.deepstack.get(k).cloned()))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Pictures of one grid.
    fn group(&self, grid: Grid, pictures: &[&TrainPicture]) -> Result<Seen, TrainError> {
        let shape = &self.config.shape;
        let (count, patches, width) = (pictures.len(), grid.h * grid.w, shape.patch_width());
        let values: Vec<f32> = pictures
            .iter()
            .flat_map(|p| p.values.iter())
            .copied()
            .collect();
        let pixels = Tensor::from_vec(values, (count * patches, width), &Device::Cpu)?;
        let kernel = self.weight("patch_embed.proj.weight")?;
        let kernel = kernel.reshape((shape.hidden, width))?;
        let embedded = pixels.matmul(&kernel.t()?)?;
        let embedded = add_bias(&embedded, &self.weight("patch_embed.proj.bias")?)?;
        let embedded = embedded.reshape((count, patches, shape.hidden))?;
        let mut x = embedded
            .broadcast_add(&self.positions(grid)?)?
            .reshape((count * patches, shape.hidden))?;
        let angles = self.angles(grid).repeated(count);
        let mut deepstack = Vec::with_capacity(self.config.taps.len());
        for block in 0..shape.depth {
            x = self.block(&x, block, (count, patches), &angles)?;
            if let Some(k) = self.config.taps.iter().position(|tap| *tap == block) {
                deepstack.push(self.merged(&x, &format!("deepstack_merger_list.{k}"), true)?);
            }
        }
        Ok(Seen {
            merged: self.merged(&x, "merger", false)?,
            deepstack,
        })
    }

    /// The table of learned positions, interpolated to a grid: `[patches, hidden]`.
    fn positions(&self, grid: Grid) -> Result<Tensor, TrainError> {
        let (side, merge) = (self.config.table_side, self.config.shape.merge);
        let (rows, columns) = (table_taps(grid.h, side), table_taps(grid.w, side));
        let (mut entries, mut weights) = (Vec::new(), Vec::new());
        for (row, column) in patches_in_merge_order(grid, merge) {
            for (r, row_weight) in rows.get(row).into_iter().flatten() {
                for (c, column_weight) in columns.get(column).into_iter().flatten() {
                    entries.push((r * side + c) as u32);
                    weights.push(row_weight * column_weight);
                }
            }
        }
        let patches = grid.h * grid.w;
        let entries = Tensor::new(entries, &Device::Cpu)?;
        let weights = Tensor::from_vec(weights, (patches, 4, 1), &Device::Cpu)?;
        let table = self.weight("pos_embed.weight")?;
        let taps = table.index_select(&entries, 0)?;
        let taps = taps.reshape((patches, 4, self.config.shape.hidden))?;
        Ok(taps.broadcast_mul(&weights)?.sum(1)?)
    }

    fn angles(&self, grid: Grid) -> Angles {
        let shape = &self.config.shape;
        let frequencies =
            inverse_frequencies(shape.rope_theta, shape.hidden / shape.heads.max(1) / 2);
        let mut angles = Vec::new();
        for (row, column) in patches_in_merge_order(grid, shape.merge) {
            for at in [row, column] {
                angles.extend(frequencies.iter().map(|f| at as f32 * f));
            }
        }
        Angles::new(&angles)
    }

    fn block(
        &self,
        x: &Tensor,
        block: usize,
        (count, patches): (usize, usize),
        angles: &Angles,
    ) -> Result<Tensor, TrainError> {
        let name = |part: &str| format!("blocks.{block}.{part}");
        let (hidden, heads) = (self.config.shape.hidden, self.config.shape.heads);
        let dim = hidden / heads.max(1);
        let qkv = self.linear(&self.norm(x, &name("norm1"))?, &name("attn.qkv"))?;
        let part = |i: usize| -> candle_core::Result<Tensor> {
            let part = qkv.narrow(1, i * hidden, hidden)?.contiguous()?;
            part.reshape((count * patches, heads, dim))
        };
        let spread = |t: &Tensor| -> candle_core::Result<Tensor> {
            let t = t.reshape((count, patches, heads, dim))?;
            t.transpose(1, 2)?.contiguous()
        };
        let query = spread(&rotate(&part(0)?, angles)?)?;
        let key = spread(&rotate(&part(1)?, angles)?)?;
        let value = spread(&part(2)?)?;
        let scores = query.matmul(&key.t()?)?;
        let shares = softmax(&scores, 1.0 / (dim as f32).sqrt(), Sight::All)?;
        let attended = shares.matmul(&value)?.transpose(1, 2)?.contiguous()?;
        let attended = attended.reshape((count * patches, hidden))?;
        let x = (x + self.linear(&attended, &name("attn.proj"))?)?;
        let inner = self.linear(&self.norm(&x, &name("norm2"))?, &name("mlp.linear_fc1"))?;
        Ok((&x + self.linear(&gelu_tanh(&inner)?, &name("mlp.linear_fc2"))?)?)
    }

    /// Merge cells as rows of the text model's width. `joined`: the norm runs over the cell, not over each patch.
    fn merged(&self, x: &Tensor, name: &str, joined: bool) -> Result<Tensor, TrainError> {
        let shape = &self.config.shape;
        let cell = shape.hidden * shape.merge * shape.merge;
        let cells = (x.elem_count() / cell.max(1), cell);
        let norm = format!("{name}.norm");
        let x = match joined {
            true => self.norm(&x.reshape(cells)?, &norm)?,
            false => self.norm(x, &norm)?.reshape(cells)?,
        };
        let inner = self.linear(&x, &format!("{name}.linear_fc1"))?.gelu_erf()?;
        self.linear(&inner, &format!("{name}.linear_fc2"))
    }
}
