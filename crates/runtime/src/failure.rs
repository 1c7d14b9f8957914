//! The first failure of a run, kept once, and the stop signal that it is.
//!
//! Every worker looks at [`Failure::stopped`] between tasks; whoever fails first decides the error
//! that the user reads, everything after it is a consequence and is dropped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, whether or not a panicking thread held it: a panic is recorded as the run's
/// failure, and the state behind our locks is only torn down afterwards.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A latch for the first error of a group of workers.
#[derive(Debug)]
pub struct Failure<E> {
    stopped: AtomicBool,
    /// With its position, if it has one.
    first: Mutex<Option<(Option<u64>, E)>>,
}

impl<E> Default for Failure<E> {
    fn default() -> Self {
        Self { stopped: AtomicBool::new(false), first: Mutex::new(None) }
    }
}

impl<E> Failure<E> {
    /// Records `error` unless one is recorded already, and stops the run.
    pub(crate) fn set(&self, error: E) {
        lock(&self.first).get_or_insert((None, error));
        self.stopped.store(true, Ordering::Release);
    }

    /// As [`Failure::set`], for an error at a position of the input: of several such errors the one
    /// with the least position counts, whichever worker was the first to find one.
    pub fn set_at(&self, position: u64, error: E) {
        let mut first = lock(&self.first);
        let counts = match &*first {
            None => true,
            Some((there, _)) => there.is_some_and(|there| position < there),
        };
        if counts {
            *first = Some((Some(position), error));
        }
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether the run has failed.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// The error, if any; the latch is empty afterwards.
    pub(crate) fn take(&self) -> Option<E> {
        lock(&self.first).take().map(|(_, error)| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_wins() {
        let failure = Failure::default();
        assert!(!failure.stopped());
        failure.set("first");
        failure.set("second");
        assert!(failure.stopped());
        assert_eq!(failure.take(), Some("first"));
    }

    #[test]
    fn of_errors_with_a_position_the_least_wins() {
        let failure = Failure::default();
        for position in [7, 3, 5] {
            failure.set_at(position, position);
        }
        assert!(failure.stopped());
        failure.set(0);
        assert_eq!(failure.take(), Some(3));
        failure.set(0);
        failure.set_at(1, 1);
        assert_eq!(failure.take(), Some(0));
    }
}
