//! What locks are made of, from the standard library or, for models, from loom.
//!
//! Models need every access that may race to go through here; that is all this file is for.
#![allow(unsafe_code)]

pub(crate) use std::sync::atomic::Ordering;

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize},
    sync::{Mutex, MutexGuard},
    thread::{Thread, current, park},
    thread_local,
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize},
    sync::{Mutex, MutexGuard},
    thread::{Thread, current, park, yield_now},
    thread_local,
};

/// Signals to the processor that this is a waiting loop, `times` times.
#[cfg(not(loom))]
pub(crate) fn pause(times: u32) {
    for _ in 0..times {
        std::hint::spin_loop();
    }
}

/// Yields of one thread up to which a model explores what can happen next. Without a bound the
/// orders in which several threads can spin are infinite; after it loom goes on to the end of the
/// execution in one order, so that a lock that never comes free is still a failure.
#[cfg(loom)]
const EXPLORED_YIELDS: usize = 3;

#[cfg(loom)]
thread_local! {
    static YIELDS: std::cell::Cell<usize> = std::cell::Cell::new(0);
}

/// Lets another thread of the model run.
#[cfg(loom)]
pub(crate) fn yield_now() {
    let yields = YIELDS.with(|yields| yields.replace(yields.get() + 1));
    if yields >= EXPLORED_YIELDS {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

/// A model explores what others do meanwhile, however long a pause is.
#[cfg(loom)]
pub(crate) fn pause(_times: u32) {
    yield_now();
}

/// The standard library's cell with the interface of loom's, which sees concurrent access.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Calls `with` with a pointer to the value, to be used as the only one meanwhile.
    pub(crate) fn with_mut<R>(&self, with: impl FnOnce(*mut T) -> R) -> R {
        with(self.0.get())
    }
}

// SAFETY: nothing is reached but through the pointer of `with_mut`, whose user answers for access
// by one thread at a time; values move between threads, hence `Send`.
#[cfg(not(loom))]
unsafe impl<T: Send> Sync for UnsafeCell<T> {}
