//! A pipeline (BWA-MEM's `kt_pipeline` and `kt_for`): two masters take turns at three steps, and
//! one of the steps is done by all workers.
//!
//! ```text
//! master 0:  read 0 ► align 0 ► write 0   read 2 ► align 2 ...
//! master 1:           read 1  ► align 1 ► write 1   read 3 ...
//! ```
//!
//! A step of a chunk begins when that step of the chunk before is done, so reading and writing are
//! hidden behind alignment, where they are shorter. In `align` a worker has every T-th batch of the
//! chunk, and when it is through with those it steals from the worker that is the furthest behind.
//! The next chunk begins when the last batch of this one is done: everybody waits for the slowest.
//! So that this does not happen often, chunks grow with the number of workers.
//!
//! *Bounds:* two chunks, and the block of input that the last of them ends in.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use seqloom_align::engine::CohortEngine;
use seqloom_align::ingest::BatchSink;
use seqloom_align::{Batch, recycle};
use seqloom_format::PackedTemplates;
use seqloom_rings::wake_up::WakeUp;
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::pool;

use super::aligning::{Feed, Job, ScheduleError, Told, align_batch};
use crate::sinks::Hand;

/// Threads that read and write.
const MASTERS: usize = 2;
/// Steps of a chunk.
const READ: usize = 0;
const ALIGN: usize = 1;
const WRITE: usize = 2;

/// A batch, and its records when it is done.
#[derive(Default)]
struct Slot {
    batch: Option<Batch>,
    packed: PackedTemplates,
}

/// A counter on cache lines of its own.
#[repr(align(128))]
struct Counter(AtomicUsize);

/// A chunk, to be aligned by all workers.
struct Chunk {
    slots: Vec<Mutex<Slot>>,
    /// By worker: which slot is its next. Relaxed: every number is given once, the slot is under
    /// its lock, and who is furthest behind is a guess.
    next: Vec<Counter>,
    /// Slots that are not done.
    left: AtomicUsize,
}

struct Pipeline<'a, E: CohortEngine> {
    job: &'a Job<'a, E>,
    model: E::Model,
    failure: Failure<ScheduleError>,
    feed: Mutex<Feed<'a>>,
    /// By step: the chunk whose turn it is.
    turn: [AtomicU64; 3],
    /// Rung when a turn is over, and when a chunk is aligned.
    masters: WakeUp,
    /// What is being aligned: its number, from 1, and the chunk. `None` at the end.
    current: Mutex<(u64, Option<Arc<Chunk>>)>,
    /// Number of `current`, to be looked at without the lock.
    published: AtomicU64,
    /// Rung when there is another chunk.
    workers: WakeUp,
    // Relaxed, both: read when all threads have ended.
    masters_busy_ns: AtomicU64,
    steals: AtomicU64,
    masters_left: AtomicUsize,
}

/// Runs the whole input through the engine, by two threads more than there are workers.
pub(super) fn run<E: CohortEngine>(job: &Job<'_, E>) -> Result<Told, ScheduleError> {
    let pipeline = Pipeline {
        job,
        model: job.model()?,
        failure: Failure::default(),
        feed: Mutex::new(job.feed()),
        turn: Default::default(),
        masters: WakeUp::default(),
        current: Mutex::default(),
        published: AtomicU64::new(0),
        workers: WakeUp::default(),
        masters_busy_ns: AtomicU64::new(0),
        steals: AtomicU64::new(0),
        masters_left: AtomicUsize::new(MASTERS),
    };
    let everybody = job.threads.saturating_add(MASTERS);
    let wake = || {
        pipeline.masters.wake_all();
        pipeline.workers.wake_all();
    };
    pool::run(everybody, &pipeline.failure, wake, &|| Ok(()), |thread| {
        match thread.checked_sub(MASTERS) {
            None => pipeline.master(thread as u64),
            Some(worker) => pipeline.work(worker),
        }
    })?;
    Ok(Told {
        sleeps: pipeline.masters.sleeps() + pipeline.workers.sleeps(),
        master_busy_ns: pipeline.masters_busy_ns.into_inner(),
        steals: pipeline.steals.into_inner(),
    })
}

impl<E: CohortEngine> Pipeline<'_, E> {
    /// A master: every second chunk through all its steps.
    fn master(&self, first: u64) -> Result<(), ScheduleError> {
        let mut hand = self.job.sink.scratch()?;
        let mut spare = Vec::new();
        for number in (first..).step_by(MASTERS) {
            let Some(slots) = self.step(READ, number, || self.read(&mut spare))? else { break };
            if slots.is_empty() {
                break;
            }
            let align = || Ok(self.align(slots));
            let Some(Some(chunk)) = self.step(ALIGN, number, align)? else { break };
            let write = || self.write(&mut hand, &chunk, &mut spare);
            if self.step(WRITE, number, write)?.is_none() {
                break;
            }
        }
        if self.masters_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.publish(None);
        }
        Ok(())
    }

    /// Does one step of a chunk when its turn has come; `None` when the run has failed.
    fn step<T>(
        &self,
        step: usize,
        number: u64,
        work: impl FnOnce() -> Result<T, ScheduleError>,
    ) -> Result<Option<T>, ScheduleError> {
        let turn = &self.turn[step];
        let is_mine = self.masters.wait_for(|| {
            let is_mine = turn.load(Ordering::Acquire) == number;
            (is_mine || self.failure.stopped()).then_some(is_mine)
        });
        if !is_mine {
            return Ok(None);
        }
        let started = Instant::now();
        let done = work()?;
        if step != ALIGN {
            let busy_ns = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.masters_busy_ns.fetch_add(busy_ns, Ordering::Relaxed);
        }
        turn.store(number + 1, Ordering::Release);
        self.masters.wake_all();
        Ok(Some(done))
    }

    /// Reads a chunk: so many bases for each worker.
    fn read(&self, spare: &mut Vec<PackedTemplates>) -> Result<Vec<Slot>, ScheduleError> {
        let wanted = self.job.chunk_bases.saturating_mul(self.job.threads.get() as u64);
        let mut feed = lock(&self.feed);
        let (mut slots, mut bases) = (Vec::new(), 0);
        while bases < wanted {
            let Some(batch) = feed.next()? else { break };
            bases += bases_of(&batch);
            let packed = spare.pop().unwrap_or_default();
            slots.push(Slot { batch: Some(batch), packed });
        }
        Ok(slots)
    }

    /// Has a chunk aligned by all workers; `None` when the run has failed.
    fn align(&self, slots: Vec<Slot>) -> Option<Arc<Chunk>> {
        let workers = self.job.threads.get();
        let chunk = Arc::new(Chunk {
            left: AtomicUsize::new(slots.len()),
            slots: slots.into_iter().map(Mutex::new).collect(),
            next: (0..workers).map(|worker| Counter(AtomicUsize::new(worker))).collect(),
        });
        self.publish(Some(chunk.clone()));
        self.masters.wait_for(|| {
            let is_done = chunk.left.load(Ordering::Acquire) == 0;
            (is_done || self.failure.stopped()).then_some(())
        });
        (!self.failure.stopped()).then_some(chunk)
    }

    fn publish(&self, chunk: Option<Arc<Chunk>>) {
        let mut current = lock(&self.current);
        *current = (current.0 + 1, chunk);
        self.published.store(current.0, Ordering::Release);
        drop(current);
        self.workers.wake_all();
    }

    fn write(
        &self,
        hand: &mut Hand,
        chunk: &Chunk,
        spare: &mut Vec<PackedTemplates>,
    ) -> Result<(), ScheduleError> {
        for slot in &chunk.slots {
            let slot = std::mem::take(&mut *lock(slot));
            let batch = slot.batch.ok_or(ScheduleError::Bug("a batch was not aligned"))?;
            self.job.sink.take(hand, batch.sequence, &slot.packed)?;
            recycle(self.job.source, batch.segments);
            spare.push(slot.packed);
        }
        Ok(())
    }

    /// A worker: its share of every chunk, and what it can steal.
    fn work(&self, worker: usize) -> Result<(), ScheduleError> {
        self.job.placement.take_slot(worker).map_err(ScheduleError::Placement)?;
        let mut scratch = self.job.engine.scratch()?;
        let mut seen = 0;
        while let Some(chunk) = self.next_chunk(&mut seen) {
            while let Some(slot) = chunk.claim(worker, &self.steals) {
                if self.failure.stopped() {
                    return Ok(());
                }
                let Slot { batch, packed } = &mut *lock(slot);
                let batch = batch.as_ref().ok_or(ScheduleError::Bug("a batch was lost"))?;
                align_batch(self.job.engine, &mut scratch, &self.model, batch, packed)?;
                if chunk.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    self.masters.wake_all();
                }
            }
        }
        Ok(())
    }

    /// Waits for a chunk that was not `seen` yet; `None` when all is done or the run has failed.
    fn next_chunk(&self, seen: &mut u64) -> Option<Arc<Chunk>> {
        self.workers.wait_for(|| {
            let is_new = self.published.load(Ordering::Acquire) > *seen;
            (is_new || self.failure.stopped()).then_some(())
        });
        let current = lock(&self.current);
        *seen = current.0;
        current.1.clone().filter(|_| !self.failure.stopped())
    }
}

impl Chunk {
    /// The worker's next slot, or one of the worker's that is the furthest behind.
    fn claim(&self, worker: usize, steals: &AtomicU64) -> Option<&Mutex<Slot>> {
        let step = self.next.len();
        let own = self.next[worker].0.fetch_add(step, Ordering::Relaxed);
        if let Some(slot) = self.slots.get(own) {
            return Some(slot);
        }
        let furthest = self.next.iter().min_by_key(|next| next.0.load(Ordering::Relaxed))?;
        let slot = self.slots.get(furthest.0.fetch_add(step, Ordering::Relaxed))?;
        steals.fetch_add(1, Ordering::Relaxed);
        Some(slot)
    }
}

fn bases_of(batch: &Batch) -> u64 {
    let segments = batch.segments.iter().flatten();
    let reads = segments.flat_map(|segment| &segment.block.reads[segment.reads.clone()]);
    reads.map(|read| u64::from(read.bases.len)).sum()
}

/// Threads of a run with so many workers.
pub(super) fn threads(workers: NonZeroUsize) -> usize {
    workers.get() + MASTERS
}
