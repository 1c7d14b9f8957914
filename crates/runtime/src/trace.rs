//! Where the time of a run went: busy and waiting time per stage, over all workers, and how long
//! each worker had something to do.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::failure::lock;

/// Total time and visits of one stage. Relaxed: sums that decide nothing; they are whole when the
/// workers have ended.
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

/// Times of the threads of a phase, each from its start to the end of its last task: what papers on
/// scaling report, since the slowest thread ends the phase (Langmead et al. 2018).
#[derive(Debug, Default)]
pub struct ThreadTimes(Mutex<Vec<Duration>>);

/// The least, the median and the most of the times of threads, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThreadSpread {
    /// Threads that were timed.
    pub threads: usize,
    /// Of the thread that was through first.
    pub least: f64,
    /// Half of the threads took no longer; the lower one of two.
    pub median: f64,
    /// Of the slowest thread.
    pub most: f64,
}

impl ThreadTimes {
    /// Books the time of a thread.
    pub fn add(&self, time: Duration) {
        lock(&self.0).push(time);
    }

    /// Their spread; `None` where no thread was through.
    pub fn spread(&self) -> Option<ThreadSpread> {
        let mut times = lock(&self.0).clone();
        times.sort_unstable();
        let (least, most) = (times.first()?.as_secs_f64(), times.last()?.as_secs_f64());
        let median = times[(times.len() - 1) / 2].as_secs_f64();
        Some(ThreadSpread { threads: times.len(), least, median, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_threads_have_a_least_a_median_and_a_most() {
        fn t(times: &[u64], expected: Option<[f64; 3]>) {
            let all = ThreadTimes::default();
            times.iter().for_each(|time| all.add(Duration::from_secs(*time)));
            let found = all.spread();
            assert_eq!(found.map(|it| [it.least, it.median, it.most]), expected, "{times:?}");
            assert_eq!(found.map_or(0, |it| it.threads), times.len());
        }
        t(&[], None);
        t(&[7], Some([7.0, 7.0, 7.0]));
        t(&[9, 1], Some([1.0, 1.0, 9.0]));
        t(&[5, 3, 8], Some([3.0, 5.0, 8.0]));
    }

    #[test]
    fn time_is_booked_once_per_visit() {
        let stage = Stage::default();
        assert_eq!(stage.time(|| 7), 7);
        stage.time(|| std::thread::sleep(std::time::Duration::from_millis(2)));
        assert_eq!(stage.visits(), 2);
        assert!(stage.seconds() >= 0.002);
    }
}
