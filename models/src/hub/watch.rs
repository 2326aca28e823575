//! How is a download watched and stopped?

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// How far a download has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer<'a> {
    /// The file that is fetched now.
    pub file: &'a str,
    /// Bytes there, of all files asked for so far, those of earlier attempts included.
    pub done: u64,
    /// Bytes of all files asked for so far; it grows once, when the index has named the shards.
    pub total: u64,
}

/// Cancel flag and progress callback of a download. `Watch::default()` has neither.
#[derive(Clone, Copy, Default)]
pub struct Watch<'a> {
    cancel: Option<&'a AtomicBool>,
    progress: Option<&'a (dyn Fn(Transfer<'_>) + Sync)>,
}

impl<'a> Watch<'a> {
    /// Neither a cancel flag nor a callback.
    pub fn none() -> Self {
        Self::default()
    }

    /// Stops the download with [`super::HubError::Cancelled`] soon after `flag` becomes true; what has arrived is kept and
    /// continued by the next download.
    pub fn with_cancel(mut self, flag: &'a AtomicBool) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// Calls `report` for every piece that arrives.
    pub fn with_progress(mut self, report: &'a (dyn Fn(Transfer<'_>) + Sync)) -> Self {
        self.progress = Some(report);
        self
    }

    #[cfg_attr(not(feature = "hub"), allow(dead_code))]
    pub(super) fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    #[cfg_attr(not(feature = "hub"), allow(dead_code))]
    pub(super) fn report(&self, transfer: Transfer<'_>) {
        if let Some(report) = self.progress {
            report(transfer);
        }
    }
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("cancel", &self.cancel)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
