//! Threads that want one lock: how many get it how often, and what it costs.

use std::num::NonZeroUsize;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use seqloom_locks::{HandOffs, Kind, Lock, RawLock, Waits, node, waits_of_this_thread};
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::machine;
use seqloom_runtime::pool::{self, Stopped};

use crate::table::quantile;

/// Words that a holder changes: the critical section of all runs.
const WORDS: usize = 32;

/// Hand-overs by how long they took: four buckets to each doubling.
#[derive(Debug, Clone)]
pub(crate) struct Delays {
    buckets: Vec<u64>,
    /// The longest.
    pub(crate) max_ns: u64,
}

impl Default for Delays {
    fn default() -> Self {
        Self { buckets: vec![0; 4 * 64], max_ns: 0 }
    }
}

impl Delays {
    fn add(&mut self, ns: u64) {
        let ns = ns.max(1);
        let octave = ns.ilog2();
        // The two bits after the first one.
        let quarter = if octave >= 2 { (ns >> (octave - 2)) & 3 } else { 0 };
        self.buckets[(4 * octave) as usize + quarter as usize] += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// How many there are.
    #[must_use]
    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// How many hand-overs took longer than the upper end of each bucket.
    #[must_use]
    pub(crate) fn longer(&self) -> Vec<Longer> {
        let all = self.count().max(1) as f64;
        let mut left = self.count();
        let mut points = Vec::new();
        for (bucket, &count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            left -= count;
            let (octave, quarter) = (bucket / 4, bucket % 4);
            let ns = 2_f64.powi(octave as i32) * (1.25 + 0.25 * quarter as f64);
            points.push(Longer { ns, share: left as f64 / all });
        }
        points
    }

    /// Within how many ns `share` of the hand-overs were made, to a quarter of a doubling.
    #[must_use]
    pub(crate) fn quantile_ns(&self, share: f64) -> f64 {
        let points = self.longer();
        points.iter().find(|it| it.share <= 1.0 - share).map_or(0.0, |it| it.ns)
    }
}

/// Hand-overs that took longer than some time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Longer {
    /// The time.
    pub(crate) ns: f64,
    /// Their share of all.
    pub(crate) share: f64,
}

/// What one run gave.
#[derive(Debug, Default)]
pub(crate) struct Contention {
    /// From the start to the end of the last thread.
    pub(crate) wall: Duration,
    /// Acquisitions by thread, up to the end that was set.
    pub(crate) shares: Vec<u64>,
    /// Who got it after whom.
    pub(crate) hand_offs: HandOffs,
    /// Only of timed runs.
    pub(crate) delays: Delays,
    /// Of all threads.
    pub(crate) waits: Waits,
    /// Context switches of the process meanwhile.
    pub(crate) voluntary_switches: u64,
    /// See `voluntary_switches`.
    pub(crate) involuntary_switches: u64,
}

/// What the lock guards.
struct Shared {
    words: [u64; WORDS],
    hand_offs: HandOffs,
    delays: Delays,
    released: Option<(usize, Instant)>,
}

/// A run of `threads` threads, of which each takes the lock as often as it can.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Contend {
    /// The lock.
    pub(crate) kind: Kind,
    /// Threads.
    pub(crate) threads: NonZeroUsize,
    /// Nodes that the threads say they run on, in turn.
    pub(crate) nodes: usize,
    /// For how long.
    pub(crate) duration: Duration,
    /// Whether hand-overs are timed, which costs two looks at the clock per acquisition.
    pub(crate) timed: bool,
}

/// Makes the run.
///
/// # Errors
/// A thread cannot be started.
pub(crate) fn contend(run: &Contend) -> Result<Contention, Stopped> {
    let threads = run.threads.get();
    let shared = Shared {
        words: [0; WORDS],
        hand_offs: HandOffs::default(),
        delays: Delays::default(),
        released: None,
    };
    let guarded = Lock::new(run.kind.build(run.nodes), shared);
    // Relaxed: seen at some later look, and nothing goes by it but the end.
    let (start, stop) = (Barrier::new(threads + 1), AtomicBool::new(false));
    let result =
        std::sync::Mutex::new(Contention { shares: vec![0; threads], ..Contention::default() });
    let work = |thread: usize| {
        if thread == threads {
            start.wait();
            std::thread::sleep(run.duration);
            stop.store(true, Ordering::Relaxed);
            return Ok(());
        }
        node::set_of_this_thread(thread % run.nodes);
        start.wait();
        let (started, before) = (Instant::now(), waits_of_this_thread());
        let mut acquired = 0;
        while !stop.load(Ordering::Relaxed) {
            acquire(&guarded, thread, run);
            acquired += 1;
        }
        let waits = waits_of_this_thread();
        let mut result = lock(&result);
        result.wall = result.wall.max(started.elapsed());
        result.shares[thread] = acquired;
        result.waits.yields += waits.yields - before.yields;
        result.waits.parks += waits.parks - before.parks;
        Ok(())
    };
    let usage = machine::usage();
    let failure = Failure::<Stopped>::default();
    pool::run(run.threads.saturating_add(1), &failure, || {}, &|| Ok(()), work)?;
    let now = machine::usage();
    let shared = guarded.into_inner();
    let result = result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(Contention {
        hand_offs: shared.hand_offs,
        delays: shared.delays,
        voluntary_switches: now.voluntary_switches - usage.voluntary_switches,
        involuntary_switches: now.involuntary_switches - usage.involuntary_switches,
        ..result
    })
}

/// Takes the lock once.
fn acquire(guarded: &Lock<Shared, Box<dyn RawLock>>, thread: usize, run: &Contend) {
    let asked = run.timed.then(Instant::now);
    guarded.with(|shared| {
        if let Some(asked) = asked {
            let now = Instant::now();
            if let Some((_, released)) =
                shared.released.filter(|(last, at)| *last != thread && asked < *at)
            {
                shared.delays.add(now.saturating_duration_since(released).as_nanos() as u64);
            }
        }
        for word in &mut shared.words {
            *word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        shared.hand_offs.record(thread, thread % run.nodes);
        if run.timed {
            shared.released = Some((thread, Instant::now()));
        }
    });
}

/// Acquisitions whose time is taken together.
const BATCH: u32 = 10_000;
/// Batches, of which the median counts.
const BATCHES: usize = 15;

/// Turns of each thread whose time is taken together.
const PASSES: u32 = 50;
/// Time after which no further batch of turns begins.
const PING_PONG: Duration = Duration::from_millis(100);

fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5).unwrap_or(f64::NAN)
}

/// Nanoseconds to take and give back a lock that nobody else wants.
#[must_use]
pub(crate) fn uncontended_ns(kind: Kind) -> f64 {
    let guarded = Lock::new(kind.build(1), 0_u64);
    let batch = |_| {
        let started = Instant::now();
        for _ in 0..BATCH {
            guarded.with(|count| *count = std::hint::black_box(*count + 1));
        }
        started.elapsed().as_nanos() as f64 / f64::from(BATCH)
    };
    median(&(0..BATCHES).map(batch).collect::<Vec<_>>())
}

/// Nanoseconds from one of two threads to the other and through the lock, which only the other one
/// has touched since; without a lock those of the way alone. The median of batches.
///
/// # Errors
/// A thread cannot be started.
pub(crate) fn ping_pong_ns(kind: Option<Kind>) -> Result<f64, Stopped> {
    let guarded = kind.map(|kind| Lock::new(kind.build(1), 0_u64));
    // `over` is Relaxed: seen at some later look, and nothing goes by it but the end.
    let (turn, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let times = std::sync::Mutex::new(Vec::new());
    let begun = Instant::now();
    let work = |thread: usize| {
        loop {
            let started = Instant::now();
            for _ in 0..PASSES {
                let mut looks = 0_u32;
                while turn.load(Ordering::Acquire) % 2 != thread {
                    looks += 1;
                    if over.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    // On one core, or when the other thread is not running.
                    match looks.is_multiple_of(1 << 8) {
                        true => std::thread::yield_now(),
                        false => std::hint::spin_loop(),
                    }
                }
                if let Some(guarded) = &guarded {
                    guarded.with(|count| *count += 1);
                }
                turn.fetch_add(1, Ordering::Release);
            }
            lock(&times).push(started.elapsed().as_nanos() as f64 / f64::from(2 * PASSES));
            if begun.elapsed() > PING_PONG {
                over.store(true, Ordering::Relaxed);
                return Ok(());
            }
        }
    };
    let two = NonZeroUsize::MIN.saturating_add(1);
    pool::run(two, &Failure::<Stopped>::default(), || {}, &|| Ok(()), work)?;
    let times = times.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(median(&times))
}
