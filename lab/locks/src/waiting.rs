//! How a thread waits: some pauses, then it lets others run.
//!
//! Invariant: no loop spins for more than [`MAX_PAUSES`] pauses without yielding or sleeping, so a
//! preempted holder gets a core back after a bounded time.
#![allow(unsafe_code)]

use std::fmt::Debug;

use crate::place::{GRANTED, PARKED, Place, WAITING};
use crate::sync::{Ordering, current, park, pause, yield_now};

/// Pauses of the last round before yielding, as in TBB's `atomic_backoff`; rounds double from 1, so
/// 31 pauses in all (1.3 us where a pause is 43 ns, 0.3 us where it is 10 ns).
const LAST_ROUND: u32 = 16;
/// Most pauses that any loop of this crate makes between two looks.
pub const MAX_PAUSES: u32 = 1 << 12;

/// What a thread did while it waited, since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Calls of `sched_yield`.
    pub yields: u64,
    /// Times it went to sleep in a queue (not counted: sleeps inside [`crate::Standard`]).
    pub parks: u64,
}

#[cfg(not(loom))]
thread_local! {
    static WAITS: std::cell::Cell<Waits> =
        const { std::cell::Cell::new(Waits { yields: 0, parks: 0 }) };
}

/// The waits of this thread so far.
#[cfg(not(loom))]
#[must_use]
pub fn waits_of_this_thread() -> Waits {
    WAITS.with(std::cell::Cell::get)
}

#[cfg(not(loom))]
fn count(change: impl FnOnce(&mut Waits)) {
    // A thread that ends may have none any more.
    let _ = WAITS.try_with(|waits| {
        let mut now = waits.get();
        change(&mut now);
        waits.set(now);
    });
}

#[cfg(loom)]
fn count(_change: impl FnOnce(&mut Waits)) {}

/// Lets another thread run.
pub(crate) fn give_way() {
    count(|waits| waits.yields += 1);
    yield_now();
}

/// Pauses that double, then yields.
#[derive(Debug)]
pub(crate) struct Backoff {
    pauses: u32,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { pauses: 1 }
    }
}

impl Backoff {
    pub(crate) fn snooze(&mut self) {
        if self.may_spin() {
            pause(self.pauses);
            self.pauses *= 2;
        } else {
            give_way();
        }
    }

    fn may_spin(&self) -> bool {
        self.pauses <= LAST_ROUND
    }
}

/// The one after `place`, whose arrival at the tail was seen: it is between its two steps, or was
/// preempted there, so this yields.
pub(crate) fn linked_next(place: &Place) -> *mut Place {
    let mut backoff = Backoff::default();
    loop {
        let next = place.next.load(Ordering::Acquire);
        if !next.is_null() {
            return next;
        }
        backoff.snooze();
    }
}

/// How threads in a queue wait for the lock to be handed to them.
pub trait Waiting: Debug + Default + Send + Sync + 'static {
    /// Waits until `place` is granted; returns with what.
    fn wait(place: &Place) -> usize;

    /// Hands `value` (at least `GRANTED`) over, and does not touch the place afterwards.
    ///
    /// # Safety
    /// `place` is in a queue, not granted yet, and only this thread may grant it.
    unsafe fn grant(place: *const Place, value: usize);
}

/// Pauses, then yields until it is its turn: TBB's way. Every hand-over to a thread that does not
/// run costs a turn of the scheduler, for all threads in the queue.
#[derive(Debug, Default)]
pub struct Yielding;

impl Waiting for Yielding {
    fn wait(place: &Place) -> usize {
        let mut backoff = Backoff::default();
        loop {
            // Acquire: what the one before did while it held the lock.
            let value = place.granted.load(Ordering::Acquire);
            if value >= GRANTED {
                return value;
            }
            backoff.snooze();
        }
    }

    unsafe fn grant(place: *const Place, value: usize) {
        // SAFETY: the place is not granted yet, so its owner waits and keeps it alive up to here.
        unsafe { (*place).granted.store(value, Ordering::Release) };
    }
}

/// Pauses, then sleeps until it is woken.
#[derive(Debug, Default)]
pub struct Parking;

impl Waiting for Parking {
    fn wait(place: &Place) -> usize {
        let mut backoff = Backoff::default();
        while backoff.may_spin() && !cfg!(loom) {
            let value = place.granted.load(Ordering::Acquire);
            if value >= GRANTED {
                return value;
            }
            backoff.snooze();
        }
        // SAFETY: nobody looks at the sleeper before PARKED is published, below.
        place.sleeper.with_mut(|sleeper| unsafe { *sleeper = Some(current()) });
        let (waiting, parked) = (WAITING, PARKED);
        // Release: the sleeper. Acquire on failure: what the one before did.
        let published =
            place.granted.compare_exchange(waiting, parked, Ordering::Release, Ordering::Acquire);
        if let Err(value) = published {
            return value;
        }
        loop {
            count(|waits| waits.parks += 1);
            park();
            let value = place.granted.load(Ordering::Acquire);
            if value >= GRANTED {
                return value;
            }
        }
    }

    unsafe fn grant(place: *const Place, value: usize) {
        // SAFETY: as above: the owner waits until `granted` holds the value.
        let granted = unsafe { &(*place).granted };
        // Release: what was done under the lock. Acquire on failure: the sleeper.
        let awake = granted.compare_exchange(WAITING, value, Ordering::Release, Ordering::Acquire);
        if awake.is_ok() {
            return;
        }
        // SAFETY: PARKED was seen, so the sleeper is written, and only this thread may grant. It is
        // taken before the value is stored: a spurious wake-up could end the place's life then.
        let sleeper = unsafe { (*place).sleeper.with_mut(|sleeper| (*sleeper).take()) };
        granted.store(value, Ordering::Release);
        if let Some(sleeper) = sleeper {
            sleeper.unpark();
        }
    }
}
