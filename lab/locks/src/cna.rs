//! Compact NUMA-aware locking (Dice and Kogan, EuroSys 2019): an MCS queue whose holder looks for a
//! successor of its own node, and sets those that it passes over aside in a second queue.
//!
//! Invariants:
//! * Every waiting place is in exactly one of two queues: the main one, from the holder to `tail`,
//!   or the secondary one, whose head is the value that the holder was granted (`GRANTED`: there is
//!   none), and whose tail is in the head's place.
//! * Both are changed by the holder alone, but for the main one's end, which grows.
//! * The tail of the secondary queue has no link: it can become the tail of the main one.
//! * After [`RUN`] hand-overs within the node the secondary queue goes first: others wait for a
//!   bounded time. (The paper throws dice; a count makes the same order each time.)
//!
//! Relaxed: what a place says of itself is written before it is linked, by Release; links and tails
//! of those that wait are the holder's, and the lock's hand-over, by Release and Acquire, orders
//! what one holder does and the next. Of an exchange that fails nothing is read. The models below
//! try it.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr;

use crate::node::{self, NodeOf};
use crate::place::{GRANTED, Place, UNKNOWN_NODE};
use crate::raw::RawLock;
use crate::sync::{AtomicPtr, Ordering};
use crate::waiting::{Waiting, Yielding, linked_next};

/// Hand-overs within a node before the others get a chance.
pub const RUN: usize = 256;

/// See the module documentation.
#[derive(Debug)]
pub struct Cna<W = Yielding> {
    tail: AtomicPtr<Place>,
    node_of: NodeOf,
    waiting: PhantomData<W>,
}

impl<W> Default for Cna<W> {
    fn default() -> Self {
        Self::new(node::of_this_thread)
    }
}

/// A place that a pointer of a queue leads to.
///
/// # Safety
/// It is in a queue of the lock that this thread holds, so that its owner waits, or its own.
unsafe fn at<'a>(place: *mut Place) -> &'a Place {
    // SAFETY: the owner keeps it alive and in place while it waits.
    unsafe { &*place }
}

impl<W> Cna<W> {
    /// A free lock that calls `node_of` where a thread runs.
    #[must_use]
    pub fn new(node_of: NodeOf) -> Self {
        Self { tail: AtomicPtr::new(ptr::null_mut()), node_of, waiting: PhantomData }
    }

    /// The first one after the holder that runs on its node, null if there is none; those before
    /// it are moved to the secondary queue.
    ///
    /// # Safety
    /// The calling thread holds the lock through `place`, and `first` is its successor.
    unsafe fn local_successor(&self, place: &Place, first: *mut Place) -> *mut Place {
        let mut node = place.node.load(Ordering::Relaxed);
        if node == UNKNOWN_NODE {
            node = (self.node_of)();
        }
        // SAFETY: (all below) places after the holder wait in the main queue.
        let node_at = |place: *mut Place| unsafe { at(place) }.node.load(Ordering::Relaxed);
        if node_at(first) == node {
            return first;
        }
        let mut last_moved = first;
        loop {
            // SAFETY: as above.
            let here = unsafe { at(last_moved) }.next.load(Ordering::Acquire);
            if here.is_null() {
                return here;
            }
            if node_at(here) == node {
                // SAFETY: as above; `last_moved` has a successor, so it is not the tail.
                unsafe { set_aside(place, first, last_moved) };
                return here;
            }
            last_moved = here;
        }
    }
}

/// Appends a chain of the main queue to the secondary one.
///
/// # Safety
/// The calling thread holds the lock through `place`, and the chain is after it, with a
/// successor.
unsafe fn set_aside(place: &Place, first: *mut Place, last: *mut Place) {
    // SAFETY: as above, and places of the secondary queue wait too.
    unsafe {
        let mut head = secondary(place);
        if head.is_null() {
            head = first;
            place.granted.store(head as usize, Ordering::Relaxed);
        } else {
            let tail = at(head).secondary_tail.load(Ordering::Relaxed);
            at(tail).next.store(first, Ordering::Relaxed);
        }
        at(last).next.store(ptr::null_mut(), Ordering::Relaxed);
        at(head).secondary_tail.store(last, Ordering::Relaxed);
    }
}

/// Head of the secondary queue, null if there is none.
fn secondary(place: &Place) -> *mut Place {
    let value = place.granted.load(Ordering::Relaxed);
    if value == GRANTED { ptr::null_mut() } else { ptr::with_exposed_provenance_mut(value) }
}

impl<W: Waiting> Cna<W> {
    /// Lets go where nobody is seen after the holder. False if somebody came.
    ///
    /// # Safety
    /// The calling thread holds the lock through `place`.
    unsafe fn leave_last(&self, place: &Place) -> bool {
        let head = secondary(place);
        let mut new_tail = ptr::null_mut();
        if !head.is_null() {
            // SAFETY: places of the secondary queue wait.
            new_tail = unsafe { at(head) }.secondary_tail.load(Ordering::Relaxed);
        }
        let (left, failed) = (Ordering::Release, Ordering::Relaxed);
        if self.tail.compare_exchange(place.as_pointer(), new_tail, left, failed).is_err() {
            return false;
        }
        if !head.is_null() {
            // SAFETY: the main queue is now what the secondary one was; its head waits.
            unsafe { W::grant(head, GRANTED) };
        }
        true
    }
}

// SAFETY: one place at a time is granted: each holder grants one, and one that comes to an empty
// queue finds null in the tail, which means that the last holder is gone.
unsafe impl<W: Waiting> RawLock for Cna<W> {
    unsafe fn acquire(&self, place: &Place) {
        let mine = place.enter(UNKNOWN_NODE);
        let ahead = self.tail.swap(mine, Ordering::AcqRel);
        if ahead.is_null() {
            place.granted.store(GRANTED, Ordering::Relaxed);
            return;
        }
        place.node.store((self.node_of)(), Ordering::Relaxed);
        // Release: the node. SAFETY: a place that was the tail is not left before its successor is
        // linked.
        unsafe { (*ahead).next.store(mine, Ordering::Release) };
        W::wait(place);
    }

    unsafe fn try_acquire(&self, place: &Place) -> bool {
        let mine = place.enter(UNKNOWN_NODE);
        place.granted.store(GRANTED, Ordering::Relaxed);
        let (acquired, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        self.tail.compare_exchange(ptr::null_mut(), mine, acquired, failed).is_ok()
    }

    unsafe fn release(&self, place: &Place) {
        let mut next = place.next.load(Ordering::Acquire);
        if next.is_null() {
            // SAFETY: the caller holds the lock through this place.
            if unsafe { self.leave_last(place) } {
                return;
            }
            next = linked_next(place);
        }
        let run = place.run.load(Ordering::Relaxed);
        // SAFETY: (all below) the caller holds the lock, the others wait.
        unsafe {
            if run < RUN {
                let local = self.local_successor(place, next);
                if !local.is_null() {
                    at(local).run.store(run + 1, Ordering::Relaxed);
                    W::grant(local, place.granted.load(Ordering::Relaxed));
                    return;
                }
            }
            let head = secondary(place);
            if head.is_null() {
                W::grant(next, GRANTED);
            } else {
                let tail = at(head).secondary_tail.load(Ordering::Relaxed);
                at(tail).next.store(next, Ordering::Relaxed);
                W::grant(head, GRANTED);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::test_order::order;

    #[test]
    fn the_own_node_comes_first_and_the_others_in_their_order() {
        fn t(nodes: &[usize], expected: &[usize]) {
            let lock = Cna::<Yielding>::default();
            let tail = || lock.tail.load(Ordering::Relaxed) as usize;
            assert_eq!(order(&lock, &tail, 0, nodes), expected, "{nodes:?}");
        }
        t(&[], &[]);
        t(&[0, 0, 0], &[0, 1, 2]);
        t(&[1, 1, 1], &[0, 1, 2]);
        t(&[1, 0, 1, 0], &[1, 3, 0, 2]);
        // Two nodes are set aside together; node 1 is first there, and 2 is set aside again.
        t(&[1, 2, 0, 1, 2, 0], &[2, 5, 0, 3, 1, 4]);
        t(&[0, 1, 1, 0, 2, 0], &[0, 3, 5, 1, 2, 4]);
    }

    #[test]
    fn after_a_run_the_others_come() {
        let lock = Cna::<Yielding>::default();
        let tail = || lock.tail.load(Ordering::Relaxed) as usize;
        let mut nodes = vec![1];
        nodes.extend(vec![0; RUN + 5]);
        let served = order(&lock, &tail, 0, &nodes);
        assert_eq!(served.iter().position(|&arrival| arrival == 0), Some(RUN), "{served:?}");
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::test_models::{excludes, excludes_deep, excludes_try};
    use crate::waiting::Parking;

    #[test]
    fn yielding() {
        excludes(2, 2, Cna::<Yielding>::default);
        excludes(3, 1, Cna::<Yielding>::default);
        excludes_try(Cna::<Yielding>::default);
    }

    #[test]
    fn parking() {
        excludes(2, 2, Cna::<Parking>::default);
        excludes(3, 1, Cna::<Parking>::default);
    }

    /// Four threads: the secondary queue grows and is taken back.
    #[test]
    fn a_longer_queue() {
        excludes_deep(4, Cna::<Parking>::default);
    }
}
