//! How do the patches of one picture become rows for the text model? What all towers share.

mod attention;
mod config;
mod grid;
mod merger;
mod patches;

use std::fmt;

use candle_core::{Device, Tensor};

pub(crate) use attention::Attention;
pub(crate) use config::{Norm, TowerShape, norm};
pub(crate) use grid::patches_in_merge_order;
pub(crate) use merger::Merger;
pub(crate) use patches::Patches;

use crate::ModelError;
use crate::image::Grid;

/// A family's tower.
pub(crate) trait Tower: fmt::Debug + Send + Sync {
    /// Runs one picture through the tower. Patches come in merge-cell order, `values` is
    /// `[t*h*w, channels*time*patch²]`. Patches of different pictures never attend to one another, so pictures are encoded
    /// one by one.
    fn encode(
        &self,
        grid: Grid,
        values: &[f32],
        device: &Device,
    ) -> Result<TowerOutput, ModelError>;
}

/// Features of one picture, each `[merged rows, text hidden]`, and two inner states for comparison with a reference.
#[derive(Debug)]
pub(crate) struct TowerOutput {
    pub(crate) merged: Tensor,
    /// For each of the first text layers what is added to its output.
    pub(crate) deepstack: Vec<Tensor>,
    /// Learned positions, where the family has them.
    pub(crate) positions: Option<Tensor>,
    /// The state after the last block, in the tower's own order.
    pub(crate) blocks: Tensor,
}
