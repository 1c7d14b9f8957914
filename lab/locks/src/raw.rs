//! The trait of all locks.
#![allow(unsafe_code)]

use crate::place::Place;

/// A lock without the data that it guards. [`crate::Lock`] joins the two safely.
///
/// # Safety
/// Between the end of `acquire`, or of a `try_acquire` that returned true, and the beginning of
/// `release`, no other thread is there, and what was done before a `release` happens before what is
/// done after the next `acquire`.
pub unsafe trait RawLock: Send + Sync {
    /// Waits until the calling thread holds the lock.
    ///
    /// # Safety
    /// The place is in no use, and stays where it is until `release` has returned.
    unsafe fn acquire(&self, place: &Place);

    /// Takes the lock if it is free and nobody waits for it.
    ///
    /// # Safety
    /// As of `acquire`; where it returns false the place is free at once.
    unsafe fn try_acquire(&self, place: &Place) -> bool;

    /// Gives the lock back, or hands it on.
    ///
    /// # Safety
    /// The calling thread holds the lock, through this place.
    unsafe fn release(&self, place: &Place);
}

// SAFETY: the boxed lock does it all.
unsafe impl<R: RawLock + ?Sized> RawLock for Box<R> {
    unsafe fn acquire(&self, place: &Place) {
        // SAFETY: the caller's promises are the same.
        unsafe { (**self).acquire(place) }
    }

    unsafe fn try_acquire(&self, place: &Place) -> bool {
        // SAFETY: as above.
        unsafe { (**self).try_acquire(place) }
    }

    unsafe fn release(&self, place: &Place) {
        // SAFETY: as above.
        unsafe { (**self).release(place) }
    }
}
