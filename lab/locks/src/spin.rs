//! Two test-and-set locks, as the read aligners of 2018 had them.
//!
//! Invariant: the flag is true exactly while somebody holds the lock; whoever turns it from false
//! to true is that holder. Nothing is fair: a thread may wait for ever while others come and go.
#![allow(unsafe_code)]

use crate::place::Place;
use crate::raw::RawLock;
use crate::sync::{AtomicBool, Ordering};
use crate::waiting::{Backoff, give_way};

/// Takes the flag, and returns whether somebody else had it.
#[cfg(not(loom))]
fn taken(held: &AtomicBool) -> bool {
    held.swap(true, Ordering::Acquire)
}

/// Loom does not know that an exchange follows at once what it replaced, and lets a thread find its
/// own `true` for ever. One that replaces `true` by `true` changes nothing: here it is left out.
/// Relaxed: of an exchange that fails nothing is read.
#[cfg(loom)]
fn taken(held: &AtomicBool) -> bool {
    held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err()
}

/// The `fast_mutex` of `TinyThread++`: exchange, and yield after each failure.
#[derive(Debug, Default)]
pub struct TinyThread {
    held: AtomicBool,
}

// SAFETY: one exchange at a time finds false; Release and Acquire on the same flag order holders.
unsafe impl RawLock for TinyThread {
    unsafe fn acquire(&self, _place: &Place) {
        while taken(&self.held) {
            give_way();
        }
    }

    unsafe fn try_acquire(&self, _place: &Place) -> bool {
        !taken(&self.held)
    }

    unsafe fn release(&self, _place: &Place) {
        self.held.store(false, Ordering::Release);
    }
}

/// TBB's `spin_mutex`: exchange, after each failure twice as many pauses, then yields.
#[derive(Debug, Default)]
pub struct TbbSpin {
    held: AtomicBool,
}

// SAFETY: as of `TinyThread`.
unsafe impl RawLock for TbbSpin {
    unsafe fn acquire(&self, _place: &Place) {
        let mut backoff = Backoff::default();
        while taken(&self.held) {
            backoff.snooze();
        }
    }

    unsafe fn try_acquire(&self, _place: &Place) -> bool {
        !taken(&self.held)
    }

    unsafe fn release(&self, _place: &Place) {
        self.held.store(false, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::test_models::{excludes, excludes_try};

    #[test]
    fn tiny_thread() {
        excludes(2, 2, TinyThread::default);
        excludes(3, 1, TinyThread::default);
        excludes_try(TinyThread::default);
    }

    #[test]
    fn tbb_spin() {
        excludes(2, 2, TbbSpin::default);
        excludes(3, 1, TbbSpin::default);
        excludes_try(TbbSpin::default);
    }
}
