//! When each thread waited for a lock, and had it.

use std::time::{Duration, Instant};

/// Holds that are kept of a thread: 48 MB of a run that has more.
pub(super) const MOST_HOLDS: usize = 2_000_000;

/// Once that a thread had the lock; all times since the begin of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hold {
    /// When it began to wait.
    pub(super) requested_ns: u64,
    /// When it had the lock.
    pub(super) taken_ns: u64,
    /// When it gave it back.
    pub(super) released_ns: u64,
}

/// What is kept of a thread, in the order of time.
pub(super) struct Trace {
    began: Instant,
    requested: Instant,
    holds: Vec<Hold>,
}

impl Trace {
    /// From the begin of the run.
    pub(super) fn new(began: Instant) -> Self {
        Self { began, requested: began, holds: Vec::new() }
    }

    /// The thread begins to wait. Room for its hold is made now, while nobody waits for it.
    pub(super) fn wait(&mut self) {
        self.holds.reserve(1);
        self.requested = Instant::now();
    }

    /// The thread has had the lock since `taken`, for `held`.
    pub(super) fn held(&mut self, taken: Instant, held: Duration) {
        let since = |at: Instant| at.saturating_duration_since(self.began).as_nanos() as u64;
        let taken_ns = since(taken);
        if self.holds.len() < MOST_HOLDS {
            self.holds.push(Hold {
                requested_ns: since(self.requested),
                taken_ns,
                released_ns: taken_ns + held.as_nanos() as u64,
            });
        }
    }

    /// All holds.
    pub(super) fn into_holds(self) -> Vec<Hold> {
        self.holds
    }
}
