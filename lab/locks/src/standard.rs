//! The standard library's mutex behind the trait: on Linux a futex, some 100 pauses, then sleep.
//!
//! Invariant: `guard` holds the mutex's guard exactly while somebody has acquired and not released,
//! and only that thread touches it.
#![allow(unsafe_code)]

use std::mem::{self, ManuallyDrop};
use std::sync::{PoisonError, TryLockError};

use crate::place::Place;
use crate::raw::RawLock;
use crate::sync::{Mutex, MutexGuard, UnsafeCell};

/// See the module documentation.
#[derive(Debug)]
pub struct Standard {
    mutex: Mutex<()>,
    /// Of `mutex` next to it; never dropped with the lock, whose mutex may have moved by then.
    guard: UnsafeCell<ManuallyDrop<Option<MutexGuard<'static, ()>>>>,
}

// SAFETY: a guard that is left in the cell is never dropped in another thread: `release` takes it
// out in the thread that put it there, as its contract says; dropping the lock leaves it alone.
unsafe impl Send for Standard {}
// SAFETY: the cell is touched between locking and unlocking only.
unsafe impl Sync for Standard {}

impl Default for Standard {
    fn default() -> Self {
        Self { mutex: Mutex::new(()), guard: UnsafeCell::new(ManuallyDrop::new(None)) }
    }
}

impl Standard {
    fn keep(&self, guard: MutexGuard<'_, ()>) {
        // SAFETY: it is used in `release` only, whose caller borrows the lock, and the lock cannot
        // have moved since `acquire`, because a holder keeps it borrowed (one that forgets its
        // guard never releases).
        let guard: MutexGuard<'static, ()> = unsafe { mem::transmute(guard) };
        // SAFETY: this thread holds the mutex.
        self.guard.with_mut(|kept| unsafe { *kept = ManuallyDrop::new(Some(guard)) });
    }
}

// SAFETY: the standard mutex does it all. A panic of a holder poisons it, which is ignored.
unsafe impl RawLock for Standard {
    unsafe fn acquire(&self, _place: &Place) {
        self.keep(self.mutex.lock().unwrap_or_else(PoisonError::into_inner));
    }

    unsafe fn try_acquire(&self, _place: &Place) -> bool {
        let guard = match self.mutex.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        self.keep(guard);
        true
    }

    unsafe fn release(&self, _place: &Place) {
        // SAFETY: this thread holds the mutex.
        let guard = self.guard.with_mut(|kept| unsafe { (*kept).take() });
        drop(guard);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::test_models::{excludes, excludes_try};

    #[test]
    fn standard() {
        excludes(2, 2, Standard::default);
        excludes(3, 1, Standard::default);
        excludes_try(Standard::default);
    }
}
