//! A farm (Misale 2014, figure 3): an emitter reads and hands out tasks, workers align.
//!
//! ```text
//!            ┌── ring ──► worker 0 ── ring ──┐
//! input ► emitter ─ ring ► worker 1 ─ ring ──┤ tasks come home with their records,
//!    ▲       └── ring ──► worker 2 ── ring ──┘ are written, and go out again
//!    └───────────────────────────────────────┘
//! ```
//!
//! A worker makes its [`TASKS_PER_WORKER`] tasks itself, so that their memory is where it runs,
//! and sends them home; a task goes back to its worker as soon as it is home (on demand). Rings
//! have one sender and one receiver each and no locks. Who finds nothing pauses, then sleeps until
//! it is woken up. With pinned workers and an index whose pages are interleaved this is all of the
//! paper's ablation; which of it is done is the placement's matter.
//!
//! *Bounds:* tasks, and batches that are before the oldest one that is out
//! ([`AHEAD_PER_WORKER`]), because the output may have to keep what comes early.

use std::collections::{BTreeSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use seqloom_align::engine::CohortEngine;
use seqloom_align::ingest::BatchSink;
use seqloom_align::{Batch, ReadTags, Segment, Shape, UmiTags, recycle};
use seqloom_format::{PackedTemplates, ReadBlock, ReadSpans, Span};
use seqloom_io::reads::ReadSource;
use seqloom_rings::ring::{Receiver, Sender, ring};
use seqloom_rings::wake_up::WakeUp;
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::pool;

use super::aligning::{Job, ScheduleError, Told, align_batch};
use crate::sinks::Hand;

/// Tasks of each worker: one that it works on, one that waits for it.
const TASKS_PER_WORKER: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);
/// Batches, per worker, by which one may be before the oldest that is out.
const AHEAD_PER_WORKER: u64 = 4;
/// Text of a task's reads that its worker makes room for: 512 reads of 250 bases. What is longer
/// grows by the emitter's hand, and is where that runs.
const TASK_BYTES: usize = 512 * (2 * 250 + 64);

/// A batch on its way, in memory that is used again and again.
struct Task {
    batch: Batch,
    packed: PackedTemplates,
    /// Whether there are records to be written.
    is_done: bool,
}

/// A worker's ends of its rings.
struct Door {
    tasks: Receiver<Box<Task>>,
    home: Sender<Box<Task>>,
}

/// The emitter's ends of a worker's rings.
struct Line {
    tasks: Sender<Box<Task>>,
    home: Receiver<Box<Task>>,
}

struct Farm<'a, E: CohortEngine> {
    job: &'a Job<'a, E>,
    model: E::Model,
    failure: Failure<ScheduleError>,
    /// Rung when a task comes home.
    home: WakeUp,
    /// By worker: rung when it is sent a task.
    calls: Vec<WakeUp>,
    /// No further task will be sent.
    is_over: AtomicBool,
    /// By worker; each takes its own.
    doors: Mutex<Vec<Option<Door>>>,
    /// The emitter takes them.
    lines: Mutex<Vec<Line>>,
    /// Relaxed: read when all threads have ended.
    emitter_busy_ns: AtomicU64,
}

/// Runs the whole input through the engine, by one thread more than there are workers.
pub(super) fn run<E: CohortEngine>(job: &Job<'_, E>) -> Result<Told, ScheduleError> {
    let farm = Farm::new(job)?;
    let everybody = job.threads.saturating_add(1);
    pool::run(
        everybody,
        &farm.failure,
        || farm.wake_all(),
        &|| Ok(()),
        |thread| match thread.checked_sub(1) {
            None => farm.emit(),
            Some(worker) => farm.work(worker),
        },
    )?;
    Ok(Told {
        sleeps: farm.home.sleeps() + farm.calls.iter().map(WakeUp::sleeps).sum::<u64>(),
        master_busy_ns: farm.emitter_busy_ns.into_inner(),
        steals: 0,
    })
}

impl<'a, E: CohortEngine> Farm<'a, E> {
    fn new(job: &'a Job<'a, E>) -> Result<Self, ScheduleError> {
        let (mut doors, mut lines) = (Vec::new(), Vec::new());
        for _ in 0..job.threads.get() {
            let (tasks_in, tasks_out) = ring(TASKS_PER_WORKER);
            let (home_in, home_out) = ring(TASKS_PER_WORKER);
            lines.push(Line { tasks: tasks_in, home: home_out });
            doors.push(Some(Door { tasks: tasks_out, home: home_in }));
        }
        Ok(Self {
            job,
            model: job.model()?,
            failure: Failure::default(),
            home: WakeUp::default(),
            calls: lines.iter().map(|_| WakeUp::default()).collect(),
            is_over: AtomicBool::new(false),
            doors: Mutex::new(doors),
            lines: Mutex::new(lines),
            emitter_busy_ns: AtomicU64::new(0),
        })
    }

    fn wake_all(&self) {
        self.home.wake_all();
        self.calls.iter().for_each(WakeUp::wake_all);
    }

    /// The emitter: reads, hands out, and writes what comes home.
    fn emit(&self) -> Result<(), ScheduleError> {
        let mut emitter = Emitter::new(self)?;
        let mut feed = self.job.feed();
        let started = Instant::now();
        while let Some(batch) = feed.next()? {
            let Some((worker, task)) = emitter.free_task(batch.sequence)? else { return Ok(()) };
            emitter.send(worker, task, batch)?;
        }
        while emitter.has_tasks_out() {
            let Some((worker, task)) = emitter.wait_for_one() else { return Ok(()) };
            emitter.take_home(worker, task)?;
        }
        let busy = started.elapsed().saturating_sub(emitter.waited);
        let busy_ns = u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX);
        self.emitter_busy_ns.store(busy_ns, Ordering::Relaxed);
        self.is_over.store(true, Ordering::Release);
        self.wake_all();
        Ok(())
    }

    /// A worker: makes its tasks, then aligns what they bring.
    fn work(&self, worker: usize) -> Result<(), ScheduleError> {
        // First of all, so that its own memory is taken where it runs.
        self.job.placement.take_slot(worker).map_err(ScheduleError::Placement)?;
        let door = lock(&self.doors)[worker].take();
        let mut door = door.ok_or(ScheduleError::Bug("two workers have one number"))?;
        let mut scratch = self.job.engine.scratch()?;
        for _ in 0..TASKS_PER_WORKER.get() {
            self.send_home(&mut door, Box::new(Task::new(self.job.source.files())))?;
        }
        while let Some(mut task) = self.next_task(worker, &mut door) {
            let Task { batch, packed, is_done } = &mut *task;
            align_batch(self.job.engine, &mut scratch, &self.model, batch, packed)?;
            *is_done = true;
            self.send_home(&mut door, task)?;
        }
        Ok(())
    }

    /// Waits for a task; `None` when all is done or the run has failed.
    fn next_task(&self, worker: usize, door: &mut Door) -> Option<Box<Task>> {
        self.calls[worker].wait_for(|| {
            // Looked at first: a task that was sent before the end is seen below.
            let is_over = self.is_over.load(Ordering::Acquire) || self.failure.stopped();
            door.tasks.try_receive().map(Some).or_else(|| is_over.then_some(None))
        })
    }

    fn send_home(&self, door: &mut Door, task: Box<Task>) -> Result<(), ScheduleError> {
        let full = |_| ScheduleError::Bug("a ring has no room for its worker's tasks");
        door.home.try_send(task).map_err(full)?;
        self.home.wake_all();
        Ok(())
    }
}

/// What the emitter keeps.
struct Emitter<'f, 'a, E: CohortEngine> {
    farm: &'f Farm<'a, E>,
    lines: Vec<Line>,
    /// Its place at the output.
    hand: Hand,
    /// Tasks that are home, with their workers, first come, first.
    free: VecDeque<(usize, Box<Task>)>,
    /// Batches that are out.
    out: BTreeSet<u64>,
    /// Line that was looked at last.
    last_line: usize,
    waited: std::time::Duration,
}

impl<'f, 'a, E: CohortEngine> Emitter<'f, 'a, E> {
    fn new(farm: &'f Farm<'a, E>) -> Result<Self, ScheduleError> {
        Ok(Self {
            farm,
            lines: std::mem::take(&mut lock(&farm.lines)),
            hand: farm.job.sink.scratch()?,
            free: VecDeque::new(),
            out: BTreeSet::new(),
            last_line: 0,
            waited: std::time::Duration::ZERO,
        })
    }

    fn has_tasks_out(&self) -> bool {
        !self.out.is_empty()
    }

    fn may_go_out(&self, sequence: u64) -> bool {
        let ahead = AHEAD_PER_WORKER * self.lines.len() as u64;
        self.out.first().is_none_or(|&oldest| sequence < oldest + ahead)
    }

    /// Waits for a task that batch `sequence` may go out with; `None` when the run has failed.
    fn free_task(&mut self, sequence: u64) -> Result<Option<(usize, Box<Task>)>, ScheduleError> {
        loop {
            while let Some((worker, task)) = self.one_that_is_home() {
                self.take_home(worker, task)?;
            }
            if self.may_go_out(sequence)
                && let Some(free) = self.free.pop_front()
            {
                return Ok(Some(free));
            }
            let Some((worker, task)) = self.wait_for_one() else { return Ok(None) };
            self.take_home(worker, task)?;
        }
    }

    /// The next task that has come home, looking at all lines in turn.
    fn one_that_is_home(&mut self) -> Option<(usize, Box<Task>)> {
        let count = self.lines.len();
        let turn = (1..=count).map(|step| (self.last_line + step) % count);
        let (worker, task) =
            turn.filter_map(|line| Some((line, self.lines[line].home.try_receive()?))).next()?;
        self.last_line = worker;
        Some((worker, task))
    }

    /// Waits for a task; `None` when the run has failed.
    fn wait_for_one(&mut self) -> Option<(usize, Box<Task>)> {
        let farm = self.farm;
        let started = Instant::now();
        let found = farm.home.wait_for(|| {
            self.one_that_is_home().map(Some).or_else(|| farm.failure.stopped().then_some(None))
        });
        self.waited += started.elapsed();
        found
    }

    /// Writes what a task brings, and keeps it for the next batch.
    fn take_home(&mut self, worker: usize, mut task: Box<Task>) -> Result<(), ScheduleError> {
        if std::mem::take(&mut task.is_done) {
            let sequence = task.batch.sequence;
            self.farm.job.sink.take(&mut self.hand, sequence, &task.packed)?;
            self.out.remove(&sequence);
        }
        self.free.push_back((worker, task));
        Ok(())
    }

    /// Sends a task to its worker, with a batch.
    fn send(
        &mut self,
        worker: usize,
        mut task: Box<Task>,
        batch: Batch,
    ) -> Result<(), ScheduleError> {
        self.out.insert(batch.sequence);
        task.load(batch, self.farm.job.source)?;
        let full = |_| ScheduleError::Bug("a ring has no room for its worker's tasks");
        self.lines[worker].tasks.try_send(task).map_err(full)?;
        self.farm.calls[worker].wake_all();
        Ok(())
    }
}

impl Task {
    /// An empty one, whose memory is where the calling thread runs.
    fn new(files: usize) -> Self {
        let file = |_| {
            // Written to once, so that pages are really there.
            let mut bytes = vec![0; TASK_BYTES];
            bytes.clear();
            let block = ReadBlock { bytes, ..ReadBlock::default() };
            vec![Segment { block: Arc::new(block), reads: 0..0 }]
        };
        let batch = Batch {
            sequence: 0,
            cohort: 0,
            index_in_cohort: 0,
            first_read: 0,
            first_template: 0,
            pairs_before: 0,
            singles_before: 0,
            shape: Shape::Singles,
            segments: (0..files).map(file).collect(),
            reads: 0,
            files: "".into(),
            has_cut_numbers: false,
            umis: UmiTags::default(),
            tags: ReadTags::default(),
            failed_filter: Vec::new(),
        };
        Self { batch, packed: PackedTemplates::default(), is_done: false }
    }

    /// Copies the reads of a batch into the task's own memory.
    fn load(&mut self, mut batch: Batch, source: &ReadSource) -> Result<(), ScheduleError> {
        let own = std::mem::take(&mut self.batch.segments);
        let from = std::mem::replace(&mut batch.segments, own);
        for (to, from) in batch.segments.iter_mut().flatten().zip(&from) {
            let block = Arc::get_mut(&mut to.block);
            let block = block.ok_or(ScheduleError::Bug("a task's reads are in use"))?;
            block.bytes.clear();
            block.reads.clear();
            for segment in from {
                segment.reads.clone().for_each(|read| copy_read(&segment.block, read, block));
            }
            to.reads = 0..block.reads.len();
        }
        recycle(source, from);
        self.batch = batch;
        Ok(())
    }
}

/// Appends a read to a block: what an engine wants of it.
fn copy_read(from: &ReadBlock, read: usize, to: &mut ReadBlock) {
    let spans = from.reads[read];
    let mut copy = |span: Span| {
        let start = to.bytes.len() as u32;
        to.bytes.extend_from_slice(span.of(&from.bytes));
        Span { start, len: span.len }
    };
    let (name, bases, qualities) = (copy(spans.name), copy(spans.bases), copy(spans.qualities));
    to.reads.push(ReadSpans { name, bases, qualities, extra: Span::default() });
}
