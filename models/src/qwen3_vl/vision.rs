//! How do the patches of one picture become rows for the text model?

use candle_core::{Device, Tensor};

use super::config::VisionConfig;
use super::grid::{patches_in_merge_order, table_taps};
use super::rope::{inverse_frequencies, tables};
use crate::ModelError;
use crate::checkpoint::{Linear, Weights};
use crate::head::Table;
use crate::image::Grid;
use crate::ops::{LayerNorm, attention, gelu_erf, gelu_tanh, rotate_heads};

/// Epsilon of every layer norm of the tower; config.json has no field for it.
const EPS: f64 = 1e-6;

/// The vision tower with its mergers.
#[derive(Debug)]
pub(crate) struct VisionTower {
    embed: Linear,
    table: Table,
    side: usize,
    blocks: Vec<Block>,
    merger: Merger,
    taps: Vec<(usize, Merger)>,
    merge: usize,
    patch_width: usize,
    frequencies: Vec<f32>,
}

/// Features of one picture, each `[merged rows, text hidden]`, and two inner states for comparison with a reference.
#[derive(Debug)]
pub(crate) struct TowerOutput {
    pub(crate) merged: Tensor,
    pub(crate) deepstack: Vec<Tensor>,
    pub(crate) positions: Tensor,
    pub(crate) blocks: Tensor,
}

impl VisionTower {
    pub(crate) fn load(
        config: &VisionConfig,
        text_hidden: usize,
        weights: &mut Weights,
        prefix: &str,
    ) -> Result<Self, ModelError> {
        let c = config;
        let kernel = [c.hidden, c.channels, c.temporal_patch, c.patch, c.patch];
        // The kernel's stride is its size, so the convolution is a product with flattened patches.
        let embed = Linear {
            weight: weights.matrix(&format!("{prefix}patch_embed.proj.weight"), &kernel)?,
            bias: Some(weights.vector(&format!("{prefix}patch_embed.proj.bias"), c.hidden)?),
        };
        let table = weights.table(
            &format!("{prefix}pos_embed.weight"),
            c.table_side * c.table_side,
            c.hidden,
        )?;
        let blocks = (0..c.depth)
            .map(|i| Block::load(c, weights, &format!("{prefix}blocks.{i}")))
            .collect::<Result<_, _>>()?;
        let merger = Merger::load(c, text_hidden, weights, &format!("{prefix}merger"), false)?;
        let taps = c.taps.iter().enumerate().map(|(k, &block)| {
            let name = format!("{prefix}deepstack_merger_list.{k}");
            Ok((block, Merger::load(c, text_hidden, weights, &name, true)?))
        });
        let taps = taps.collect::<Result<_, ModelError>>()?;
        Ok(Self {
            embed,
            table,
            side: c.table_side,
            blocks,
            merger,
            taps,
            merge: c.merge,
            patch_width: c.channels * c.temporal_patch * c.patch * c.patch,
            // A quarter of a head's dimensions are pairs turned by the row, a quarter by the column.
            frequencies: inverse_frequencies(c.rope_theta, c.hidden / c.heads / 2),
        })
    }

    /// Checks a picture's grid and values. Patches come in merge-cell order, `values` is `[t*h*w, channels*time*patch²]`.
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
        if patches.and_then(|n| n.checked_mul(self.patch_width)) != Some(values.len()) {
            let expected = format!("{h} * {w} patches of {} values", self.patch_width);
            return Err(refuse("pixel values", values.len().to_string(), expected));
        }
        if let Some(at) = values.iter().position(|v| !v.is_finite()) {
            return Err(refuse(
                "pixel values",
                format!("{} at {at}", values[at]),
                "finite values".into(),
            ));
        }
        Ok(h * w)
    }

    /// Runs one picture through the tower. Patches of different pictures never attend to one another, so pictures are
    /// encoded one by one.
    pub(crate) fn encode(
        &self,
        grid: Grid,
        values: &[f32],
        device: &Device,
    ) -> Result<TowerOutput, ModelError> {
        let patches = self.check(grid, values)?;
        let pixels = Tensor::from_slice(values, (patches, self.patch_width), device)?;
        let positions = self.learned_positions(grid, device)?;
        let mut x = (self.embed.forward(&pixels)? + &positions)?;
        let (cos, sin) = self.rotary(grid, device)?;
        let mut deepstack = Vec::with_capacity(self.taps.len());
        for (i, block) in self.blocks.iter().enumerate() {
            x = block.forward(&x, &cos, &sin)?;
            for (_, merger) in self.taps.iter().filter(|(tap, _)| *tap == i) {
                deepstack.push(merger.forward(&x)?);
            }
        }
        Ok(TowerOutput {
            merged: self.merger.forward(&x)?,
            deepstack,
            positions,
            blocks: x,
        })
    }

    /// Rows of the learned table, interpolated to the grid: `[h*w, hidden]`.
    fn learned_positions(&self, grid: Grid, device: &Device) -> Result<Tensor, ModelError> {
        let width = self.table.width;
        let (rows, columns) = (table_taps(grid.h, self.side), table_taps(grid.w, self.side));
        let mut out = Vec::with_capacity(grid.h * grid.w * width);
        let (mut sum, mut entry) = (vec![0f32; width], Vec::with_capacity(width));
        for (row, column) in patches_in_merge_order(grid, self.merge) {
            sum.fill(0.0);
            for (r, row_weight) in rows.get(row).into_iter().flatten() {
                for (c, column_weight) in columns.get(column).into_iter().flatten() {
                    entry.clear();
                    self.table.push_row(r * self.side + c, &mut entry);
                    let weight = row_weight * column_weight;
                    for (sum, value) in sum.iter_mut().zip(&entry) {
                        *sum += value * weight;
                    }
                }
            }
            out.extend_from_slice(&sum);
        }
        Ok(Tensor::from_vec(out, (grid.h * grid.w, width), device)?)
    }

    /// Half-width tables: the row's angles, then the column's.
    fn rotary(&self, grid: Grid, device: &Device) -> Result<(Tensor, Tensor), ModelError> {
        let mut angles = Vec::with_capacity(grid.h * grid.w * 2 * self.frequencies.len());
        for (row, column) in patches_in_merge_order(grid, self.merge) {
            for at in [row, column] {
                angles.extend(self.frequencies.iter().map(|f| at as f32 * f));
            }
        }
        tables(&angles, 2 * self.frequencies.len(), device)
    }
}

#[derive(Debug)]
struct Block {
    norm1: LayerNorm,
    qkv: Linear,
    proj: Linear,
    norm2: LayerNorm,
    fc1: Linear,
    fc2: Linear,
    heads: usize,
}

impl Block {
    fn load(c: &VisionConfig, weights: &mut Weights, name: &str) -> Result<Self, ModelError> {
        Ok(Self {
            norm1: norm(weights, &format!("{name}.norm1"), c.hidden)?,
            qkv: weights.linear(&format!("{name}.attn.qkv"), c.hidden, 3 * c.hidden, true)?,
            proj: weights.linear(&format!("{name}.attn.proj"), c.hidden, c.hidden, true)?,
            norm2: norm(weights, &format!("{name}.norm2"), c.hidden)?,
            fc1: weights.linear(
                &format!("{name}.mlp.linear_fc1"),
                c.hidden,
                c.intermediate,
                true,
            )?,
            fc2: weights.linear(
                &format!("{name}.mlp.linear_fc2"),
                c.intermediate,
                c.hidden,
                true,
            )?,
            heads: c.heads,
        })
    }

    fn forward(&self, x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor, ModelError> {
        let (n, hidden) = x.dims2()?;
        let qkv = self.qkv.forward(&self.norm1.forward(x)?)?;
        let part = |i: usize| -> candle_core::Result<Tensor> {
            qkv.narrow(1, i * hidden, hidden)?.contiguous()?.reshape((
                n,
                self.heads,
                hidden / self.heads.max(1),
            ))
        };
        let query = rotate_heads(&part(0)?, cos, sin)?;
        let key = rotate_heads(&part(1)?, cos, sin)?;
        let value = part(2)?.transpose(0, 1)?.contiguous()?;
        let attended = attention(&query, &key, &value, false)?;
        let x = (x + self.proj.forward(&attended)?)?;
        let inner = gelu_tanh(&self.fc1.forward(&self.norm2.forward(&x)?)?)?;
        Ok((&x + self.fc2.forward(&inner)?)?)
    }
}

/// Joins the patches of a merge cell into one row of the text model's width.
#[derive(Debug)]
struct Merger {
    norm: LayerNorm,
    fc1: Linear,
    fc2: Linear,
    /// Width of a joined cell.
    cell: usize,
    /// Whether the norm runs over the joined cell (deepstack) or over each patch (main merger).
    joined_norm: bool,
}

impl Merger {
    fn load(
        c: &VisionConfig,
        text_hidden: usize,
        weights: &mut Weights,
        name: &str,
        joined_norm: bool,
    ) -> Result<Self, ModelError> {
        let cell = c.hidden * c.merge * c.merge;
        let width = if joined_norm { cell } else { c.hidden };
        Ok(Self {
            norm: norm(weights, &format!("{name}.norm"), width)?,
            fc1: weights.linear(&format!("{name}.linear_fc1"), cell, cell, true)?,
            fc2: weights.linear(&format!("{name}.linear_fc2"), cell, text_hidden, true)?,
            cell,
            joined_norm,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let rows = x.elem_count() / self.cell.max(1);
        let cells = (rows, self.cell);
        let joined = if self.joined_norm {
            self.norm.forward(&x.reshape(cells)?)?
        } else {
            self.norm.forward(x)?.reshape(cells)?
        };
        Ok(self.fc2.forward(&gelu_erf(&self.fc1.forward(&joined)?)?)?)
    }
}

fn norm(weights: &mut Weights, name: &str, width: usize) -> Result<LayerNorm, ModelError> {
    Ok(LayerNorm {
        weight: weights.vector(&format!("{name}.weight"), width)?,
        bias: weights.vector(&format!("{name}.bias"), width)?,
        eps: EPS,
    })
}
