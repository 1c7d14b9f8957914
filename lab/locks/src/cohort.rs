//! A cohort lock (Dice, Marathe and Shavit, PPoPP 2012), the kind they call C-TKT-MCS: an MCS queue
//! per node, whose head takes a ticket lock for its node and hands both on within the node.
//!
//! Invariants:
//! * Whoever holds the ticket lock through node N is the head of N's queue; the two together are
//!   the lock.
//! * A head hands the ticket lock on with its place at most [`PASSES`] times, then it gives it back
//!   and signals the next head to take its own ticket: other nodes wait for a bounded time.
//! * `passes` of a node is touched by the head of its queue alone.
//! * The ticket lock does not mind which thread gives it back, which is why it can be handed on.
//!
//! Relaxed: a place's node is its owner's; `passes` goes from head to head by what hands the place
//! on; of an exchange that fails nothing is read. The models below try it.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ptr;

use crate::node::{self, NodeOf};
use crate::place::{GRANTED, Place};
use crate::raw::RawLock;
use crate::sync::{AtomicPtr, AtomicU32, Ordering};
use crate::ticket::Ticket;
use crate::waiting::{Waiting, Yielding, linked_next};

/// Hand-overs within a node before others get a chance: the paper's 64.
pub const PASSES: u32 = 64;

/// Granted with the ticket lock, or with the place at the head only.
const WITH_TICKET: usize = GRANTED;
const HEAD_ONLY: usize = GRANTED + 1;

/// One node's queue, on cache lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Queue {
    tail: AtomicPtr<Place>,
    passes: AtomicU32,
}

/// See the module documentation.
#[derive(Debug)]
pub struct Cohort<W = Yielding> {
    ticket: Ticket,
    queues: Box<[Queue]>,
    node_of: NodeOf,
    waiting: PhantomData<W>,
}

impl<W> Cohort<W> {
    /// A free lock for threads of `nodes` nodes (more nodes share queues), which calls `node_of`.
    #[must_use]
    pub fn new(nodes: usize, node_of: NodeOf) -> Self {
        let queue = |_| Queue { tail: AtomicPtr::new(ptr::null_mut()), passes: AtomicU32::new(0) };
        let queues = (0..nodes.max(1)).map(queue).collect();
        Self { ticket: Ticket::default(), queues, node_of, waiting: PhantomData }
    }

    /// For threads that say where they run ([`node::set_of_this_thread`]).
    #[must_use]
    pub fn of_nodes(nodes: usize) -> Self {
        Self::new(nodes, node::of_this_thread)
    }

    fn queue(&self, place: &Place) -> &Queue {
        &self.queues[place.node.load(Ordering::Relaxed) % self.queues.len()]
    }
}

impl<W: Waiting> Cohort<W> {
    /// Leaves the head of the queue to the next one, which takes its own ticket.
    fn leave(queue: &Queue, place: &Place) {
        let mut next = place.next.load(Ordering::Acquire);
        if next.is_null() {
            let (mine, none) = (place.as_pointer(), ptr::null_mut());
            let (left, failed) = (Ordering::Release, Ordering::Relaxed);
            if queue.tail.compare_exchange(mine, none, left, failed).is_ok() {
                return;
            }
            next = linked_next(place);
        }
        // SAFETY: the successor waits, and only the head grants.
        unsafe { W::grant(next, HEAD_ONLY) };
    }
}

// SAFETY: the ticket lock excludes, and only the head of one queue at a time has it.
unsafe impl<W: Waiting> RawLock for Cohort<W> {
    unsafe fn acquire(&self, place: &Place) {
        let mine = place.enter((self.node_of)());
        let queue = self.queue(place);
        let ahead = queue.tail.swap(mine, Ordering::AcqRel);
        if !ahead.is_null() {
            // SAFETY: a place that was the tail is not left before its successor is linked.
            unsafe { (*ahead).next.store(mine, Ordering::Release) };
            if W::wait(place) == WITH_TICKET {
                return;
            }
        }
        self.ticket.lock();
        queue.passes.store(0, Ordering::Relaxed);
    }

    unsafe fn try_acquire(&self, place: &Place) -> bool {
        let mine = place.enter((self.node_of)());
        let queue = self.queue(place);
        let (acquired, failed) = (Ordering::AcqRel, Ordering::Relaxed);
        if queue.tail.compare_exchange(ptr::null_mut(), mine, acquired, failed).is_err() {
            return false;
        }
        if self.ticket.try_lock() {
            queue.passes.store(0, Ordering::Relaxed);
            return true;
        }
        Self::leave(queue, place);
        false
    }

    unsafe fn release(&self, place: &Place) {
        let queue = self.queue(place);
        let passes = queue.passes.load(Ordering::Relaxed);
        let next = place.next.load(Ordering::Acquire);
        if !next.is_null() && passes < PASSES {
            queue.passes.store(passes + 1, Ordering::Relaxed);
            // SAFETY: the successor waits, and only the head grants.
            unsafe { W::grant(next, WITH_TICKET) };
            return;
        }
        self.ticket.unlock();
        Self::leave(queue, place);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::test_order::order;

    fn lock() -> Cohort {
        Cohort::of_nodes(2)
    }

    /// Changes when somebody enters any queue or takes a ticket.
    fn arrivals(lock: &Cohort) -> usize {
        let tails = lock.queues.iter().map(|queue| queue.tail.load(Ordering::Relaxed) as usize);
        let given = lock.ticket.given() as usize;
        tails.fold(given, |sum, tail| sum.wrapping_mul(31).wrapping_add(tail))
    }

    #[test]
    fn the_own_node_comes_first() {
        let lock = lock();
        let served = order(&lock, &|| arrivals(&lock), 0, &[1, 0, 1, 0]);
        assert_eq!(served, [1, 3, 0, 2]);
    }

    #[test]
    fn after_some_passes_another_node_comes() {
        let lock = lock();
        let mut nodes = vec![1];
        nodes.extend(vec![0; PASSES as usize + 5]);
        let served = order(&lock, &|| arrivals(&lock), 0, &nodes);
        let other = served.iter().position(|&arrival| arrival == 0);
        assert_eq!(other, Some(PASSES as usize), "{served:?}");
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::test_models::{excludes, excludes_try};
    use crate::waiting::Parking;

    #[test]
    fn yielding() {
        excludes(2, 2, || Cohort::<Yielding>::of_nodes(2));
        excludes(3, 1, || Cohort::<Yielding>::of_nodes(2));
        excludes_try(|| Cohort::<Yielding>::of_nodes(2));
    }

    #[test]
    fn parking() {
        excludes(3, 1, || Cohort::<Parking>::of_nodes(2));
        excludes_try(|| Cohort::<Parking>::of_nodes(1));
    }
}
