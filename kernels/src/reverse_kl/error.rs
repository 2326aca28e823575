//! What can be wrong with the input of the divergence head?

use thiserror::Error;

/// Which of the two contexts a hidden state belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// The history without the summary: `p`.
    Student,
    /// The history with the summary: `q`.
    Teacher,
}

impl std::fmt::Display for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Student => "student",
            Self::Teacher => "teacher",
        })
    }
}

/// Why [`reverse_kl`](crate::reverse_kl()) gave no result.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum HeadError {
    /// A size or an option that must be at least 1 is 0.
    #[error("{what}: found 0, expected at least 1")]
    Zero {
        /// Name of the field.
        what: &'static str,
    },
    /// A slice does not have the length its shape asks for.
    #[error("{what}: found {found} values, expected {rows} x {columns}")]
    Length {
        /// Name of the field.
        what: &'static str,
        /// Length of the slice.
        found: usize,
        /// Rows asked for.
        rows: usize,
        /// Values a row asked for.
        columns: usize,
    },
    /// The vocabulary has more entries than a token id (u32) can name.
    #[error("vocab: found {found}, expected at most {}", u32::MAX)]
    Vocab {
        /// Entries of the vocabulary.
        found: usize,
    },
    /// The floor of `q` is not a probability.
    #[error("floor: found {found}, expected a number from 0 to 1")]
    Floor {
        /// The floor given.
        found: f64,
    },
    /// A recorded token id lies outside the vocabulary.
    #[error("recorded token {token}: found id {found}, expected an id below {vocab}")]
    Recorded {
        /// Index of the token.
        token: usize,
        /// Its id.
        found: u32,
        /// Entries of the vocabulary.
        vocab: usize,
    },
    /// A hidden state is NaN or infinite.
    #[error(
        "{context} hidden state of token {token}, column {column}: found {found}, expected a finite number"
    )]
    Hidden {
        /// The context it belongs to.
        context: Context,
        /// Index of the token.
        token: usize,
        /// Column in the hidden state.
        column: usize,
        /// The value.
        found: f32,
    },
    /// A weight of the head is NaN or infinite.
    #[error(
        "head weight of vocabulary entry {row}, column {column}: found {found}, expected a finite number"
    )]
    Weight {
        /// Vocabulary entry.
        row: usize,
        /// Column.
        column: usize,
        /// The value.
        found: f32,
    },
    /// Logits of a token exceed the range of f32, in which [`Precision::Single`] holds them.
    ///
    /// [`Precision::Single`]: crate::reverse_kl::Precision::Single
    #[error(
        "logits of token {token}: found one beyond f32, expected them in range, or double precision"
    )]
    Overflow {
        /// Index of the token.
        token: usize,
    },
    /// A packed weight has other sizes than the input says.
    #[error("packed weight: found {found_out} x {found_in}, expected {vocab} x {hidden}")]
    Packed {
        /// Its rows.
        found_out: usize,
        /// Its columns.
        found_in: usize,
        /// Entries of the vocabulary.
        vocab: usize,
        /// Width of a hidden state.
        hidden: usize,
    },
    /// The caller asked to stop.
    #[error("cancelled after {done} of {total} vocabulary tiles")]
    Cancelled {
        /// Tiles done, over all blocks of tokens.
        done: usize,
        /// Tiles there are, over all blocks of tokens.
        total: usize,
    },
}
