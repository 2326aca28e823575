//! How is a long call stopped and watched?

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::ModelError;

/// How far a long call has come, in tokens pushed through the text model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Tokens done in this call.
    pub done: usize,
    /// Tokens that this call has to do.
    pub total: usize,
}

/// Cancel flag, progress callback and token counter of one long call. `Control::default()` has none.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    cancel: Option<&'a AtomicBool>,
    progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    pushed: Option<&'a AtomicU64>,
}

impl<'a> Control<'a> {
    /// Neither a cancel flag nor a callback.
    pub fn none() -> Self {
        Self::default()
    }

    /// Stops the call with [`ModelError::Cancelled`] soon after `flag` becomes true.
    pub fn with_cancel(mut self, flag: &'a AtomicBool) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// Calls `report` after every chunk.
    pub fn with_progress(mut self, report: &'a (dyn Fn(Progress) + Sync)) -> Self {
        self.progress = Some(report);
        self
    }

    /// Adds the tokens that this call pushes through the text model to `counter`, from the shape of the model's input.
    pub fn with_counter(mut self, counter: &'a AtomicU64) -> Self {
        self.pushed = Some(counter);
        self
    }

    pub(crate) fn count(&self, tokens: usize) {
        if let Some(counter) = self.pushed {
            counter.fetch_add(tokens as u64, Ordering::Relaxed);
        }
    }

    /// Whether the flag is up.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// An error when the call has been cancelled.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(ModelError::Cancelled),
            _ => Ok(()),
        }
    }

    pub(crate) fn report(&self, done: usize, total: usize) {
        if let Some(report) = self.progress {
            report(Progress { done, total });
        }
    }
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control")
            .field("cancel", &self.cancel)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
