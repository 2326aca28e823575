//! Sparse reading.
