//! How do the patches of a merge cell become one row of the text model's width?

use candle_core::Tensor;

use super::{Norm, TowerShape};
use crate::ModelError;
use crate::checkpoint::Weights;
use crate::linear::Linear;
use crate::ops::gelu_erf;

/// Norm, joining, two linear layers with the exact GELU between them.
#[derive(Debug)]
pub(crate) struct Merger {
    norm: Norm,
    fc1: Linear,
    fc2: Linear,
    /// Width of a joined cell.
    cell: usize,
    /// Whether the norm runs over the joined cell (deepstack) or over each patch.
    joined_norm: bool,
}

impl Merger {
    /// `layers` are the names of the two linear layers. A norm as wide as a joined cell runs over the cell.
    pub(crate) fn load(
        shape: &TowerShape,
        text_hidden: usize,
        weights: &mut Weights,
        (norm, joined_norm): (Norm, bool),
        layers: [&str; 2],
    ) -> Result<Self, ModelError> {
        let cell = shape.hidden * shape.merge * shape.merge;
        let [fc1, fc2] = layers;
        Ok(Self {
            norm,
            fc1: weights.linear(fc1, cell, cell, true)?,
            fc2: weights.linear(fc2, cell, text_hidden, true)?,
            cell,
            joined_norm,
        })
    }

    /// `[patches, hidden]` to `[cells, text hidden]`.
    pub(crate) fn forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let cells = (x.elem_count() / self.cell.max(1), self.cell);
        let joined = if self.joined_norm {
            self.norm.forward(&x.reshape(cells)?)?
        } else {
            self.norm.forward(x)?.reshape(cells)?
        };
        Ok(self.fc2.forward(&gelu_erf(&self.fc1.forward(&joined)?)?)?)
    }
}
