//! Hierarchical backoff (Radovic and Hagersten, HPCA 2003): test-and-set where a thread that finds
//! the lock held on its own node comes back soon, and one that finds it elsewhere comes back late.
//!
//! Invariants: the word is 0 exactly while the lock is free, else the holder's node + 1; whoever
//! changes it from 0 is the holder. Nothing is fair, but starvation is held off: after
//! [`PATIENCE`] failures a thread of another node comes back as soon as one of the holder's (the
//! paper's HBO_GT_SD lets it "get angry").
#![allow(unsafe_code)]

use crate::node::{self, NodeOf};
use crate::place::Place;
use crate::raw::RawLock;
use crate::sync::{AtomicUsize, Ordering, pause};
use crate::waiting::{MAX_PAUSES, give_way};

/// Pauses, doubled after each failure up to the second number (the paper tunes them per machine).
const NEAR: (u32, u32) = (8, 128);
const FAR: (u32, u32) = (128, 2048);
/// Failures from afar after which a thread behaves as if it were near.
pub const PATIENCE: u32 = 16;

const FREE: usize = 0;
const _: () = assert!(FAR.1 <= MAX_PAUSES && NEAR.1 <= MAX_PAUSES);

/// See the module documentation.
#[derive(Debug)]
pub struct Hbo {
    holder: AtomicUsize,
    node_of: NodeOf,
}

impl Default for Hbo {
    fn default() -> Self {
        Self::new(node::of_this_thread)
    }
}

impl Hbo {
    /// A free lock that calls `node_of` where a thread runs.
    #[must_use]
    pub fn new(node_of: NodeOf) -> Self {
        Self { holder: AtomicUsize::new(FREE), node_of }
    }

    /// Tries once: who holds the lock, if that failed.
    fn attempt(&self, me: usize) -> Result<(), usize> {
        // Relaxed: who holds the lock decides how long one waits.
        let (acquired, failed) = (Ordering::Acquire, Ordering::Relaxed);
        self.holder.compare_exchange(FREE, me, acquired, failed).map(|_| ())
    }

    fn me(&self) -> usize {
        // One more, so that no node looks like a free lock.
        (self.node_of)().wrapping_add(1).max(1)
    }
}

// SAFETY: one compare-exchange at a time finds 0; Release and Acquire on the word order holders.
unsafe impl RawLock for Hbo {
    unsafe fn acquire(&self, _place: &Place) {
        let me = self.me();
        let mut failures = 0;
        let mut near_before = None;
        let mut pauses = 0;
        while let Err(holder) = self.attempt(me) {
            let near = holder == me || failures >= PATIENCE;
            let (first, most) = if near { NEAR } else { FAR };
            if near_before != Some(near) {
                (near_before, pauses) = (Some(near), first);
            }
            pause(pauses);
            if pauses == most {
                give_way();
            }
            pauses = (pauses * 2).min(most);
            failures += u32::from(!near);
        }
    }

    unsafe fn try_acquire(&self, _place: &Place) -> bool {
        self.attempt(self.me()).is_ok()
    }

    unsafe fn release(&self, _place: &Place) {
        self.holder.store(FREE, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::test_models::{excludes, excludes_try};

    #[test]
    fn hbo() {
        excludes(2, 2, Hbo::default);
        excludes(3, 1, Hbo::default);
        excludes_try(Hbo::default);
    }
}
