//! A monitor: state behind a lock, and workers that wait for it to change.
//!
//! Whoever waits looks at the state under the lock and sleeps only if it found nothing there;
//! whoever changes the state holds the lock too, and wakes a sleeper afterwards. So nobody falls
//! asleep on a change that was made already.

#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

/// State behind a lock, with the workers that wait for a change of it.
#[derive(Debug, Default)]
pub struct Monitor<T> {
    state: Mutex<T>,
    changed: Condvar,
}

impl<T> Monitor<T> {
    /// A monitor of `state`.
    pub fn new(state: T) -> Self {
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The state. Nobody is woken when it is changed through this.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, when nobody looks at it any more.
    pub fn into_inner(self) -> T {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes one of those who wait.
    ///
    /// One is enough where all look for the same ([`Monitor::wait_for`] hands the wake-up on), and
    /// hundreds of sleepers are not woken for one piece of work.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.lock());
        self.changed.notify_one();
        result
    }

    /// Wakes all who wait, after something they look at was changed without the lock.
    pub fn wake_all(&self) {
        // Taking the lock orders the wake-up after a worker that has looked but not yet slept.
        drop(self.lock());
        self.changed.notify_all();
    }

    /// Waits until `look` finds something, then wakes the next one, for whom there may be more.
    pub fn wait_for<R>(&self, mut look: impl FnMut(&mut T) -> Option<R>) -> R {
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&mut state) {
                drop(state);
                self.changed.notify_one();
                return found;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_piece_of_work_is_found_by_someone() {
        let work = Monitor::new((Vec::new(), false));
        let take = |(pieces, over): &mut (Vec<u32>, bool)| {
            pieces.pop().map(Some).or_else(|| over.then_some(None))
        };
        let found: u32 = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| std::iter::from_fn(|| work.wait_for(take)).sum::<u32>()))
                .collect();
            for pieces in (0..1000).collect::<Vec<u32>>().chunks(7) {
                work.update(|(waiting, _)| waiting.extend_from_slice(pieces));
            }
            work.update(|(_, over)| *over = true);
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(found, (0..1000).sum::<u32>());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicBool, Ordering};

    /// One update makes work for two sleepers: the first one woken wakes the second.
    #[test]
    fn one_wake_up_is_handed_on() {
        loom::model(|| {
            let work = Arc::new(Monitor::new(0));
            let takers: Vec<_> = (0..2)
                .map(|_| {
                    let work = work.clone();
                    loom::thread::spawn(move || {
                        work.wait_for(|left: &mut u32| {
                            let some = *left > 0;
                            *left -= u32::from(some);
                            some.then_some(())
                        });
                    })
                })
                .collect();
            work.update(|left| *left += 2);
            takers.into_iter().for_each(|taker| taker.join().unwrap());
            assert_eq!(*work.lock(), 0);
        });
    }

    /// A stop signal that is outside the lock wakes whoever has looked and is about to sleep.
    #[test]
    fn a_stop_reaches_everyone() {
        loom::model(|| {
            let shared = Arc::new((Monitor::new(()), AtomicBool::new(false)));
            let waiters: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        let stopped = || shared.1.load(Ordering::Acquire);
                        shared.0.wait_for(|()| stopped().then_some(()));
                    })
                })
                .collect();
            shared.1.store(true, Ordering::Release);
            shared.0.wake_all();
            waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
        });
    }
}
