//! Waiting for what code without locks changes: some pauses, then sleep until a wake-up.
//!
//! Whoever changes something wakes sleepers afterwards; that costs a fence and a look while nobody
//! sleeps.
//!
//! Invariant: a sleeper announces itself before its last look, and the one who wakes looks for
//! sleepers after its change. Each has a fence between the two, so that one of them sees the other.
//! Relaxed: the fences order both, and the model below tries it. `sleeps` is a count to be shown.

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use seqloom_runtime::monitor::Monitor;

/// Pauses of the last round before sleep. Rounds double from 1, so that there are 31 pauses: about
/// a microsecond, as in TBB's `atomic_backoff`.
const LAST_ROUND: u32 = 16;

/// See the module documentation.
#[derive(Debug, Default)]
pub struct WakeUp {
    sleepers: AtomicUsize,
    sleeps: AtomicU64,
    room: Monitor<()>,
}

impl WakeUp {
    /// Waits until `look` finds something.
    pub fn wait_for<R>(&self, mut look: impl FnMut() -> Option<R>) -> R {
        let mut pauses = 1;
        // A model has no use for pauses: it tries every order anyway.
        while pauses <= LAST_ROUND && !cfg!(loom) {
            if let Some(found) = look() {
                return found;
            }
            (0..pauses).for_each(|_| std::hint::spin_loop());
            pauses *= 2;
        }
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        self.sleeps.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let found = self.room.wait_for(|()| look());
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        found
    }

    /// Wakes all who sleep. To be called after the change that they wait for.
    pub fn wake_all(&self) {
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            self.room.wake_all();
        }
    }

    /// How often somebody found nothing after all pauses.
    pub fn sleeps(&self) -> u64 {
        self.sleeps.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    #[test]
    fn a_sleeper_is_woken_and_counted() {
        let (wake_up, done) = (WakeUp::default(), AtomicBool::new(false));
        let look = || done.load(Ordering::Relaxed).then_some(());
        std::thread::scope(|scope| {
            scope.spawn(|| wake_up.wait_for(look));
            scope.spawn(|| wake_up.wait_for(look));
            while wake_up.sleeps() < 2 {
                std::thread::sleep(Duration::from_millis(1));
            }
            done.store(true, Ordering::Relaxed);
            wake_up.wake_all();
        });
        wake_up.wait_for(look);
        assert_eq!(wake_up.sleeps(), 2, "what is there already is found without sleep");
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;

    /// A change without any lock is seen, or the one who sleeps is woken: two sleepers.
    #[test]
    fn nobody_sleeps_through_a_change() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new((WakeUp::default(), AtomicBool::new(false)));
            let sleepers: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || {
                        shared.0.wait_for(|| shared.1.load(Ordering::Relaxed).then_some(()));
                    })
                })
                .collect();
            shared.1.store(true, Ordering::Relaxed);
            shared.0.wake_all();
            sleepers.into_iter().for_each(|sleeper| sleeper.join().unwrap());
        });
    }
}
