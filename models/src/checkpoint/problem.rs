//! What can be wrong with a tensor?

/// One reason why the weights of a checkpoint are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightProblem {
    /// The model needs it and no file has it.
    #[error("{name}: found nothing, expected shape {expected:?}")]
    Missing {
        /// Tensor name.
        name: String,
        /// The shape it has to have.
        expected: Vec<usize>,
    },
    /// A file has it and the model has no place for it.
    #[error("{name}: found a tensor of shape {found:?}, expected no such tensor")]
    Unexpected {
        /// Tensor name.
        name: String,
        /// Its shape.
        found: Vec<usize>,
    },
    /// The shape disagrees with the configuration.
    #[error("{name}: found shape {found:?}, expected {expected:?}")]
    Shape {
        /// Tensor name.
        name: String,
        /// Its shape in the file.
        found: Vec<usize>,
        /// The shape that follows from config.json.
        expected: Vec<usize>,
    },
    /// A type that is not read, such as a quantised one.
    #[error("{name}: found type {found}, expected F32, BF16 or F16")]
    Type {
        /// Tensor name.
        name: String,
        /// Its type in the file.
        found: String,
    },
    /// NaN or infinite weights.
    #[error(
        "{name}: found {count} weights that are NaN or infinite (the first at element {first}), expected finite weights"
    )]
    NotFinite {
        /// Tensor name.
        name: String,
        /// How many.
        count: usize,
        /// Index of the first, row-major.
        first: usize,
    },
    /// Weights that the chosen type cannot hold.
    #[error(
        "{name}: found {count} weights beyond 65504 (the first at element {first}), which f16 cannot hold, expected another --dtype"
    )]
    BeyondF16 {
        /// Tensor name.
        name: String,
        /// How many.
        count: usize,
        /// Index of the first, row-major.
        first: usize,
    },
    /// Experts whose layout the shape cannot tell.
    #[error(
        "{name}: found square experts of {side} by {side}, whose layout (as they are or transposed) no file says, expected experts of unequal sides"
    )]
    SquareExperts {
        /// Tensor name.
        name: String,
        /// Rows and columns.
        side: usize,
    },
    /// A file without its tensors.
    #[error("{file}: found a header and no tensors behind it, expected the tensors too")]
    HeaderOnly {
        /// File name.
        file: String,
    },
    /// The index names a file that is not there.
    #[error(
        "{file}: found no such file, expected the shard that model.safetensors.index.json gives for {tensors} tensors"
    )]
    MissingShard {
        /// File name.
        file: String,
        /// How many tensors the index places in it.
        tensors: usize,
    },
    /// The same name in two files.
    #[error("{name}: found in {first} and in {second}, expected in one file")]
    Duplicate {
        /// Tensor name.
        name: String,
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// Two naming schemes at once.
    #[error("{part}: found tensors under {first} and under {second}, expected one of them")]
    Ambiguous {
        /// Which part of the model.
        part: &'static str,
        /// One prefix.
        first: String,
        /// The other.
        second: String,
    },
}
