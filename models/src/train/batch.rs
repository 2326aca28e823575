//! Which tokens of which sequences go through the model together, and which of them are learnt?

use std::sync::Arc;

use super::TrainError;
use crate::Positions;
use crate::image::Grid;

/// A picture ready for the tower.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainPicture {
    /// Its patches.
    pub grid: Grid,
    /// `[h*w, channels*time*patch²]` in merge-cell order.
    pub values: Arc<Vec<f32>>,
}

/// One sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequence {
    /// Token ids, pictures as runs of placeholders.
    pub ids: Vec<u32>,
    /// For each token how much it counts as a target; 0 is not learnt. The first token is never a target.
    pub weights: Vec<f32>,
    /// For each token a number of the caller's: how many targets are right is counted by it.
    pub kinds: Vec<u8>,
    /// Its pictures in order.
    pub pictures: Vec<TrainPicture>,
}

/// Where the tokens of a batch stand: all sequences behind one another, without padding.
#[derive(Debug, Default)]
pub(super) struct Packed {
    pub(super) ids: Vec<u32>,
    /// Tokens of each sequence.
    pub(super) lengths: Vec<usize>,
    /// Rotary positions of every token.
    pub(super) positions: Positions,
    /// Tokens that stand for rows of pictures, in the order of the pictures.
    pub(super) picture_tokens: Vec<u32>,
    pub(super) pictures: Vec<TrainPicture>,
    /// Tokens whose successor is learnt.
    pub(super) rows: Vec<u32>,
    /// What stands there and how much it counts, for each of `rows`.
    pub(super) targets: Vec<(u32, f32)>,
    /// The kind of each target.
    pub(super) kinds: Vec<u8>,
}

impl Packed {
    /// `merge` is the number of patches along one side of a merge cell, `image` the placeholder.
    pub(super) fn of(
        sequences: &[Sequence],
        vocab: usize,
        image: Option<u32>,
        merge: usize,
    ) -> Result<Self, TrainError> {
        let mut out = Self::default();
        for (number, sequence) in sequences.iter().enumerate() {
            let refuse = |found: String, expected: String| TrainError::Batch {
                sequence: number,
                found,
                expected,
            };
            let (ids, kinds) = (&sequence.ids, &sequence.kinds);
            let weights = &sequence.weights;
            if ids.len() != weights.len() || ids.len() != kinds.len() || ids.is_empty() {
                let (ids, kinds) = (ids.len(), kinds.len());
                return Err(refuse(
                    format!("{ids} ids, {} weights, {kinds} kinds", weights.len()),
                    "one weight and kind an id and at least one id".into(),
                ));
            }
            if let Some(id) = ids.iter().find(|id| **id as usize >= vocab) {
                return Err(refuse(format!("id {id}"), format!("ids below {vocab}")));
            }
            let places = places(sequence, image, merge).map_err(|(f, e)| refuse(f, e))?;
            let start = out.ids.len();
            let spans = places.iter().cloned();
            let positions = Positions::of(ids.len(), spans);
            for (axis, new) in out.positions.axes.iter_mut().zip(positions.axes) {
                axis.extend(new);
            }
            for (tokens, _) in places {
                out.picture_tokens
                    .extend(tokens.map(|t| (start + t) as u32));
            }
            out.pictures.extend(sequence.pictures.iter().cloned());
            let each = ids.iter().zip(weights).zip(kinds).enumerate();
            for (token, ((id, weight), kind)) in each.skip(1) {
                if *weight > 0.0 {
                    out.rows.push((start + token - 1) as u32);
                    out.targets.push((*id, *weight));
                    out.kinds.push(*kind);
                }
            }
            out.ids.extend(ids);
            out.lengths.push(ids.len());
        }
        Ok(out)
    }

    /// The longest sequence.
    pub(super) fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    /// For `[sequences, longest]` places the token that stands there; behind a sequence's end its first one, which nobody looks at.
    pub(super) fn padded(&self) -> Vec<u32> {
        let longest = self.longest();
        let mut out = Vec::with_capacity(longest * self.lengths.len());
        let mut start = 0;
        for len in &self.lengths {
            out.extend((0..longest).map(|i| (start + if i < *len { i } else { 0 }) as u32));
            start += len;
        }
        out
    }

    /// For every token its place in [`padded`](Self::padded).
    pub(super) fn unpadded(&self) -> Vec<u32> {
        let longest = self.longest();
        let each = self.lengths.iter().enumerate();
        each.flat_map(|(s, len)| (0..*len).map(move |i| (s * longest + i) as u32))
            .collect()
    }
}

type Place = (std::ops::Range<usize>, (usize, usize));

/// Tokens and merged rows and columns of every picture of a sequence.
fn places(
    sequence: &Sequence,
    image: Option<u32>,
    merge: usize,
) -> Result<Vec<Place>, (String, String)> {
    let mut free = sequence
        .ids
        .iter()
        .enumerate()
        .filter(|(_, id)| Some(**id) == image)
        .map(|(token, _)| token)
        .peekable();
    let mut out = Vec::new();
    for picture in &sequence.pictures {
        let (rows, columns) = (picture.grid.h / merge.max(1), picture.grid.w / merge.max(1));
        let start = free.peek().copied();
        let taken = free.by_ref().take(rows * columns).collect::<Vec<_>>();
        let start = start.unwrap_or(0);
        if taken.last() != Some(&(start + (rows * columns).max(1) - 1)) {
            return Err((
                format!("{} placeholders in a row", taken.len()),
                format!("{} for a picture", rows * columns),
            ));
        }
        out.push((start..start + rows * columns, (rows, columns)));
    }
    match free.next() {
        Some(token) => Err((
            format!("a placeholder at token {token}"),
            "a picture for it".into(),
        )),
        None => Ok(out),
    }
}
