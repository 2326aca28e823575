//! The evidence state: what was returned and found out over the rounds of a conversation, and which ranges nobody has seen yet.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::anchor::Anchor;
use crate::evidence::Status;

/// The state of one reading conversation; it can be saved and loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceState {
    /// Every span that was returned.
    pub anchors: Vec<Anchor>,
    /// The last status of every need, by its question.
    pub needs: BTreeMap<String, Status>,
    /// Bytes returned, by content hash: sorted, apart.
    pub inspected: BTreeMap<String, Vec<Range<u64>>>,
    /// Bytes searched, by content hash.
    pub searched: BTreeMap<String, u64>,
    /// Rounds so far.
    pub rounds: usize,
    /// Rounds since the last gain.
    pub without_gain: usize,
}

/// Rounds without gain after which reading natively is advised.
const STALL: usize = 2;

impl EvidenceState {
    /// Marks bytes of a content as returned.
    pub fn inspect(&mut self, anchor: &Anchor) {
        let ranges = self.inspected.entry(anchor.content.clone()).or_default();
        ranges.push(anchor.bytes.clone());
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges.drain(..) {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        *ranges = merged;
        if !self.anchors.contains(anchor) {
            self.anchors.push(anchor.clone());
        }
    }

    /// Whether all of a range was returned before.
    pub fn is_inspected(&self, content: &str, bytes: &Range<u64>) -> bool {
        self.inspected.get(content).is_some_and(|ranges| {
            ranges
                .iter()
                .any(|seen| seen.start <= bytes.start && bytes.end <= seen.end)
        })
    }

    /// The ranges of `length` bytes that were not returned.
    pub fn uninspected(&self, content: &str, length: u64) -> Vec<Range<u64>> {
        let mut start = 0;
        let mut rest = Vec::new();
        for seen in self.inspected.get(content).into_iter().flatten() {
            if seen.start > start {
                rest.push(start..seen.start.min(length));
            }
            start = start.max(seen.end);
        }
        if start < length {
            rest.push(start..length);
        }
        rest
    }

    /// Bytes returned of all contents.
    pub fn returned(&self) -> u64 {
        self.inspected
            .values()
            .flatten()
            .map(|range| range.end - range.start)
            .sum()
    }

    /// Ends a round: `resolved` needs were settled, and `fresh` of `shown` spans had not been returned before. Says whether reading has stalled: two rounds without a settled need and nearly the same spans.
    pub fn end_round(&mut self, resolved: usize, fresh: usize, shown: usize) -> bool {
        self.rounds += 1;
        // |new and old| / |new or old| >= 0.8, with the spans of this round as the union.
        let same = shown == 0 || (shown - fresh) as f64 / shown as f64 >= 0.8;
        if resolved == 0 && same {
            self.without_gain += 1;
        } else {
            self.without_gain = 0;
        }
        self.without_gain >= STALL
    }

    /// Anchors whose file now has another content.
    pub fn stale<'a>(
        &'a self,
        path: &'a str,
        content: &'a str,
    ) -> impl Iterator<Item = &'a Anchor> {
        self.anchors
            .iter()
            .filter(move |anchor| anchor.path == path && anchor.content != content)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn inspected_and_uninspected_ranges_make_the_whole(ranges in proptest::collection::vec((0_u64..900, 1_u64..100), 0..20)) {
            let mut state = EvidenceState::default();
            for (start, length) in ranges {
                let anchor = Anchor { path: "a".into(), lines: (1, 1), bytes: start..start + length, content: "0".repeat(16), at: None };
                state.inspect(&anchor);
                proptest::prop_assert!(state.is_inspected(&anchor.content, &anchor.bytes));
            }
            let rest: u64 = state.uninspected(&"0".repeat(16), 1_000).iter().map(|range| range.end - range.start).sum();
            proptest::prop_assert_eq!(rest + state.returned(), 1_000);
        }
    }

    #[test]
    fn two_rounds_that_bring_nothing_new_are_a_stall() {
        let mut state = EvidenceState::default();
        assert!(!state.end_round(0, 0, 3));
        assert!(state.end_round(0, 0, 3));
        assert!(!state.end_round(1, 0, 3));
        assert!(!state.end_round(0, 2, 3));
    }
}
