//! What is a loaded model, for people?

use std::fmt;

use super::Model;
use crate::checkpoint::human_bytes;
use crate::families::Family;

/// What a loaded model is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Its family.
    pub family: Family,
    /// Weights in the checkpoint.
    pub parameters: u64,
    /// The type in which most weight matrices of the text model are kept: `f32`, `bf16`, `f16` or a GGML type.
    pub dtype: String,
    /// Bytes of all weights in memory.
    pub weight_bytes: u64,
    /// Text layers.
    pub layers: usize,
    /// Width of the text model.
    pub hidden_size: usize,
    /// Rows of the head.
    pub vocab_size: usize,
    /// Tokens that the model was made for, where config.json says so.
    pub context: Option<usize>,
    /// Folder it came from.
    pub place: String,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {:.1} M parameters in {} ({}), {} layers of width {}, vocabulary of {}",
            self.family,
            self.parameters as f64 / 1e6,
            self.dtype,
            human_bytes(self.weight_bytes),
            self.layers,
            self.hidden_size,
            self.vocab_size
        )
    }
}

impl Model {
    /// Size, type and origin.
    pub fn describe(&self) -> Description {
        Description {
            family: self.config.family,
            parameters: self.parameters,
            dtype: self.kept.clone(),
            weight_bytes: self.weight_bytes,
            layers: self.config.text.layers,
            hidden_size: self.hidden_size(),
            vocab_size: self.vocab_size(),
            context: self.config.text.context,
            place: self.checkpoint.place().into(),
        }
    }
}
