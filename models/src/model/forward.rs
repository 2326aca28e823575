//! Which rows of which tokens come out, in chunks of what size?

use std::ops::Range;

use candle_core::{DType, Tensor};

use super::Model;
use crate::decoder::{Chunk, Pushed};
use crate::image::Grid;
use crate::{Control, KvCache, ModelError, PictureSpan, PreparedPrompt};

/// Hidden states after the final norm, f32, one row for each token asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HiddenRows {
    /// Row-major `[rows, width]`.
    pub values: Vec<f32>,
    /// The model's hidden size.
    pub width: usize,
}

impl HiddenRows {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.width.max(1)
    }

    /// One row.
    pub fn row(&self, row: usize) -> Option<&[f32]> {
        let start = row.checked_mul(self.width)?;
        self.values.get(start..start.checked_add(self.width)?)
    }
}

/// Inner states for comparison with a reference implementation, each row-major.
#[derive(Debug, Clone, Default)]
pub struct States {
    /// The state entering each text layer, then the one entering the final norm: `[tokens, hidden]`.
    pub text: Vec<Vec<f32>>,
    /// Interpolated learned positions of the picture, where the family has them: `[patches, tower width]`.
    pub learned_positions: Vec<f32>,
    /// The tower after its last block, in its own order of patches: `[patches, tower width]`.
    pub blocks: Vec<f32>,
    /// Features in place of the placeholders: `[rows, hidden]`.
    pub merged: Vec<f32>,
    /// Features for each of the first layers: `[rows, hidden]`.
    pub deepstack: Vec<Vec<f32>>,
}

impl Model {
    /// Pushes tokens `range` of `prompt` behind `cache` and returns the final hidden states of tokens `rows`, in their order.
    ///
    /// `range` starts at `cache.len()`; the cache must hold the beginning of this very prompt. On an error the cache holds
    /// the chunks finished so far and stays usable.
    ///
    /// # Errors
    /// [`ModelError::Range`] for a range or row out of bounds, [`ModelError::Cache`] for a cache of something else,
    /// [`ModelError::Cancelled`], [`ModelError::NotFinite`].
    pub fn prefill(
        &self,
        prompt: &PreparedPrompt,
        range: Range<usize>,
        cache: &mut KvCache,
        rows: &[usize],
        ctl: &Control,
    ) -> Result<HiddenRows, ModelError> {
        self.push(prompt, range, cache, rows, ctl, None)
    }

    fn push(
        &self,
        prompt: &PreparedPrompt,
        range: Range<usize>,
        cache: &mut KvCache,
        rows: &[usize],
        ctl: &Control,
        mut trace: Option<&mut Vec<Tensor>>,
    ) -> Result<HiddenRows, ModelError> {
        self.check(prompt, &range, cache, rows)?;
        let width = self.hidden_size();
        let mut values = vec![0f32; rows.len() * width];
        let mut start = range.start;
        if !range.is_empty() {
            self.text.begin();
        }
        while start < range.end {
            let end = range.end.min(start + self.chunk);
            let pushed = self.chunk(prompt, start..end, cache, ctl, trace.as_deref_mut())?;
            cache.append(self.id, prompt, start..end, pushed.keys_values)?;
            let wanted = |row: &usize| (start..end).contains(row);
            let indexes: Vec<u32> = rows
                .iter()
                .filter(|r| wanted(r))
                .map(|r| (r - start) as u32)
                .collect();
            if !indexes.is_empty() {
                let index = Tensor::new(indexes, &self.device)?;
                let picked = self.text.finish(&pushed.hidden.index_select(&index, 0)?)?;
                let picked = picked.flatten_all()?.to_vec1::<f32>()?;
                if picked.iter().any(|v| !v.is_finite()) {
                    let place = format!("hidden states of tokens {start} to {end}");
                    return Err(ModelError::NotFinite { place });
                }
                let places = rows
                    .iter()
                    .zip(values.chunks_exact_mut(width))
                    .filter(|(r, _)| wanted(r));
                for ((_, place), row) in places.zip(picked.chunks_exact(width)) {
                    place.copy_from_slice(row);
                }
            }
            start = end;
            ctl.report(start - range.start, range.len());
        }
        Ok(HiddenRows { values, width })
    }

    pub(super) fn check(
        &self,
        prompt: &PreparedPrompt,
        range: &Range<usize>,
        cache: &KvCache,
        rows: &[usize],
    ) -> Result<(), ModelError> {
        if range.start != cache.len() || range.end < range.start || range.end > prompt.len() {
            return Err(ModelError::Range {
                what: "range",
                found: format!("{range:?}"),
                expected: format!(
                    "a range from {} (the cache's length) within {} tokens",
                    cache.len(),
                    prompt.len()
                ),
            });
        }
        if let Some(row) = rows.iter().find(|r| !range.contains(r)) {
            return Err(ModelError::Range {
                what: "row",
                found: row.to_string(),
                expected: format!("a token of {range:?}"),
            });
        }
        for picture in prompt.pictures() {
            if picture.features.owner() != self.id {
                return Err(ModelError::Prompt {
                    token: picture.tokens.start,
                    found: "features of another model".into(),
                    expected: "features of this model".into(),
                });
            }
        }
        cache.check(self.id, prompt)
    }

    /// One chunk through the text model. The cache is read, not changed.
    fn chunk(
        &self,
        prompt: &PreparedPrompt,
        range: Range<usize>,
        cache: &KvCache,
        ctl: &Control,
        trace: Option<&mut Vec<Tensor>>,
    ) -> Result<Pushed, ModelError> {
        let (embedded, chunk) = self.inputs(prompt, &range)?;
        self.text.forward(embedded, &chunk, cache, ctl, trace)
    }

    /// What the text model gets of some tokens: their rows `[n, hidden]`, and what a chunk brings besides.
    pub(super) fn inputs<'a>(
        &self,
        prompt: &'a PreparedPrompt,
        range: &Range<usize>,
    ) -> Result<(Tensor, Chunk<'a>), ModelError> {
        let overlapping: Vec<(&PictureSpan, Range<usize>)> = prompt
            .pictures()
            .iter()
            .map(|p| {
                (
                    p,
                    p.tokens.start.max(range.start)..p.tokens.end.min(range.end),
                )
            })
            .filter(|(_, part)| !part.is_empty())
            .collect();
        let ids = |part: Range<usize>| prompt.ids().get(part).unwrap_or_default();
        let embedded = self.interleave(
            range,
            &overlapping,
            |part| self.text.embed(ids(part), &self.device),
            |p| Some(&p.features.0.merged),
        )?;
        let levels = if overlapping.is_empty() {
            0
        } else {
            self.config
                .vision
                .as_ref()
                .map_or(0, |vision| vision.tower.deepstack())
        };
        let zeros = |part: Range<usize>| {
            Ok(Tensor::zeros(
                (part.len(), self.hidden_size()),
                DType::F32,
                &self.device,
            )?)
        };
        let deepstack = (0..levels)
            .map(|k| {
                self.interleave(range, &overlapping, zeros, |p| {
                    p.features.0.deepstack.get(k)
                })
            })
            .collect::<Result<_, _>>()?;
        let chunk = Chunk {
            positions: prompt.positions(),
            deepstack,
        };
        Ok((embedded, chunk))
    }

    /// Rows for `range`: of `text` between the pictures, of `picture` (its part inside the range) at them.
    fn interleave<'a>(
        &self,
        range: &Range<usize>,
        pictures: &[(&'a PictureSpan, Range<usize>)],
        text: impl Fn(Range<usize>) -> Result<Tensor, ModelError>,
        picture: impl Fn(&'a PictureSpan) -> Option<&'a Tensor>,
    ) -> Result<Tensor, ModelError> {
        let mut pieces = Vec::with_capacity(2 * pictures.len() + 1);
        let mut at = range.start;
        for (span, part) in pictures {
            if at < part.start {
                pieces.push(text(at..part.start)?);
            }
            if let Some(rows) = picture(span) {
                pieces.push(rows.narrow(0, part.start - span.tokens.start, part.len())?);
            }
            at = part.end;
        }
        if at < range.end {
            pieces.push(text(at..range.end)?);
        }
        Ok(Tensor::cat(&pieces, 0)?)
    }

    /// Logits `[rows, vocab]` of final hidden states. Only for tests and decoding: scoring reads the head in tiles.
    ///
    /// # Errors
    /// [`ModelError::Tensor`] for rows of another width.
    pub fn logits(&self, hidden: &HiddenRows) -> Result<Vec<f32>, ModelError> {
        Ok(self.head_table().project(&hidden.values)?)
    }

    /// The states of the text model over a whole prompt, for bisecting against a reference.
    ///
    /// # Errors
    /// Those of [`prefill`](Self::prefill).
    pub fn text_states(&self, prompt: &PreparedPrompt) -> Result<States, ModelError> {
        let mut trace = Vec::new();
        let mut cache = KvCache::new();
        self.push(
            prompt,
            0..prompt.len(),
            &mut cache,
            &[],
            &Control::none(),
            Some(&mut trace),
        )?;
        // One list a chunk: join the states of the same layer.
        let per_chunk = self.config.text.layers + 1;
        let mut text = vec![Vec::new(); per_chunk];
        for states in trace.chunks(per_chunk) {
            for (all, state) in text.iter_mut().zip(states) {
                all.extend(state.flatten_all()?.to_vec1::<f32>()?);
            }
        }
        Ok(States {
            text,
            ..States::default()
        })
    }

    /// The states of the vision tower over one picture, for bisecting against a reference.
    ///
    /// # Errors
    /// Those of [`encode_picture`](Self::encode_picture).
    pub fn vision_states(&self, grid: Grid, values: &[f32]) -> Result<States, ModelError> {
        let out = self.tower()?.encode(grid, values, &self.device)?;
        let host =
            |t: &Tensor| -> Result<Vec<f32>, ModelError> { Ok(t.flatten_all()?.to_vec1::<f32>()?) };
        Ok(States {
            text: Vec::new(),
            learned_positions: out
                .positions
                .as_ref()
                .map(host)
                .transpose()?
                .unwrap_or_default(),
            blocks: host(&out.blocks)?,
            merged: host(&out.merged)?,
            deepstack: out.deepstack.iter().map(host).collect::<Result<_, _>>()?,
        })
    }
}
