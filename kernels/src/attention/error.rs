//! What can be wrong with the input of attention?

use thiserror::Error;

/// Why [`attention`](crate::attention::attention) gave no result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AttentionError {
    /// A size that must be at least 1 is 0.
    #[error("{what}: found 0, expected at least 1")]
    Zero {
        /// Name of the size.
        what: &'static str,
    },
    /// Query heads do not share key heads evenly.
    #[error("heads: found {heads}, expected a multiple of the {kv_heads} key heads")]
    Heads {
        /// Query heads.
        heads: usize,
        /// Key heads.
        kv_heads: usize,
    },
    /// A tensor ends before the last value its shape and strides name.
    #[error("{what}: found {found} values, expected at least {expected}")]
    Short {
        /// Name of the tensor.
        what: &'static str,
        /// Its values.
        found: usize,
        /// Values needed.
        expected: usize,
    },
    /// The result does not have a value for each row, head and column.
    #[error("out: found {found} values, expected {expected}")]
    Out {
        /// Length of the slice.
        found: usize,
        /// Rows x heads x head size.
        expected: usize,
    },
    /// A row is to see keys that do not exist.
    #[error("row {row}: found keys up to {found}, expected at most {keys}")]
    Key {
        /// Query row.
        row: usize,
        /// End of its range.
        found: usize,
        /// Keys there are.
        keys: usize,
    },
    /// More keys than a position in f32 can number.
    #[error("keys: found {found}, expected at most 16777216")]
    Keys {
        /// Keys there are.
        found: usize,
    },
}
