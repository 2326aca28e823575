//! How much a call may read, hold and return.

use std::time::Duration;

/// Limits of one call; a folder shares them among its files.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Files of a folder.
    pub files: usize,
    /// Bytes scanned.
    pub scanned_bytes: u64,
    /// Bytes of a file that is held in memory whole (trees, code).
    pub held_bytes: u64,
    /// Nesting of trees and folders.
    pub depth: usize,
    /// Bytes of one record of a table.
    pub record_bytes: usize,
    /// Time of one call.
    pub time: Duration,
    /// Bytes that `raw` returns at once.
    pub raw_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            files: 10_000,
            scanned_bytes: 16 << 30,
            held_bytes: 64 << 20,
            depth: 64,
            record_bytes: 1 << 20,
            time: Duration::from_secs(60),
            raw_bytes: 256 << 10,
        }
    }
}
