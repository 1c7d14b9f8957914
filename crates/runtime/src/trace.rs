//! Where the time of a run went: busy and waiting time per stage, over all workers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Total time and visits of one stage.
#[derive(Debug, Default)]
pub struct Stage {
    busy_ns: AtomicU64,
    visits: AtomicU64,
}

impl Stage {
    /// Runs `work` and books its time here.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.book(start);
        result
    }

    /// Books the time since `start`.
    pub fn book(&self, start: Instant) {
        self.add(start.elapsed());
    }

    /// Books time that was measured elsewhere.
    pub fn add(&self, spent: Duration) {
        let spent_ns = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns.fetch_add(spent_ns, Ordering::Relaxed);
        self.visits.fetch_add(1, Ordering::Relaxed);
    }

    /// Seconds booked so far, summed over workers.
    pub fn seconds(&self) -> f64 {
        self.busy_ns.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// How often the stage was entered.
    pub fn visits(&self) -> u64 {
        self.visits.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_booked_once_per_visit() {
        let stage = Stage::default();
        assert_eq!(stage.time(|| 7), 7);
        stage.time(|| std::thread::sleep(std::time::Duration::from_millis(2)));
        assert_eq!(stage.visits(), 2);
        assert!(stage.seconds() >= 0.002);
    }
}
