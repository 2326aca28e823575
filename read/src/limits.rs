//! How much a call may read, hold and return.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Ends a running call from another thread; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Calls under way end at the next look, with what they have as left out for the time limit.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was told to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

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
    /// Ends the call early.
    pub stop: Stop,
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
            stop: Stop::default(),
        }
    }
}
