//! How are many continuations of one cached context read at once? Their tokens share every matrix product; each attends to the
//! cached beginning and to its own tokens, so that no branch sees another.

use std::ops::Range;

use candle_core::{DType, Tensor};

use super::{HiddenRows, Model};
use crate::decoder::BranchChunk;
use crate::{Control, KvCache, ModelError, PreparedPrompt};

/// Tokens that close a pack of branches unless set.
pub const BATCH_TOKENS: usize = 1024;

/// One continuation: `prompt` from token `at` on, text only, behind the first `at` tokens, which the cache holds.
#[derive(Debug, Clone)]
pub struct Branch {
    /// The whole context.
    pub prompt: PreparedPrompt,
    /// Its first token that is pushed.
    pub at: usize,
    /// Tokens of the context whose hidden states are wanted, none before `at`.
    pub rows: Vec<usize>,
    /// Cached tokens that the branch does not see; later ones keep the keys and values that were computed with them in sight.
    pub hidden: Range<usize>,
}

impl Branch {
    fn tokens(&self) -> Range<usize> {
        self.at..self.prompt.len()
    }
}

impl Model {
    /// Final hidden states of every branch's rows. The cache is read, not changed. Branches go through the model in packs, in their
    /// order; a pack is closed once it holds `batch_tokens` tokens, so there are at most `ceil(tokens / batch_tokens)` of them and none
    /// is longer than `batch_tokens` and one branch. How branches are packed changes no bit of their states on the CPU,
    /// unless weights are quantised: candle chooses their products by the number of rows.
    ///
    /// # Errors
    /// [`ModelError::Cache`] where the cache does not hold a branch's beginning, [`ModelError::Range`] for a row out of bounds or a
    /// branch without tokens, [`ModelError::Prompt`] for a picture in a branch, [`ModelError::Cancelled`], [`ModelError::NotFinite`].
    pub fn prefill_branches(
        &self,
        cache: &KvCache,
        branches: &[Branch],
        batch_tokens: usize,
        ctl: &Control,
    ) -> Result<Vec<HiddenRows>, ModelError> {
        for branch in branches {
            self.check_branch(cache, branch)?;
        }
        let mut out = Vec::with_capacity(branches.len());
        let mut rest = branches;
        while !rest.is_empty() {
            let mut tokens = 0;
            let open = rest.iter().take_while(|branch| {
                let room = tokens < batch_tokens.max(1);
                tokens += branch.tokens().len();
                room
            });
            let (pack, later) = rest.split_at(open.count());
            self.text.begin();
            out.extend(self.pack(cache, pack, ctl)?);
            rest = later;
        }
        Ok(out)
    }

    fn check_branch(&self, cache: &KvCache, branch: &Branch) -> Result<(), ModelError> {
        let tokens = branch.tokens();
        let refuse = |what, found: String, expected: String| {
            Err(ModelError::Range {
                what,
                found,
                expected,
            })
        };
        if tokens.is_empty() || branch.at > cache.len() {
            let expected = format!("tokens behind at most {} cached ones", cache.len());
            return refuse("branch", format!("tokens {tokens:?}"), expected);
        }
        if let Some(row) = branch.rows.iter().find(|row| !tokens.contains(row)) {
            return refuse("row", row.to_string(), format!("a token of {tokens:?}"));
        }
        let pictures = branch.prompt.pictures().iter();
        if let Some(picture) = pictures.rev().find(|p| p.tokens.end > branch.at) {
            return Err(ModelError::Prompt {
                token: picture.tokens.start,
                found: "a picture".into(),
                expected: "text in a branch".into(),
            });
        }
        cache.check_beginning(self.id, &branch.prompt, branch.at)
    }

    fn pack(
        &self,
        cache: &KvCache,
        pack: &[Branch],
        ctl: &Control,
    ) -> Result<Vec<HiddenRows>, ModelError> {
        let ids: Vec<u32> = pack
            .iter()
            .flat_map(|b| b.prompt.ids().get(b.tokens()).unwrap_or_default())
            .copied()
            .collect();
        let embedded = self.text.embed(&ids, &self.device)?;
        let chunks: Vec<BranchChunk<'_>> = pack
            .iter()
            .map(|b| BranchChunk {
                positions: b.prompt.positions(),
                tokens: b.tokens(),
                hidden: b.hidden.clone(),
            })
            .collect();
        let hidden = self.text.forward_branches(embedded, &chunks, cache, ctl)?;
        let mut start = 0;
        let mut wanted = Vec::new();
        for branch in pack {
            let place = |row: &usize| (start + row - branch.at) as u32;
            wanted.extend(branch.rows.iter().map(place));
            start += branch.tokens().len();
        }
        let width = self.hidden_size();
        if wanted.is_empty() {
            let empty = || HiddenRows {
                values: Vec::new(),
                width,
            };
            return Ok(pack.iter().map(|_| empty()).collect());
        }
        let index = Tensor::new(wanted, &self.device)?;
        let picked = self.text.finish(&hidden.index_select(&index, 0)?)?;
        let picked = picked
            .to_dtype(DType::F32)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        if picked.iter().any(|v| !v.is_finite()) {
            let place = "hidden states of a branch".to_owned();
            return Err(ModelError::NotFinite { place });
        }
        let mut rows = picked.chunks_exact(width);
        let own = |branch: &Branch| HiddenRows {
            values: rows
                .by_ref()
                .take(branch.rows.len())
                .flatten()
                .copied()
                .collect(),
            width,
        };
        Ok(pack.iter().map(own).collect())
    }
}
