//! What was found while scanning: units are counted, and for every set of matched terms the best few pieces are kept. Memory does not grow with the object.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Instant;

use crate::limits::{Limits, Stop};
use crate::query::{Mask, Query};

/// Pieces kept for one set of terms.
const KEPT: usize = 16;
/// Sets of terms that are told apart.
const SETS: usize = 2_048;

/// A piece of an object that may be evidence.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Which file of the target; the collector fills it in.
    pub file: usize,
    /// Bytes in the file.
    pub bytes: Range<u64>,
    /// Lines from 1, the last included.
    pub lines: (u64, u64),
    /// JSON pointer, `row N`, symbol.
    pub at: Option<String>,
    /// Heading, record or symbol that it stands in.
    pub context: String,
    /// The statement itself; its numbers and codes are its values.
    pub core: String,
    /// What is shown.
    pub text: String,
}

/// A piece with the terms in it and around it.
#[derive(Debug, Clone)]
pub struct Found {
    /// Terms in the piece.
    pub own: Mask,
    /// Terms that it inherits: headings, headers, the record around it.
    pub inherited: Mask,
    /// Better is more.
    pub quality: f32,
    /// Order of arrival.
    pub order: u64,
    /// The piece.
    pub piece: Piece,
}

/// Takes units while an object is scanned.
#[derive(Debug)]
pub struct Collector<'q> {
    /// What is looked for.
    pub query: &'q Query,
    /// The file that is scanned now.
    pub file: usize,
    /// Units seen.
    pub units: u64,
    /// Bytes scanned.
    pub scanned: u64,
    /// Units that hold each term.
    pub frequency: Vec<u64>,
    /// Terms that occur in a unit or around one.
    pub seen: Mask,
    /// Pieces that matched as well as the kept ones.
    pub dropped: u64,
    /// What was left out, and why.
    pub skipped: Vec<(String, String)>,
    groups: HashMap<(Mask, Mask), Vec<Found>>,
    order: u64,
    deadline: Instant,
    stop: Stop,
}

impl<'q> Collector<'q> {
    /// Nothing seen yet.
    pub fn new(query: &'q Query, limits: &Limits) -> Self {
        let frequency = vec![0; query.terms.len()];
        Self {
            query,
            file: 0,
            units: 0,
            scanned: 0,
            frequency,
            seen: 0,
            dropped: 0,
            skipped: Vec::new(),
            groups: HashMap::new(),
            order: 0,
            deadline: Instant::now() + limits.time,
            stop: limits.stop.clone(),
        }
    }

    /// Whether the time of the call is used up, or it was told to stop.
    pub fn is_late(&self) -> bool {
        self.stop.is_set() || Instant::now() > self.deadline
    }

    /// Counts a unit with the terms in it.
    pub fn count(&mut self, mask: Mask) {
        self.units += 1;
        self.seen |= mask;
        let mut rest = mask;
        while rest != 0 {
            if let Some(frequency) = self.frequency.get_mut(rest.trailing_zeros() as usize) {
                *frequency += 1;
            }
            rest &= rest - 1;
        }
    }

    /// Counts units without any term.
    pub fn count_empty(&mut self, units: u64) {
        self.units += units;
    }

    /// Offers a piece; it is only made where it is kept. A piece without terms of its own is no evidence.
    pub fn offer(
        &mut self,
        own: Mask,
        inherited: Mask,
        quality: f32,
        make: impl FnOnce() -> Piece,
    ) {
        self.seen |= own | inherited;
        if own == 0 {
            return;
        }
        let inherited = inherited & !own;
        self.order += 1;
        if self.groups.len() >= SETS && !self.groups.contains_key(&(own, inherited)) {
            let poorest = self
                .groups
                .keys()
                .min_by_key(|(own, inherited)| {
                    (
                        own.count_ones() * 2 + inherited.count_ones(),
                        *own,
                        *inherited,
                    )
                })
                .copied();
            match poorest {
                Some(poorest) if poorest.0.count_ones() < own.count_ones() => {
                    self.groups.remove(&poorest);
                    self.dropped += 1;
                }
                _ => {
                    self.dropped += 1;
                    return;
                }
            }
        }
        let group = self.groups.entry((own, inherited)).or_default();
        if group.len() >= KEPT {
            self.dropped += 1;
            let Some((at, worst)) = group.iter().enumerate().min_by(|(_, one), (_, other)| {
                one.quality
                    .total_cmp(&other.quality)
                    .then(other.order.cmp(&one.order))
            }) else {
                return;
            };
            if worst.quality >= quality {
                return;
            }
            group.swap_remove(at);
        }
        let piece = Piece {
            file: self.file,
            ..make()
        };
        group.push(Found {
            own,
            inherited,
            quality,
            order: self.order,
            piece,
        });
    }

    /// What was kept, by arrival.
    pub fn found(&self) -> Vec<&Found> {
        let mut found: Vec<&Found> = self.groups.values().flatten().collect();
        found.sort_by_key(|found| found.order);
        found
    }
}
