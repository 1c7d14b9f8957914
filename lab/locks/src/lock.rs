//! Data behind a lock, reached by one thread at a time.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::place::{Place, give_back, take};
use crate::raw::RawLock;

/// A value behind a lock of any kind.
///
/// A panic of a holder does not poison it: the value is as the panic left it.
pub struct Lock<T, R> {
    raw: R,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by one thread at a time, which may also take it out: `Send` is
// enough, as for the standard mutex. `R` is `Send + Sync` by its trait.
unsafe impl<T: Send, R: RawLock> Sync for Lock<T, R> {}

impl<T: Default, R: Default> Default for Lock<T, R> {
    fn default() -> Self {
        Self { raw: R::default(), value: UnsafeCell::default() }
    }
}

impl<T, R> Lock<T, R> {
    /// `value` behind `raw`, which must be free.
    pub fn new(raw: R, value: T) -> Self {
        Self { raw, value: UnsafeCell::new(value) }
    }

    /// The value, without locking: nobody else has the lock.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T, R: RawLock> Lock<T, R> {
    /// Calls `work` with the value while the lock is held. The place in the queue is on the stack.
    pub fn with<U>(&self, work: impl FnOnce(&mut T) -> U) -> U {
        struct Release<'a, R: RawLock>(&'a R, &'a Place);
        impl<R: RawLock> Drop for Release<'_, R> {
            fn drop(&mut self) {
                // SAFETY: made after `acquire` with the same place, below, and never given away.
                unsafe { self.0.release(self.1) };
            }
        }
        let place = Place::default();
        // SAFETY: the place is new, and `release` drops before it, even if `work` panics.
        unsafe { self.raw.acquire(&place) };
        let _release = Release(&self.raw, &place);
        // SAFETY: this thread holds the lock, and the borrow ends before it is released.
        work(unsafe { &mut *self.value.get() })
    }

    /// Waits for the lock.
    pub fn lock(&self) -> Guard<'_, T, R> {
        let place = take();
        // SAFETY: the place is this guard's alone; the guard gives it back after releasing.
        unsafe { self.raw.acquire(place.as_ref()) };
        Guard { lock: self, place, stays: PhantomData }
    }

    /// The lock, if it is free and nobody waits.
    pub fn try_lock(&self) -> Option<Guard<'_, T, R>> {
        let place = take();
        // SAFETY: as above.
        if unsafe { self.raw.try_acquire(place.as_ref()) } {
            return Some(Guard { lock: self, place, stays: PhantomData });
        }
        // SAFETY: after a failure the place is free.
        unsafe { give_back(place) };
        None
    }
}

impl<T: fmt::Debug, R: RawLock> fmt::Debug for Lock<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Some(value) => f.debug_tuple("Lock").field(&*value).finish(),
            None => f.write_str("Lock(<held>)"),
        }
    }
}

/// The right to the value, until it is dropped. It stays in its thread.
#[must_use]
pub struct Guard<'a, T, R: RawLock> {
    lock: &'a Lock<T, R>,
    place: NonNull<Place>,
    /// Neither `Send` (the standard mutex, and places, belong to a thread) nor `Sync` by itself.
    stays: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives shared access to the value, and nothing else.
unsafe impl<T: Sync, R: RawLock> Sync for Guard<'_, T, R> {}

impl<T, R: RawLock> Deref for Guard<'_, T, R> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this guard is the right to the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T, R: RawLock> DerefMut for Guard<'_, T, R> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the right to the value, and is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T, R: RawLock> Drop for Guard<'_, T, R> {
    fn drop(&mut self) {
        // SAFETY: acquired with this place, which nobody else uses once it is released.
        unsafe {
            self.lock.raw.release(self.place.as_ref());
            give_back(self.place);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::kind::Kind;

    #[test]
    fn guards_of_several_locks_are_dropped_in_any_order() {
        let locks: Vec<_> = Kind::ALL.iter().map(|kind| Lock::new(kind.build(2), 0)).collect();
        let mut guards: Vec<_> = locks.iter().map(Lock::lock).collect();
        guards.iter_mut().for_each(|guard| **guard += 1);
        assert!(locks.iter().all(|lock| lock.try_lock().is_none()));
        drop(guards.remove(3));
        drop(guards);
        assert!(locks.iter().all(|lock| lock.try_lock().is_some_and(|value| *value == 1)));
    }

    #[test]
    fn a_panic_releases_and_does_not_poison() {
        for kind in Kind::ALL {
            let lock = Lock::new(kind.build(1), 1);
            let panicked = std::thread::scope(|scope| {
                let inside = || {
                    lock.with(|value| {
                        *value += 1;
                        panic!("while holding {kind:?}");
                    })
                };
                scope.spawn(inside).join().is_err()
            });
            assert!(panicked);
            assert_eq!(lock.with(|value| *value), 2, "{kind:?}");
            assert!(format!("{lock:?}").contains('2'));
        }
    }

    #[test]
    fn a_guard_that_is_forgotten_locks_for_ever_and_hurts_nobody() {
        for kind in Kind::ALL {
            let lock = Lock::new(kind.build(1), 5);
            std::mem::forget(lock.lock());
            assert!(lock.try_lock().is_none(), "{kind:?}");
            let mut moved = Box::new(lock);
            assert_eq!(*moved.get_mut(), 5);
            assert!(moved.try_lock().is_none(), "{kind:?}");
            assert_eq!(moved.into_inner(), 5);
        }
    }

    #[test]
    fn guards_live_in_thread_locals_too() {
        use crate::Mcs;
        use std::cell::RefCell;
        static LOCK: std::sync::LazyLock<Lock<u32, Mcs>> = std::sync::LazyLock::new(Lock::default);
        thread_local! {
            static HELD: RefCell<Option<Guard<'static, u32, Mcs>>> = const { RefCell::new(None) };
        }
        for _ in 0..2 {
            // It is dropped with the thread, maybe after the places that the thread kept.
            let hold = || HELD.with(|held| *held.borrow_mut() = Some(LOCK.lock()));
            std::thread::spawn(hold).join().unwrap();
        }
        assert!(LOCK.try_lock().is_some());
    }
}
