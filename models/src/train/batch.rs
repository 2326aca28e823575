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

/// Scores that a group may have, unless it is one sequence.
const SCORES: usize = 1 << 22;

/// Sequences of similar length, padded to the longest.
#[derive(Debug)]
pub(super) struct Group {
    /// Sequences.
    pub(super) count: usize,
    /// Places that each of them has.
    pub(super) longest: usize,
    /// For `[count, longest]` places the token that stands there.
    pub(super) tokens: Vec<u32>,
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

    /// Sequences that go through attention together, and for every token its row among the rows of all groups.
    ///
    /// `width` is the number of query heads. Short sequences beside a long one would be padded to its length, and scores grow with its
    /// square; a long one goes alone, so that its scores stay in the cache.
    pub(super) fn groups(&self, width: usize) -> (Vec<Group>, Vec<u32>) {
        let mut order = Vec::with_capacity(self.lengths.len());
        let mut next = 0;
        for len in &self.lengths {
            order.push((*len, next));
            next += len;
        }
        order.sort_by_key(|(len, start)| (std::cmp::Reverse(*len), *start));
        let mut groups: Vec<Group> = Vec::new();
        let mut rows = vec![0; self.ids.len()];
        let mut first = 0;
        for (len, start) in order {
            let fits = |group: &Group| {
                let scores = (group.count + 1) * width * group.longest * group.longest;
                4 * len >= 3 * group.longest && scores <= SCORES
            };
            if !groups.last().is_some_and(fits) {
                groups.push(Group {
                    count: 0,
                    longest: len,
                    tokens: Vec::new(),
                });
            }
            let Some(group) = groups.last_mut() else {
                continue;
            };
            group.count += 1;
            for i in 0..group.longest {
                // Behind a sequence's end stands its first token, which nobody looks at.
                let own = i < len;
                group.tokens.push((start + if own { i } else { 0 }) as u32);
                if let Some(row) = rows.get_mut(start + i).filter(|_| own) {
                    *row = (first + i) as u32;
                }
            }
            first += group.longest;
        }
        (groups, rows)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_stands_in_one_place_beside_sequences_of_its_length() {
        let lengths = vec![80, 900, 100, 90, 880, 1];
        let packed = Packed {
            ids: vec![0; lengths.iter().sum()],
            lengths,
            ..Packed::default()
        };
        // Two of 900 have 9.7 million scores: too many for one group.
        for (width, expected) in [
            (6, vec![(1, 900), (1, 880), (3, 100), (1, 1)]),
            (1, vec![(2, 900), (3, 100), (1, 1)]),
        ] {
            let (groups, rows) = packed.groups(width);
            let sizes: Vec<_> = groups.iter().map(|g| (g.count, g.longest)).collect();
            assert_eq!(sizes, expected);
            let all: Vec<u32> = groups.iter().flat_map(|g| g.tokens.clone()).collect();
            for (token, row) in rows.iter().enumerate() {
                assert_eq!(all.get(*row as usize), Some(&(token as u32)));
            }
            assert!(groups.iter().all(|g| g.tokens.len() == g.count * g.longest));
        }
    }
}
