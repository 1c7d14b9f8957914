//! Commits in sequence what workers finish in any order.
//!
//! A worker deposits its item and goes on; whoever finds the next item in sequence and no one
//! committing takes the baton and commits every ready item. Nobody waits for its turn. How many
//! items may be deposited ahead is the caller's bound (it decides which work is started).
//!
//! Invariant: an item in the map at the current sequence number implies that a baton holder will
//! look at the map again, because deposit, look and hand-back happen under one lock.

use std::collections::BTreeMap;

#[cfg(loom)]
use loom::sync::{Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};

#[derive(Debug)]
struct State<T> {
    next: u64,
    committing: bool,
    ready: BTreeMap<u64, T>,
}

/// Items by sequence number (0, 1, 2, ...), committed in that order.
#[derive(Debug)]
pub struct Ordered<T> {
    state: Mutex<State<T>>,
}

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State { next: 0, committing: false, ready: BTreeMap::new() }) }
    }
}

impl<T> Ordered<T> {
    /// The first item has this number.
    pub fn starting_at(first: u64) -> Self {
        let state = State { next: first, committing: false, ready: BTreeMap::new() };
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Deposits `item` and commits whatever is ready, unless another worker is at it.
    ///
    /// # Errors
    /// Error of `commit`; the baton is then never handed on, because the output is broken.
    pub fn deposit<E>(
        &self,
        sequence: u64,
        item: T,
        mut commit: impl FnMut(T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut state = self.state();
        state.ready.insert(sequence, item);
        if state.committing {
            return Ok(());
        }
        state.committing = true;
        loop {
            let next = state.next;
            let Some(item) = state.ready.remove(&next) else {
                state.committing = false;
                return Ok(());
            };
            drop(state);
            commit(item)?;
            state = self.state();
            state.next += 1;
        }
    }

    /// How many items are committed.
    pub fn committed(&self) -> u64 {
        self.state().next
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn items_deposited_backwards_are_committed_forwards() {
        let ordered = Ordered::default();
        let mut seen = Vec::new();
        for sequence in (0..5).rev() {
            ordered
                .deposit(sequence, sequence, |item| {
                    seen.push(item);
                    Ok::<_, ()>(())
                })
                .unwrap();
        }
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        assert_eq!(ordered.committed(), 5);
    }

    #[test]
    fn many_threads_commit_every_item_once_and_in_order() {
        let ordered = Ordered::default();
        let claim = AtomicU64::new(0);
        let seen = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    loop {
                        let sequence = claim.fetch_add(1, Ordering::Relaxed);
                        if sequence >= 10_000 {
                            return;
                        }
                        let commit = |item| {
                            seen.lock().unwrap().push(item);
                            Ok::<_, ()>(())
                        };
                        ordered.deposit(sequence, sequence, commit).unwrap();
                    }
                });
            }
        });
        assert!(seen.into_inner().unwrap().into_iter().eq(0..10_000));
    }

    #[test]
    fn an_error_of_commit_reaches_the_depositor_and_stops_all_commits() {
        let ordered = Ordered::default();
        assert_eq!(ordered.deposit(0, (), |()| Err("disk")), Err("disk"));
        assert_eq!(ordered.deposit(1, (), |()| Err("never called")), Ok(()));
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn no_item_is_left_behind() {
        loom::model(|| {
            let ordered = Arc::new(Ordered::default());
            let log = Arc::new(Mutex::new(Vec::new()));
            let workers: Vec<_> = (0..3u64)
                .map(|sequence| {
                    let (ordered, log) = (ordered.clone(), log.clone());
                    let work = move || {
                        let commit = |item| {
                            log.lock().unwrap().push(item);
                            Ok::<_, ()>(())
                        };
                        ordered.deposit(sequence, sequence, commit).unwrap();
                    };
                    // The model's own thread works too: three threads are what loom can explore.
                    (sequence < 2).then(|| loom::thread::spawn(work.clone())).ok_or(work)
                })
                .collect();
            for worker in workers {
                match worker {
                    Ok(thread) => thread.join().unwrap(),
                    Err(work) => work(),
                }
            }
            assert_eq!(*log.lock().unwrap(), [0, 1, 2]);
        });
    }
}
