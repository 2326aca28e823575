//! spare.
