//! What has the model already read, and how do several continuations share it?
//!
//! A cache is a list of immutable blocks of 256 tokens and one shorter, equally immutable tail. Forking clones the list
//! (a pointer a block); appending builds a new tail; rewinding drops blocks and views the beginning of one. Since no block
//! is ever written to, a fork cannot reach another's storage.

use std::ops::Range;
use std::sync::Arc;

use candle_core::Tensor;

use crate::{ModelError, PreparedPrompt};

/// Tokens a full block holds.
const BLOCK: usize = 256;

/// Keys and values of every layer for a prefix of a prompt, and which prefix that is.
#[derive(Debug, Clone, Default)]
pub struct KvCache {
    blocks: Vec<Arc<Block>>,
    len: usize,
    /// What was pushed: token ids, and for pictures their key and place.
    ids: Vec<u32>,
    pictures: Vec<(Range<usize>, [u8; 32])>,
    /// The engine that filled it; 0 while empty.
    owner: u64,
}

/// Keys and values of some tokens: a pair a layer, each `[kv_heads, len, head_dim]`.
#[derive(Debug)]
struct Block {
    layers: Vec<(Tensor, Tensor)>,
}

impl KvCache {
    /// An empty cache, for any model.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tokens held.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when nothing has been pushed.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A second cache with the same beginning. Costs a pointer a block; either may grow or shrink without the other.
    pub fn fork(&self) -> Self {
        self.clone()
    }

    /// Bytes of keys and values, shared blocks counted in each fork.
    pub fn bytes(&self) -> usize {
        let size = |t: &Tensor| t.elem_count() * t.dtype().size_in_bytes();
        self.blocks
            .iter()
            .flat_map(|block| &block.layers)
            .map(|(k, v)| size(k) + size(v))
            .sum()
    }

    /// Rewinds to the first `len` tokens; a `len` beyond the end changes nothing. The last block stays a view of up to 256 tokens.
    ///
    /// # Errors
    /// Only where the tensor library refuses a view; the cache is then as before.
    pub fn truncate(&mut self, len: usize) -> Result<(), ModelError> {
        if len >= self.len {
            return Ok(());
        }
        let (full, rest) = (len / BLOCK, len % BLOCK);
        let tail = match self.blocks.get(full) {
            Some(block) if rest > 0 => Some(Arc::new(block.first(rest)?)),
            _ => None,
        };
        self.blocks.truncate(full);
        self.blocks.extend(tail);
        self.len = len;
        self.ids.truncate(len);
        self.pictures.retain(|(tokens, _)| tokens.start < len);
        if len == 0 {
            self.owner = 0;
        }
        Ok(())
    }

    /// Keys and values of one layer, block by block.
    pub(crate) fn pairs(&self, layer: usize) -> impl Iterator<Item = &(Tensor, Tensor)> {
        self.blocks.iter().filter_map(move |b| b.layers.get(layer))
    }

    /// Keys and values of one layer, the first `len` cached ones followed by `new`: `[kv_heads, len + new, head_dim]`.
    pub(crate) fn joined(
        &self,
        layer: usize,
        len: usize,
        new: &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor), ModelError> {
        self.joined_without(layer, len, &(0..0), new)
    }

    /// The same without the cached tokens of `hole`.
    pub(crate) fn joined_without(
        &self,
        layer: usize,
        len: usize,
        hole: &Range<usize>,
        new: &(Tensor, Tensor),
    ) -> Result<(Tensor, Tensor), ModelError> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let len = len.min(self.len);
        let mut start = 0;
        for (k, v) in self.pairs(layer) {
            let end = (start + k.dim(1)?).min(len);
            // What of this block lies before the hole, and what behind it.
            let hole =
                hole.start.clamp(start, end.max(start))..hole.end.clamp(start, end.max(start));
            let parts = if hole.is_empty() {
                [start..end, end..end]
            } else {
                [start..hole.start, hole.end..end]
            };
            for part in parts.into_iter().filter(|part| !part.is_empty()) {
                keys.push(k.narrow(1, part.start - start, part.len())?);
                values.push(v.narrow(1, part.start - start, part.len())?);
            }
            start += k.dim(1)?;
        }
        if keys.is_empty() {
            return Ok(new.clone());
        }
        keys.push(new.0.clone());
        values.push(new.1.clone());
        Ok((Tensor::cat(&keys, 1)?, Tensor::cat(&values, 1)?))
    }

    /// Appends `new` (a pair a layer) as tokens `range` of `prompt`. Nothing changes on error.
    pub(crate) fn append(
        &mut self,
        owner: u64,
        prompt: &PreparedPrompt,
        range: Range<usize>,
        new: Vec<(Tensor, Tensor)>,
    ) -> Result<(), ModelError> {
        let n = range.len();
        let held = self.len % BLOCK;
        let tail = if held > 0 { self.blocks.last() } else { None };
        let joined = match tail {
            None => new,
            Some(tail) => tail
                .layers
                .iter()
                .zip(&new)
                .map(|((k, v), (k2, v2))| {
                    Ok((Tensor::cat(&[k, k2], 1)?, Tensor::cat(&[v, v2], 1)?))
                })
                .collect::<Result<_, ModelError>>()?,
        };
        let mut added = Vec::new();
        for start in (0..held + n).step_by(BLOCK) {
            added.push(Arc::new(Block::cut(
                &joined,
                start,
                BLOCK.min(held + n - start),
            )?));
        }
        self.blocks.truncate(self.len / BLOCK);
        self.blocks.extend(added);
        self.len += n;
        self.owner = owner;
        self.ids
            .extend(prompt.ids().get(range.clone()).unwrap_or_default());
        for picture in prompt.pictures() {
            let tokens = &picture.tokens;
            if range.contains(&tokens.start) {
                self.pictures.push((tokens.clone(), picture.key));
            }
        }
        Ok(())
    }

    /// An error unless this cache was filled by `owner` with the beginning of `prompt`.
    pub(crate) fn check(&self, owner: u64, prompt: &PreparedPrompt) -> Result<(), ModelError> {
        self.check_beginning(owner, prompt, self.len)
    }

    /// An error unless the first `len` tokens of this cache were pushed by `owner` and begin `prompt`.
    pub(crate) fn check_beginning(
        &self,
        owner: u64,
        prompt: &PreparedPrompt,
        len: usize,
    ) -> Result<(), ModelError> {
        let refuse = |token, found: String, expected: String| ModelError::Cache {
            token,
            found,
            expected,
        };
        if self.len == 0 || len == 0 {
            return Ok(());
        }
        if self.owner != owner {
            return Err(refuse(
                0,
                "keys and values of another model".into(),
                "a cache of this model".into(),
            ));
        }
        for (token, held) in self.ids.iter().take(len).enumerate() {
            let wanted = prompt.ids().get(token);
            if wanted != Some(held) {
                let wanted = wanted.map_or("the end of the prompt".into(), |id| format!("id {id}"));
                return Err(refuse(token, format!("id {held}"), wanted));
            }
        }
        let pictures = self
            .pictures
            .iter()
            .filter(|(tokens, _)| tokens.start < len);
        for (i, (tokens, key)) in pictures.enumerate() {
            let picture = prompt.pictures().get(i);
            if !picture.is_some_and(|p| {
                p.tokens.start == tokens.start && p.tokens.len() == tokens.len() && p.key == *key
            }) {
                return Err(refuse(
                    tokens.start,
                    "another picture".into(),
                    "the picture of the prompt".into(),
                ));
            }
        }
        Ok(())
    }
}

impl Block {
    /// A view of the first `len` tokens; the storage stays shared.
    fn first(&self, len: usize) -> Result<Self, ModelError> {
        let layers = self
            .layers
            .iter()
            .map(|(k, v)| Ok((k.narrow(1, 0, len)?, v.narrow(1, 0, len)?)))
            .collect::<Result<_, ModelError>>()?;
        Ok(Self { layers })
    }

    /// A copy of `len` tokens from `start`, so that a block keeps no larger storage alive.
    fn cut(joined: &[(Tensor, Tensor)], start: usize, len: usize) -> Result<Self, ModelError> {
        let part = |t: &Tensor| -> Result<Tensor, ModelError> {
            if start == 0 && t.dim(1)? == len {
                return Ok(t.clone());
            }
            Ok(t.narrow(1, start, len)?.force_contiguous()?)
        };
        let layers = joined
            .iter()
            .map(|(k, v)| Ok((part(k)?, part(v)?)))
            .collect::<Result<_, ModelError>>()?;
        Ok(Self { layers })
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
