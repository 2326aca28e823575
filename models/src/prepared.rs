//! Which tokens make a context, and which of them stand for which picture?

use std::ops::Range;

use crate::image::Grid;
use crate::{Features, Model, ModelError, Positions};

/// One picture of a prompt.
#[derive(Debug, Clone)]
pub struct PictureSpan {
    /// Its placeholder tokens.
    pub tokens: Range<usize>,
    /// What the vision tower made of it.
    pub features: Features,
    /// Hash of its content and of everything that preprocessing depends on: equal keys mean equal features.
    pub key: [u8; 32],
}

/// Token ids with their pictures and positions, checked against a model. Immutable: edits make new prompts.
#[derive(Debug, Clone)]
pub struct PreparedPrompt {
    ids: Vec<u32>,
    positions: Positions,
    pictures: Vec<PictureSpan>,
}

impl PreparedPrompt {
    /// Binds ids to pictures, in order.
    ///
    /// # Errors
    /// Where an id lies outside the vocabulary or is a video placeholder; where runs of picture placeholders and pictures
    /// do not agree in number, place and length; where two runs touch, which transformers would read as one.
    pub fn new(
        model: &Model,
        ids: Vec<u32>,
        pictures: Vec<PictureSpan>,
    ) -> Result<Self, ModelError> {
        let refuse = |token, found: String, expected: String| ModelError::Prompt {
            token,
            found,
            expected,
        };
        let placeholders = model.placeholder_ids();
        for (token, &id) in ids.iter().enumerate() {
            if id as usize >= model.vocab_size() {
                let expected = format!("an id below {}", model.vocab_size());
                return Err(refuse(token, format!("id {id}"), expected));
            }
            if placeholders.is_some_and(|(_, video)| id == video) {
                return Err(refuse(
                    token,
                    format!("video placeholder {id}"),
                    "text and still pictures".into(),
                ));
            }
        }
        let runs_of = |(image, _)| placeholder_runs(&ids, image);
        let mut runs = placeholders.map(runs_of).unwrap_or_default().into_iter();
        for picture in &pictures {
            let rows = picture.features.rows();
            let Some(run) = runs.next() else {
                let token = picture.tokens.start;
                return Err(refuse(
                    token,
                    "a picture".into(),
                    "a run of picture placeholders for it".into(),
                ));
            };
            if run != picture.tokens {
                let (found, expected) = (
                    format!("picture placeholders {run:?}"),
                    format!("{:?}", picture.tokens),
                );
                return Err(refuse(run.start, found, expected));
            }
            if run.len() != rows {
                let (found, expected) = (
                    format!("{} picture placeholders", run.len()),
                    format!("{rows} for this picture"),
                );
                return Err(refuse(run.start, found, expected));
            }
            if picture.features.owner() != model.id() {
                return Err(refuse(
                    run.start,
                    "features of another model".into(),
                    "features of this model".into(),
                ));
            }
        }
        if let Some(run) = runs.next() {
            let found = format!("{} picture placeholders", run.len());
            return Err(refuse(run.start, found, "a picture for them".into()));
        }
        let merge = model.merge_size();
        let places = pictures.iter().map(|p| {
            let Grid { h, w, .. } = p.features.grid();
            (p.tokens.clone(), (h / merge, w / merge))
        });
        let positions = Positions::of(ids.len(), places);
        Ok(Self {
            ids,
            positions,
            pictures,
        })
    }

    /// As [`new`](Self::new), with the places of the pictures taken from the placeholder runs in `ids`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn with_pictures(
        model: &Model,
        ids: Vec<u32>,
        pictures: Vec<(Features, [u8; 32])>,
    ) -> Result<Self, ModelError> {
        let placeholders = model.placeholder_ids();
        let runs = placeholders
            .map(|(image, _)| placeholder_runs(&ids, image))
            .unwrap_or_default();
        let end = ids.len();
        let mut runs = runs.into_iter();
        let spans = pictures
            .into_iter()
            .map(|(features, key)| PictureSpan {
                tokens: runs.next().unwrap_or(end..end),
                features,
                key,
            })
            .collect();
        Self::new(model, ids, spans)
    }

    /// The prompt `[0, at) + block + [at, end)`. Positions are computed from the new whole; pictures beyond `end` are
    /// dropped.
    ///
    /// # Errors
    /// Where `at <= end <= len` does not hold, `at` or `end` cuts through a picture, or the block holds placeholders.
    pub fn splice(
        &self,
        model: &Model,
        at: usize,
        block: &[u32],
        end: usize,
    ) -> Result<Self, ModelError> {
        if at > end || end > self.len() {
            return Err(ModelError::Range {
                what: "splice",
                found: format!("at {at}, end {end}"),
                expected: format!("at <= end <= {}", self.len()),
            });
        }
        let mut pictures = Vec::new();
        for picture in &self.pictures {
            let Range { start, end: stop } = picture.tokens;
            let inside = |border| start < border && border < stop;
            if inside(at) || inside(end) {
                return Err(ModelError::Prompt {
                    token: if inside(at) { at } else { end },
                    found: format!("a cut through the picture at {:?}", picture.tokens),
                    expected: "cuts between pictures".into(),
                });
            }
            if start >= end {
                continue;
            }
            let shift = if start >= at { block.len() } else { 0 };
            pictures.push(PictureSpan {
                tokens: start + shift..stop + shift,
                ..picture.clone()
            });
        }
        let (head, tail) = (self.ids.get(..at), self.ids.get(at..end));
        let ids = [head.unwrap_or_default(), block, tail.unwrap_or_default()].concat();
        Self::new(model, ids, pictures)
    }

    /// The length of the beginning that both prompts share: equal ids and, for pictures, equal keys. A picture that
    /// differs ends it at its first token; one that a prompt does not hold whole does too.
    pub fn common_prefix(&self, other: &Self) -> usize {
        let pairs = self.ids.iter().zip(&other.ids);
        let mut len = pairs.take_while(|(a, b)| a == b).count();
        let (mut a, mut b) = (self.pictures.iter(), other.pictures.iter());
        loop {
            match (a.next(), b.next()) {
                (Some(a), Some(b)) if a.tokens == b.tokens && a.key == b.key => {}
                (None, None) => return len,
                (a, b) => {
                    for picture in [a, b].into_iter().flatten() {
                        len = len.min(picture.tokens.start);
                    }
                    return len;
                }
            }
        }
    }

    /// Text without a model to check it against.
    #[cfg(test)]
    pub(crate) fn of_text(ids: Vec<u32>) -> Self {
        let positions = Positions::of(ids.len(), []);
        Self {
            ids,
            positions,
            pictures: Vec::new(),
        }
    }

    /// This prompt with one more text token.
    pub(crate) fn push_text(&mut self, id: u32) {
        let next = self.positions.next();
        self.ids.push(id);
        self.positions.push([next; 3]);
    }

    /// Token ids, placeholders expanded.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Rotary positions.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// Pictures in order.
    pub fn pictures(&self) -> &[PictureSpan] {
        &self.pictures
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// True for no tokens.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

/// Maximal runs of `id`.
fn placeholder_runs(ids: &[u32], id: u32) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (token, _) in ids.iter().enumerate().filter(|(_, i)| **i == id) {
        match runs.last_mut() {
            Some(run) if run.end == token => run.end += 1,
            _ => runs.push(token..token + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_maximal() {
        assert_eq!(
            placeholder_runs(&[5, 5, 1, 5, 2, 5, 5], 5),
            [0..2, 3..4, 5..7]
        );
        assert!(placeholder_runs(&[1, 2], 5).is_empty());
    }
}
