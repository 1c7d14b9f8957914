//! Threads that come to a lock in a known order, and the order in which they got it.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::node::set_of_this_thread;
use crate::place::Place;
use crate::raw::RawLock;

/// Holds `lock` on node `holder` while a thread of each of `nodes` arrives, one after the other;
/// then lets go. `arrivals` changes whenever somebody enters a queue. Returns indices into `nodes`
/// in the order in which they held the lock.
pub(crate) fn order(
    lock: &(impl RawLock + ?Sized),
    arrivals: &(impl Fn() -> usize + Sync),
    holder: usize,
    nodes: &[usize],
) -> Vec<usize> {
    let served = Mutex::new(Vec::new());
    let started = AtomicUsize::new(0);
    set_of_this_thread(holder);
    let place = Place::default();
    // SAFETY: the place is new and stays until it is released, below.
    unsafe { lock.acquire(&place) };
    std::thread::scope(|scope| {
        for (arrival, &node) in nodes.iter().enumerate() {
            let before = arrivals();
            let (served, started) = (&served, &started);
            scope.spawn(move || {
                set_of_this_thread(node);
                let place = Place::default();
                started.fetch_add(1, Ordering::Relaxed);
                // SAFETY: as above.
                unsafe { lock.acquire(&place) };
                served.lock().unwrap_or_else(PoisonError::into_inner).push(arrival);
                // SAFETY: acquired above.
                unsafe { lock.release(&place) };
            });
            while arrivals() == before {
                std::thread::yield_now();
            }
            // What follows its arrival (a link, a ticket) takes another moment.
            std::thread::sleep(Duration::from_micros(300));
        }
        // SAFETY: acquired above.
        unsafe { lock.release(&place) };
    });
    assert_eq!(started.into_inner(), nodes.len());
    served.into_inner().unwrap_or_else(PoisonError::into_inner)
}
