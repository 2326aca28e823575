//! The student's statistics: final hidden states of the trunk's rows, kept as long as what stands before them stays the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use spare_models::HiddenRows;

/// Hidden states by row of the trunk. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    rows: BTreeMap<usize, Arc<[f32]>>,
}

impl States {
    /// Forgets rows from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        self.rows.split_off(&len);
    }

    /// The rows that are known, in order.
    pub(super) fn known(&self) -> Vec<usize> {
        self.rows.keys().copied().collect()
    }

    /// The first of `rows` that is not known.
    pub(super) fn first_missing(&self, rows: &[usize]) -> Option<usize> {
        let missing = rows.iter().filter(|row| !self.rows.contains_key(row));
        missing.min().copied()
    }

    /// Which of `rows` are not known, each once, in order.
    pub(super) fn missing(&self, rows: &[usize]) -> Vec<usize> {
        let missing = rows.iter().filter(|row| !self.rows.contains_key(row));
        let mut missing: Vec<usize> = missing.copied().collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    pub(super) fn insert(&mut self, rows: &[usize], hidden: &HiddenRows) {
        for (i, row) in rows.iter().enumerate() {
            if let Some(values) = hidden.row(i) {
                self.rows.insert(*row, values.into());
            }
        }
    }

    /// The values of `rows` behind one another; what is not known is left out.
    pub(super) fn gather(&self, rows: &[usize]) -> Vec<f32> {
        let known = rows.iter().filter_map(|row| self.rows.get(row));
        known.flat_map(|values| values.iter().copied()).collect()
    }

    /// Bytes of all rows.
    pub(super) fn bytes(&self) -> u64 {
        self.rows
            .values()
            .map(|v| size_of_val::<[f32]>(v) as u64)
            .sum()
    }
}
