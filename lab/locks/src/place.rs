//! A thread's place at a lock, from asking for it to giving it back.
//!
//! Queueing locks link places into a queue; other locks leave them alone. One type for all keeps
//! the trait usable as an object and lets a thread keep its places for any lock.
//!
//! Invariants:
//! * A place is in at most one queue. Its owner alone resets it, before it enters.
//! * `granted` goes from `WAITING`, through `PARKED` or not, to a value of at least [`GRANTED`];
//!   the last step is made once, by the holder that hands the lock over. After that nobody but the
//!   owner touches the place until it is in a queue again.
//! * `sleeper` is written by the owner before `PARKED` is published and taken by the one that saw
//!   it.
#![allow(unsafe_code)]

use std::ptr;

use crate::sync::{AtomicPtr, AtomicUsize, Ordering, Thread, UnsafeCell};

/// Not handed over yet, the owner is awake.
pub(crate) const WAITING: usize = 0;
/// Not handed over yet, the owner sleeps or is about to.
pub(crate) const PARKED: usize = 1;
/// Handed over. Larger values are handed over too and mean what the lock says.
pub(crate) const GRANTED: usize = 2;

/// Of a place whose owner has not looked at where it runs.
pub(crate) const UNKNOWN_NODE: usize = usize::MAX;

/// A place in a queue, on cache lines of its own: 128 bytes, because x86-64 fetches lines in pairs.
#[derive(Debug)]
#[repr(align(128))]
pub struct Place {
    /// The one after, null while there is none or it has not linked itself yet.
    pub(crate) next: AtomicPtr<Place>,
    pub(crate) granted: AtomicUsize,
    /// NUMA node of the owner.
    pub(crate) node: AtomicUsize,
    /// Of the head of a secondary queue: its tail ([`crate::Cna`]).
    pub(crate) secondary_tail: AtomicPtr<Place>,
    /// Hand-overs within the node so far ([`crate::Cna`]).
    pub(crate) run: AtomicUsize,
    pub(crate) sleeper: UnsafeCell<Option<Thread>>,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            granted: AtomicUsize::new(WAITING),
            node: AtomicUsize::new(UNKNOWN_NODE),
            secondary_tail: AtomicPtr::new(ptr::null_mut()),
            run: AtomicUsize::new(0),
            sleeper: UnsafeCell::new(None),
        }
    }
}

impl Place {
    /// Makes it ready to enter a queue, and returns what queues link.
    pub(crate) fn enter(&self, node: usize) -> *mut Place {
        // Relaxed: whoever links this place publishes these with the link.
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
        self.granted.store(WAITING, Ordering::Relaxed);
        self.node.store(node, Ordering::Relaxed);
        self.run.store(0, Ordering::Relaxed);
        self.as_pointer()
    }

    /// What queues link.
    pub(crate) fn as_pointer(&self) -> *mut Place {
        ptr::from_ref(self).cast_mut()
    }
}

#[cfg(not(loom))]
mod kept {
    //! Places that threads keep for their next guards.

    use super::Place;
    use std::cell::RefCell;
    use std::ptr::NonNull;

    /// Guards of one thread at a time for which places are kept; more are made and freed.
    const KEPT: usize = 8;

    thread_local! {
        #[allow(clippy::vec_box)] // each stays where it is on the heap, on lines of its own
        static PLACES: RefCell<Vec<Box<Place>>> = const { RefCell::new(Vec::new()) };
    }

    /// A place of this thread, or a new one.
    pub(crate) fn take() -> NonNull<Place> {
        // At the end of a thread its places may be gone already: a new one will do.
        let kept = PLACES.try_with(|places| places.borrow_mut().pop()).ok().flatten();
        // A pointer, not a box: a box may not be moved while others reach into it.
        NonNull::from(Box::leak(kept.unwrap_or_default()))
    }

    /// Keeps `place` for next time.
    ///
    /// # Safety
    /// It is from [`take`], nobody else reaches it, and it is not used afterwards.
    pub(crate) unsafe fn give_back(place: NonNull<Place>) {
        // SAFETY: from `Box::leak`, and the caller is the last one to use it.
        let place = unsafe { Box::from_raw(place.as_ptr()) };
        let _ = PLACES.try_with(|places| {
            let mut places = places.borrow_mut();
            if places.len() < KEPT {
                places.push(place);
            }
        });
    }
}

#[cfg(loom)]
mod kept {
    //! Models keep no places: they would outlive the execution that they belong to.

    use super::Place;
    use std::ptr::NonNull;

    pub(crate) fn take() -> NonNull<Place> {
        NonNull::from(Box::leak(Box::<Place>::default()))
    }

    /// # Safety
    /// As of the other one.
    pub(crate) unsafe fn give_back(place: NonNull<Place>) {
        // SAFETY: from `Box::leak`, and the caller is the last one to use it.
        drop(unsafe { Box::from_raw(place.as_ptr()) });
    }
}

pub(crate) use kept::{give_back, take};
