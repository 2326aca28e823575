//! What a picture is once it is cut into patches.

/// The patch grid of one picture: frames, patch rows, patch columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Frames (1 for a still picture).
    pub t: usize,
    /// Patch rows.
    pub h: usize,
    /// Patch columns.
    pub w: usize,
}
