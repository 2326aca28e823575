//! Numbers only.
