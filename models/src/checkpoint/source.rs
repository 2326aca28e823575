//! Where does a tensor stand, in a safetensors file or in a GGUF file, and what are its bytes?

use std::borrow::Cow;

use candle_core::quantized::GgmlDType;

use super::convert::Raw;
use super::gguf::{self, GgufCheckpoint};
use super::shards::{self, Shard};
use super::{Checkpoint, Stored};
use crate::ModelError;

/// One tensor of a checkpoint.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source<'a> {
    Shard(&'a Shard, &'a shards::Entry),
    Gguf(&'a GgufCheckpoint, &'a gguf::Entry),
}

impl<'a> Source<'a> {
    pub(super) fn find(checkpoint: &'a Checkpoint, name: &str) -> Option<Self> {
        let mut shards = checkpoint.shards.iter();
        shards
            .find_map(|shard| Some(Self::Shard(shard, shard.tensors.get(name)?)))
            .or_else(|| {
                let gguf = checkpoint.gguf.as_ref()?;
                Some(Self::Gguf(gguf, gguf.entries().get(name)?))
            })
    }

    /// Every tensor with its name.
    pub(super) fn all(checkpoint: &'a Checkpoint) -> impl Iterator<Item = (&'a String, Self)> {
        let shards = checkpoint.shards.iter().flat_map(|shard| {
            let tensors = shard.tensors.iter();
            tensors.map(move |(name, entry)| (name, Self::Shard(shard, entry)))
        });
        let gguf = checkpoint.gguf.iter().flat_map(|gguf| {
            let entries = gguf.entries().iter();
            entries.map(move |(name, entry)| (name, Self::Gguf(gguf, entry)))
        });
        shards.chain(gguf)
    }

    /// Shape as transformers has it.
    pub(super) fn shape(self) -> &'a [usize] {
        match self {
            Self::Shard(_, entry) => &entry.shape,
            Self::Gguf(_, entry) => &entry.shape,
        }
    }

    pub(super) fn stored(self) -> Stored {
        match self {
            Self::Shard(_, entry) => entry.stored,
            Self::Gguf(_, entry) => match entry.dtype() {
                Some(dtype) => Stored::from(dtype),
                // Parts of several types become one in f32.
                None => Stored::F32,
            },
        }
    }

    /// Its bytes, row-major.
    pub(super) fn raw(self) -> Result<Raw<'a>, ModelError> {
        Ok(match self {
            Self::Shard(shard, entry) => Raw {
                bytes: Cow::Borrowed(shard.tensor(entry)),
                stored: entry.stored,
            },
            Self::Gguf(gguf, entry) => {
                let (bytes, dtype) = gguf.bytes(entry)?;
                Raw {
                    bytes,
                    stored: Stored::from(dtype),
                }
            }
        })
    }

    /// Gives the pages that were read back to the system, so that a mapped file does not fill the memory.
    pub(super) fn release(self) {
        match self {
            Self::Shard(shard, entry) => shard.release(entry),
            Self::Gguf(gguf, entry) => gguf.release(entry),
        }
    }
}

impl From<GgmlDType> for Stored {
    fn from(dtype: GgmlDType) -> Self {
        match dtype {
            GgmlDType::F32 => Self::F32,
            GgmlDType::F16 => Self::F16,
            GgmlDType::BF16 => Self::Bf16,
            blocks => Self::Blocks(blocks),
        }
    }
}
