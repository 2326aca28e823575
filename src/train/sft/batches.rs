//! Which examples make which step, and which are held out? The same whenever it is asked, so that a stopped run goes on with its own batches.

use std::collections::BTreeMap;

use crate::eval::Random;

/// The order of examples, epoch by epoch.
#[derive(Clone, Debug)]
pub struct Batches {
    /// Examples of an epoch.
    examples: usize,
    /// Examples of a step.
    size: usize,
    seed: u64,
}

impl Batches {
    /// `size` of `examples` a step; every epoch has an order of its own.
    pub fn new(examples: usize, size: usize, seed: u64) -> Self {
        Self {
            examples,
            size: size.max(1),
            seed,
        }
    }

    /// Steps of so many epochs; the last one is filled from the next epoch.
    pub fn steps(&self, epochs: usize) -> usize {
        (self.examples * epochs).div_ceil(self.size)
    }

    /// The epoch that a step begins in.
    pub fn epoch(&self, step: usize) -> usize {
        step * self.size / self.examples.max(1)
    }

    /// Indexes of the examples of a step. A step that runs into the next epoch may see an example twice.
    pub fn at(&self, step: usize) -> Vec<usize> {
        let mut order: (usize, Vec<usize>) = (usize::MAX, Vec::new());
        let mut out = Vec::with_capacity(self.size);
        if self.examples == 0 {
            return out;
        }
        for place in step * self.size..(step + 1) * self.size {
            let epoch = place / self.examples;
            if order.0 != epoch {
                let mut shuffled: Vec<usize> = (0..self.examples).collect();
                Random::new(self.seed, epoch).shuffle(&mut shuffled);
                order = (epoch, shuffled);
            }
            out.extend(order.1.get(place % self.examples));
        }
        out
    }
}

/// Indexes to learn and indexes to hold out, in order. All items of one group go the same way; `percent` of the groups, rounded down, are held
/// out, and never all of them.
pub fn split(groups: &[&str], percent: usize, seed: u64) -> (Vec<usize>, Vec<usize>) {
    let mut names: Vec<&str> = Vec::new();
    for group in groups {
        if !names.contains(group) {
            names.push(group);
        }
    }
    let count = (names.len() * percent / 100).min(names.len().saturating_sub(1));
    Random::new(!seed, names.len()).shuffle(&mut names);
    let out: BTreeMap<&str, bool> = names
        .into_iter()
        .enumerate()
        .map(|(place, name)| (name, place < count))
        .collect();
    let held = |i: &usize| {
        groups
            .get(*i)
            .is_some_and(|group| out.get(group) == Some(&true))
    };
    (0..groups.len()).partition(|i| !held(i))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_holds_every_example_once_and_orders_differ() {
        let batches = Batches::new(7, 3, 5);
        assert_eq!(
            (batches.steps(1), batches.steps(2), batches.steps(3)),
            (3, 5, 7)
        );
        let all: Vec<usize> = (0..7).flat_map(|step| batches.at(step)).collect();
        assert_eq!(all.len(), 21);
        let epochs: Vec<&[usize]> = all.chunks(7).collect();
        for epoch in &epochs {
            let mut sorted = epoch.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..7).collect::<Vec<_>>());
        }
        assert!(epochs[0] != epochs[1] && epochs[1] != epochs[2]);
        assert_eq!(
            (batches.epoch(0), batches.epoch(2), batches.epoch(3)),
            (0, 0, 1)
        );
        assert!(Batches::new(0, 4, 1).at(0).is_empty());
    }

    #[test]
    fn one_run_is_never_on_both_sides() {
        let groups: Vec<String> = (0..40).map(|i| format!("run {}", i / 2)).collect();
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        let (learnt, held) = split(&groups, 10, 3);
        assert_eq!((learnt.len(), held.len()), (36, 4));
        for i in &held {
            assert!(learnt.iter().all(|j| groups[*j] != groups[*i]));
        }
        assert_ne!(split(&groups, 10, 4).1, held);
        assert_eq!(split(&groups[..2], 100, 3).0, [0, 1]);
        assert!(split(&groups, 0, 3).1.is_empty() && split(&[], 10, 3).0.is_empty());
    }
}
