//! The queueing lock of Mellor-Crummey and Scott (1991): each thread waits for its own flag.
//!
//! TBB's `queuing_mutex`, which did best in Langmead 2018, is this with waits that pause up to 31
//! times and then yield ([`Yielding`]). With [`Parking`] they sleep instead.
//!
//! Invariants:
//! * `tail` is null exactly while nobody holds the lock or waits for it.
//! * The head of the queue is the holder. It alone grants, and only its successor.
//! * A place that was the tail when it was left with a successor has, or will have, a link to it.
//!
//! Relaxed: of an exchange that fails nothing is read; the link that is waited for then is Acquire.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr;

use crate::place::{GRANTED, Place, UNKNOWN_NODE};
use crate::raw::RawLock;
use crate::sync::{AtomicPtr, Ordering};
use crate::waiting::{Waiting, Yielding, linked_next};

/// See the module documentation.
#[derive(Debug)]
pub struct Mcs<W = Yielding> {
    tail: AtomicPtr<Place>,
    waiting: PhantomData<W>,
}

impl<W> Default for Mcs<W> {
    fn default() -> Self {
        Self { tail: AtomicPtr::new(ptr::null_mut()), waiting: PhantomData }
    }
}

// SAFETY: the queue has one head, and its flag is handed on by Release and taken by Acquire.
unsafe impl<W: Waiting> RawLock for Mcs<W> {
    unsafe fn acquire(&self, place: &Place) {
        let mine = place.enter(UNKNOWN_NODE);
        // Release: the place as it was entered. Acquire: the last holder, and the other's place.
        let ahead = self.tail.swap(mine, Ordering::AcqRel);
        if ahead.is_null() {
            return;
        }
        // SAFETY: a place that was the tail is not left before its successor is linked.
        unsafe { (*ahead).next.store(mine, Ordering::Release) };
        W::wait(place);
    }

    unsafe fn try_acquire(&self, place: &Place) -> bool {
        let mine = place.enter(UNKNOWN_NODE);
        let (acquired, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        self.tail.compare_exchange(ptr::null_mut(), mine, acquired, failed).is_ok()
    }

    unsafe fn release(&self, place: &Place) {
        let mut next = place.next.load(Ordering::Acquire);
        if next.is_null() {
            let (mine, none) = (place.as_pointer(), ptr::null_mut());
            // Release: what was done under the lock.
            if self.tail.compare_exchange(mine, none, Ordering::Release, Ordering::Relaxed).is_ok()
            {
                return;
            }
            next = linked_next(place);
        }
        // SAFETY: the successor waits, and only the head grants.
        unsafe { W::grant(next, GRANTED) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::test_order::order;

    #[test]
    fn first_come_first_served() {
        let lock = Mcs::<Yielding>::default();
        let tail = || lock.tail.load(Ordering::Relaxed) as usize;
        assert_eq!(order(&lock, &tail, 0, &[1, 0, 1, 0]), [0, 1, 2, 3]);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::test_models::{excludes, excludes_try};
    use crate::waiting::Parking;

    #[test]
    fn yielding() {
        excludes(2, 2, Mcs::<Yielding>::default);
        excludes(3, 1, Mcs::<Yielding>::default);
        excludes_try(Mcs::<Yielding>::default);
    }

    #[test]
    fn parking() {
        excludes(2, 2, Mcs::<Parking>::default);
        excludes(3, 1, Mcs::<Parking>::default);
        excludes_try(Mcs::<Parking>::default);
    }
}
