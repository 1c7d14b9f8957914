//! What every lock's loom model shows: holders exclude each other, each sees what the last one did,
//! and nobody waits for ever (loom reports a deadlock).
//!
//! Loom follows every order in which threads can be interrupted up to three times (unbounded takes
//! minutes a lock), with all values that weak memory lets a load return. Waiting loops yield, and
//! only the first rounds of them are followed (`sync::yield_now`).
#![allow(unsafe_code, clippy::unwrap_used)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::node::set_of_this_thread;
use crate::place::Place;
use crate::raw::RawLock;

/// A counter that loom watches: two threads at it at once fail the model.
struct Guarded<R> {
    lock: R,
    count: UnsafeCell<usize>,
}

// SAFETY: what the model is about; loom fails it if it is not so.
unsafe impl<R: RawLock> Sync for Guarded<R> {}
// SAFETY: as above.
unsafe impl<R: RawLock> Send for Guarded<R> {}

impl<R: RawLock> Guarded<R> {
    fn add(&self) {
        // SAFETY: only inside the lock.
        self.count.with_mut(|count| unsafe { *count += 1 });
    }

    fn rounds(&self, thread: usize, rounds: usize) {
        set_of_this_thread(thread % 2);
        for _ in 0..rounds {
            let place = Place::default();
            // SAFETY: the place is new and outlives `release`.
            unsafe {
                self.lock.acquire(&place);
                self.add();
                self.lock.release(&place);
            }
        }
    }
}

fn model(
    bound: usize,
    threads: usize,
    total: usize,
    make: impl Fn() -> Box<dyn RawLock> + Send + Sync + 'static,
    work: fn(&Guarded<Box<dyn RawLock>>, usize, usize),
    rounds: usize,
) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(bound);
    builder.check(move || {
        let shared = Arc::new(Guarded { lock: make(), count: UnsafeCell::new(0) });
        let others: Vec<_> = (1..threads)
            .map(|thread| {
                let shared = shared.clone();
                thread::spawn(move || work(&shared, thread, rounds))
            })
            .collect();
        work(&shared, 0, rounds);
        others.into_iter().for_each(|other| other.join().unwrap());
        // SAFETY: the others are done.
        let count = shared.count.with(|count| unsafe { *count });
        assert!(count <= total && (total > threads * rounds || count == total), "{count}");
    });
}

/// `threads` threads of alternating nodes take the lock `rounds` times each.
pub(crate) fn excludes<R: RawLock + 'static>(
    threads: usize,
    rounds: usize,
    make: impl Fn() -> R + Send + Sync + 'static,
) {
    let boxed = move || Box::new(make()) as Box<dyn RawLock>;
    model(3, threads, threads * rounds, boxed, Guarded::rounds, rounds);
}

/// More threads once each, interrupted at most once.
pub(crate) fn excludes_deep<R: RawLock + 'static>(
    threads: usize,
    make: impl Fn() -> R + Send + Sync + 'static,
) {
    let boxed = move || Box::new(make()) as Box<dyn RawLock>;
    model(1, threads, threads, boxed, Guarded::rounds, 1);
}

/// One thread tries, one waits, one does both.
pub(crate) fn excludes_try<R: RawLock + 'static>(make: impl Fn() -> R + Send + Sync + 'static) {
    fn work(shared: &Guarded<Box<dyn RawLock>>, thread: usize, rounds: usize) {
        set_of_this_thread(thread % 2);
        let place = Place::default();
        // SAFETY: the place is free after a failure and after a release, and outlives both.
        unsafe {
            if thread != 1 && shared.lock.try_acquire(&place) {
                shared.add();
                shared.lock.release(&place);
            }
        }
        if thread != 0 {
            shared.rounds(thread, rounds);
        }
    }
    let boxed = move || Box::new(make()) as Box<dyn RawLock>;
    // Any number of tries may fail: the total is what can be at most.
    model(2, 3, 4, boxed, work, 1);
}

/// Looks, then takes: two threads can both find it free.
#[derive(Default)]
struct Broken(loom::sync::atomic::AtomicBool);

// SAFETY: none, that is the point; loom must see it.
unsafe impl RawLock for Broken {
    unsafe fn acquire(&self, _place: &Place) {
        while self.0.load(crate::sync::Ordering::Acquire) {
            thread::yield_now();
        }
        self.0.store(true, crate::sync::Ordering::Release);
    }

    unsafe fn try_acquire(&self, _place: &Place) -> bool {
        false
    }

    unsafe fn release(&self, _place: &Place) {
        self.0.store(false, crate::sync::Ordering::Release);
    }
}

#[test]
#[should_panic = "Causality violation"]
fn models_see_a_lock_that_excludes_nobody() {
    excludes(2, 1, Broken::default);
}
