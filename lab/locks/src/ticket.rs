//! A ticket lock: first come, first served, all waiting for one number.
//!
//! Invariants: tickets are given once each (`fetch_add`); `serving` is changed by the holder alone,
//! by one; the holder is the thread whose ticket is `serving`. Numbers wrap round: at most 2^32 - 1
//! threads may wait.
#![allow(unsafe_code)]

use crate::place::Place;
use crate::raw::RawLock;
use crate::sync::{AtomicU32, Ordering, pause};
use crate::waiting::give_way;

/// Pauses for each one ahead: about the time that it will take (Mellor-Crummey and Scott 1991,
/// section 2.2, proportional backoff).
const PAUSES_PER_WAITER: u32 = 8;
/// Most pauses in one go, and looks after which a thread yields.
const MOST_PAUSES: u32 = 64;
const LOOKS: u32 = 8;

/// See the module documentation.
#[derive(Debug, Default)]
pub struct Ticket {
    next: AtomicU32,
    serving: AtomicU32,
}

impl Ticket {
    /// Waits for its turn.
    pub(crate) fn lock(&self) {
        // Relaxed: every ticket is given once; `serving` orders what is done under the lock.
        let mine = self.next.fetch_add(1, Ordering::Relaxed);
        for look in 0_u32.. {
            // Acquire: what the one before did.
            let ahead = mine.wrapping_sub(self.serving.load(Ordering::Acquire));
            if ahead == 0 {
                return;
            }
            if look % LOOKS == LOOKS - 1 {
                give_way();
            } else {
                pause(ahead.saturating_mul(PAUSES_PER_WAITER).min(MOST_PAUSES));
            }
        }
    }

    pub(crate) fn try_lock(&self) -> bool {
        let serving = self.serving.load(Ordering::Acquire);
        let after = serving.wrapping_add(1);
        // Whoever takes the ticket that is being served has the lock; Acquire was done above.
        self.next.compare_exchange(serving, after, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Tickets given so far.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn given(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    /// Serves the next one. Any thread may do that for the holder.
    pub(crate) fn unlock(&self) {
        // Relaxed: the holder has seen it, and nobody else changes it.
        let serving = self.serving.load(Ordering::Relaxed);
        self.serving.store(serving.wrapping_add(1), Ordering::Release);
    }
}

// SAFETY: tickets are different, one is served at a time, and only the holder serves the next one.
unsafe impl RawLock for Ticket {
    unsafe fn acquire(&self, _place: &Place) {
        self.lock();
    }

    unsafe fn try_acquire(&self, _place: &Place) -> bool {
        self.try_lock()
    }

    unsafe fn release(&self, _place: &Place) {
        self.unlock();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tickets_wrap_round() {
        let lock = Ticket { next: AtomicU32::new(u32::MAX), serving: AtomicU32::new(u32::MAX) };
        for _ in 0..3 {
            lock.lock();
            assert!(!lock.try_lock());
            lock.unlock();
        }
        assert!(lock.try_lock());
        assert_eq!(lock.next.into_inner(), 3);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::test_models::{excludes, excludes_try};

    #[test]
    fn ticket() {
        excludes(2, 2, Ticket::default);
        excludes(3, 1, Ticket::default);
        excludes_try(Ticket::default);
    }
}
