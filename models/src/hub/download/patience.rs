//! How long is waited, how often is it tried again, and how does a caller stop it?

use std::time::{Duration, Instant};

use super::super::{Asked, HubError, Limits, Watch};

/// How often the cancel flag is looked at.
const TICK: Duration = Duration::from_millis(50);

/// The longest wait that nobody has asked for.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// Limits and cancel flag of one download.
#[derive(Clone, Copy)]
pub(super) struct Patience<'a> {
    pub(super) limits: Limits,
    pub(super) watch: Watch<'a>,
}

/// What stopped a wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interrupt {
    Cancelled,
    Stalled,
}

/// One failed attempt.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another attempt would fail as well.
    Final(HubError),
    /// It may go better next time.
    Passing(Passing),
}

#[derive(Debug)]
pub(super) struct Passing {
    pub(super) asked: Asked,
    pub(super) why: Why,
    /// What the hub asks to be left alone for.
    pub(super) wait: Option<Duration>,
    /// Whether the attempt has brought something new.
    pub(super) advanced: bool,
}

#[derive(Debug)]
pub(super) enum Why {
    RateLimited,
    Status {
        status: u16,
        message: String,
    },
    Unreachable(String),
    Stalled {
        seconds: f64,
        done: u64,
    },
    Length {
        found: u64,
        expected: u64,
        message: String,
    },
}

impl From<HubError> for Failure {
    fn from(error: HubError) -> Self {
        Failure::Final(error)
    }
}

impl Failure {
    pub(super) fn passing(asked: Asked, why: Why) -> Self {
        Failure::Passing(Passing {
            asked,
            why,
            wait: None,
            advanced: false,
        })
    }
}

impl Passing {
    fn give_up(self, attempts: u32) -> HubError {
        let asked = Box::new(self.asked);
        match self.why {
            Why::RateLimited => HubError::RateLimited {
                asked,
                attempts,
                asks_for: self.wait.map(|w| w.as_secs()),
            },
            Why::Status { status, message } => HubError::Status {
                asked,
                status,
                attempts,
                message,
            },
            Why::Unreachable(message) => HubError::Unreachable {
                asked,
                attempts,
                message,
            },
            Why::Stalled { seconds, done } => HubError::Stalled {
                asked,
                attempts,
                seconds,
                done,
            },
            Why::Length {
                found,
                expected,
                message,
            } => HubError::Length {
                asked,
                attempts,
                message,
                found,
                expected,
            },
        }
    }
}

impl Patience<'_> {
    /// A wait that was stopped when `done` bytes had arrived.
    pub(super) fn interrupted(&self, asked: Asked, by: Interrupt, done: u64) -> Failure {
        match by {
            Interrupt::Cancelled => Failure::Final(HubError::Cancelled),
            Interrupt::Stalled => {
                let seconds = self.limits.stall.as_secs_f64();
                Failure::passing(asked, Why::Stalled { seconds, done })
            }
        }
    }

    /// The future's output, unless it takes longer than a stall or the caller cancels.
    pub(super) async fn within<F: Future>(&self, future: F) -> Result<F::Output, Interrupt> {
        let start = Instant::now();
        let mut future = std::pin::pin!(future);
        loop {
            if self.watch.cancelled() {
                return Err(Interrupt::Cancelled);
            }
            if let Ok(output) = tokio::time::timeout(TICK, &mut future).await {
                return Ok(output);
            }
            if start.elapsed() >= self.limits.stall {
                return Err(Interrupt::Stalled);
            }
        }
    }

    /// Waits, unless the caller cancels.
    pub(super) async fn sleep(&self, wait: Duration) -> Result<(), HubError> {
        let end = Instant::now() + wait;
        loop {
            if self.watch.cancelled() {
                return Err(HubError::Cancelled);
            }
            match end.saturating_duration_since(Instant::now()) {
                Duration::ZERO => return Ok(()),
                left => tokio::time::sleep(left.min(TICK)).await,
            }
        }
    }

    /// Tries until it works, fails for good, or `attempts` in a row have brought nothing new.
    pub(super) async fn retrying<T>(
        &self,
        attempts: u32,
        mut attempt: impl AsyncFnMut() -> Result<T, Failure>,
    ) -> Result<T, HubError> {
        let mut failed = 0;
        loop {
            let passing = match attempt().await {
                Ok(value) => return Ok(value),
                Err(Failure::Final(error)) => return Err(error),
                Err(Failure::Passing(passing)) => passing,
            };
            failed = if passing.advanced { 1 } else { failed + 1 };
            let doubled = 2u32.saturating_pow(failed - 1);
            let backoff = self.limits.backoff.saturating_mul(doubled);
            let wait = passing.wait.unwrap_or(backoff.min(LONGEST_BACKOFF));
            if failed >= attempts || wait > self.limits.longest_wait {
                return Err(passing.give_up(failed));
            }
            self.sleep(wait).await?;
        }
    }
}
