//! What can be wrong with the sizes of a function's operands?

use thiserror::Error;

/// Why a product, a packing or a fused layer gave no result: its operands do not fit each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A slice does not have the length its shape asks for.
    #[error("{what}: found {found} values, expected {rows} x {columns}")]
    Length {
        /// Name of the operand.
        what: &'static str,
        /// Length of the slice.
        found: usize,
        /// Rows asked for.
        rows: usize,
        /// Values a row asked for.
        columns: usize,
    },
    /// Activations are not whole rows.
    #[error("activations: found {found} values, expected a multiple of {columns}")]
    Rows {
        /// Length of the slice.
        found: usize,
        /// Values a row.
        columns: usize,
    },
    /// A size that must be at least 1 is 0.
    #[error("{what}: found 0, expected at least 1")]
    Zero {
        /// Name of the size.
        what: &'static str,
    },
}

/// Checks that `found` values are `rows` rows of `columns`.
pub(crate) fn expect_shape(
    what: &'static str,
    found: usize,
    rows: usize,
    columns: usize,
) -> Result<(), ShapeError> {
    if rows.checked_mul(columns) == Some(found) {
        Ok(())
    } else {
        Err(ShapeError::Length {
            what,
            found,
            rows,
            columns,
        })
    }
}
