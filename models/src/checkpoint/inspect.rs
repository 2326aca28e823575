//! What does a checkpoint say of itself before any weight is read: which model, how large, what is missing?

use super::{Checkpoint, WeightDtype, WeightProblem, Weights};
use crate::ModelError;
use crate::families::{Config, Family};
use crate::model::{CHUNK, build};

/// A checkpoint by its headers alone.
#[derive(Debug, Clone)]
pub struct Inspection {
    /// The family that will read it.
    pub family: Family,
    /// Weights.
    pub parameters: u64,
    /// Stored types with the number of tensors in each, most first.
    pub stored: Vec<(String, usize)>,
    /// Text layers.
    pub layers: usize,
    /// Width of the text model.
    pub hidden_size: usize,
    /// Rows of the head.
    pub vocab_size: usize,
    /// Experts in all and for each token, where there are any.
    pub experts: Option<(usize, usize)>,
    /// Whether there is a vision tower.
    pub sees: bool,
    /// Tokens that the model was made for, where config.json says so.
    pub context: Option<usize>,
    /// Bytes that a token leaves in the KV cache.
    pub cache_bytes: u64,
    /// Everything that is wrong with the weights.
    pub problems: Vec<WeightProblem>,
    /// Files that end with their header.
    pub without_data: Vec<String>,
    bytes: Vec<(WeightDtype, u64)>,
    working: u64,
}

impl Checkpoint {
    /// Reads configuration and headers, no weights.
    ///
    /// # Errors
    /// [`ModelError::Architecture`] and [`ModelError::Config`]. What is wrong with the tensors is part of the answer.
    pub fn inspect(&self) -> Result<Inspection, ModelError> {
        let config = Config::read(self)?;
        let mut weights = Weights::checking(self);
        build(&config, &mut weights)?;
        let (checked, problems) = weights.inspected();
        let text = &config.text;
        let without_data = self.shards.iter().filter(|shard| !shard.has_data);
        Ok(Inspection {
            family: config.family,
            parameters: checked.parameters,
            stored: checked.stored(),
            layers: text.layers,
            hidden_size: text.hidden,
            vocab_size: text.vocab,
            experts: text.experts.as_ref().map(|e| (e.count, e.per_token)),
            sees: config.vision.is_some(),
            context: text.context,
            cache_bytes: text.cache_bytes(),
            problems,
            without_data: without_data.map(|shard| shard.name().to_owned()).collect(),
            bytes: WeightDtype::ALL
                .map(|dtype| (dtype, checked.bytes(dtype)))
                .to_vec(),
            working: text.working_bytes(CHUNK),
        })
    }
}

impl Inspection {
    /// Bytes of all weights as `dtype` keeps them.
    pub fn weight_bytes(&self, dtype: WeightDtype) -> u64 {
        self.bytes
            .iter()
            .find(|(d, _)| *d == dtype)
            .map_or(0, |(_, bytes)| *bytes)
    }

    /// Bytes that loading and a context of `tokens` tokens take at their peak: the weights, keys and values, and the
    /// working space of one chunk, which is estimated.
    pub fn peak_bytes(&self, dtype: WeightDtype, tokens: usize) -> u64 {
        self.weight_bytes(dtype) + self.cache_bytes * tokens as u64 + self.working
    }

    /// Refuses what does not fit into `available` bytes.
    ///
    /// # Errors
    /// [`ModelError::Memory`] with what is needed, what there is, and the types that would fit.
    pub fn fits(
        &self,
        dtype: WeightDtype,
        tokens: usize,
        available: u64,
    ) -> Result<(), ModelError> {
        let needed = self.peak_bytes(dtype, tokens);
        if needed <= available {
            return Ok(());
        }
        let mut fitting: Vec<WeightDtype> = WeightDtype::ALL
            .into_iter()
            .filter(|d| self.peak_bytes(*d, tokens) <= available)
            .collect();
        fitting.retain(|d| *d != WeightDtype::Auto);
        Err(ModelError::Memory {
            needed,
            available,
            dtype,
            tokens,
            fitting,
        })
    }
}

/// Bytes for people, in units of 1024.
pub fn human_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, larger);
    }
    if unit == "B" {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {unit}")
    }
}
