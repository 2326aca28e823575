//! The slow path that shows its attention weights: the same layers, the same queries and keys, and products that keep every weight.

use candle_core::Tensor;

use super::{Chunk, TextModel, tables};
use crate::ops::watched;
use crate::{Control, KvCache, ModelError};

impl TextModel {
    /// As [`forward`](Self::forward), keeping no keys and values. `see` gets the layer, the first of some tokens of the chunk and their weights
    /// `[heads, tokens, keys]` over the cached tokens and those of the chunk.
    pub(crate) fn watch(
        &self,
        x: Tensor,
        chunk: &Chunk,
        cache: &KvCache,
        ctl: &Control,
        see: &mut dyn FnMut(usize, usize, &Tensor) -> candle_core::Result<()>,
    ) -> Result<Tensor, ModelError> {
        let n = x.dim(0)?;
        ctl.count(n);
        let angles = self.angles(chunk.positions, cache.len()..cache.len() + n)?;
        let (cos, sin) = tables(&angles, self.rope.axes.len(), x.device())?;
        let mut hidden = x;
        for (i, layer) in self.layers.iter().enumerate() {
            ctl.check()?;
            let (out, _) = layer.forward(&hidden, (&cos, &sin), |query, new| {
                let (keys, values) = cache.joined(i, cache.len(), new)?;
                let mut own = |first: usize, weights: &Tensor| see(i, first, weights);
                Ok(watched(query, &keys, &values, &mut own)?)
            })?;
            hidden = match chunk.deepstack.get(i) {
                Some(features) => (out + features)?,
                None => out,
            };
        }
        Ok(hidden)
    }
}
