//! The ingest phase: from input files to packed templates, every worker doing whichever is next.

mod scheduler;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::templates::PackedTemplates;
use seqloom_io::source::{FetchScratch, InputBlock, ReadSource, SourceError};
use seqloom_runtime::failure::Failure;
use seqloom_runtime::monitor::Monitor;
use seqloom_runtime::placement::Plan;
use seqloom_runtime::pool::{self, WorkerPanic};
use seqloom_runtime::schedule;
use seqloom_runtime::trace::Stage;

use crate::cohort::{Batch, ClosedCohort, CohortCutter, CohortRange, Pairing};
use crate::emit::{Emission, EmitError, RecordTags};
use crate::engine::{AlignmentEngine, EngineError, Ordinals};
use crate::input_error::CohortError;
use crate::mates::BamTotals;
pub use scheduler::HeldLimits;
use scheduler::{Capacity, EmitTask, Scheduler, Seeded, Task};

/// Takes the packed templates of each batch. Called by many workers at once, in any order.
pub trait BatchSink: Sync {
    /// What can go wrong.
    type Error: std::error::Error + Send + Sync + 'static;
    /// Working memory of one worker.
    type Scratch: Send;

    /// Working memory for a new worker.
    ///
    /// # Errors
    /// When it cannot be made.
    fn scratch(&self) -> Result<Self::Scratch, Self::Error>;

    /// Takes the batch that stands at `sequence` (0, 1, 2, ...) in the output order.
    ///
    /// # Errors
    /// When the batch cannot be stored or written.
    fn accept(
        &self,
        scratch: &mut Self::Scratch,
        sequence: u64,
        templates: &PackedTemplates,
    ) -> Result<(), Self::Error>;

    /// Takes the next templates of the batch at `sequence`, the rest of which follows from the same
    /// worker: a batch of so many records that they should not be held at once. As
    /// [`BatchSink::accept`], where the order of batches is not kept.
    ///
    /// # Errors
    /// When they cannot be stored or written.
    fn accept_part(
        &self,
        scratch: &mut Self::Scratch,
        sequence: u64,
        templates: &PackedTemplates,
    ) -> Result<(), Self::Error> {
        self.accept(scratch, sequence, templates)
    }

    /// Whether [`BatchSink::look`] is to see the reads of the batch, which are held until then.
    fn wants_reads(&self) -> bool {
        false
    }

    /// Looks at templates that it is about to get, and at the batch they are of: its reads are
    /// there if they are wanted.
    ///
    /// # Errors
    /// When a record is malformed.
    fn look(
        &self,
        _scratch: &mut Self::Scratch,
        _batch: &Batch,
        _templates: &PackedTemplates,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The run has failed: whoever waits in the sink is to return.
    fn stop(&self) {}
}

/// How the input is cut and run.
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// Workers.
    pub threads: NonZeroUsize,
    /// Cores that the process may use.
    pub cores: NonZeroUsize,
    /// `-K`: bases per cohort.
    pub cohort_bases: u64,
    /// How reads form templates.
    pub pairing: Pairing,
    /// Which cohorts of the input; the source starts where they do.
    pub range: CohortRange,
    /// Tags that every record gets.
    pub tags: RecordTags,
    /// Memory that candidates may hold between seeding and emission.
    pub held_limits: HeldLimits,
    /// Where workers run and have their memory.
    pub placement: Plan,
}

/// Why ingest failed.
#[derive(Debug, thiserror::Error)]
pub enum IngestError<S: std::error::Error> {
    /// Malformed or unpaired input.
    #[error("{0}")]
    Input(#[from] CohortError),
    /// The engine failed.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// The engine's records could not be completed.
    #[error("{0}")]
    Emit(#[from] EmitError),
    /// The sink failed.
    #[error("{0}")]
    Sink(#[source] S),
    /// A bug.
    #[error("{0}")]
    Panic(#[from] WorkerPanic),
    /// A worker could not be put where it belongs.
    #[error("a worker could not be placed: {0}")]
    Placement(#[source] std::io::Error),
    /// One cohort does not fit the memory.
    #[error(
        "one cohort of {cohort_bases} bases holds {held_bytes} bytes and more, \
         over the {limit_bytes} that the memory cap leaves for it; raise -m (or lower -K, which \
         changes results)"
    )]
    CohortTooLarge {
        /// `-K`.
        cohort_bases: u64,
        /// What was held when it was noticed.
        held_bytes: u64,
        /// What may be held.
        limit_bytes: u64,
    },
    /// The source ended although reads are missing.
    #[error("the input ended before its last block was delivered")]
    Incomplete,
    /// The run was stopped from outside.
    #[error("interrupted")]
    Interrupted,
}

impl<S: std::error::Error> From<SourceError> for IngestError<S> {
    fn from(error: SourceError) -> Self {
        Self::Input(error.into())
    }
}

/// Time per stage, summed over workers, and counts that grow while ingest runs.
#[derive(Debug, Default)]
pub struct IngestTrace {
    /// Reading, inflating and parsing.
    pub fetch: Stage,
    /// Engine: seeding and extension.
    pub seed: Stage,
    /// Engine: insert-size model.
    pub infer: Stage,
    /// Engine: pairing and emission, with our tags.
    pub emit: Stage,
    /// The sink.
    pub sink: Stage,
    /// Workers with nothing to do.
    pub wait: Stage,
    /// Records emitted.
    pub records: AtomicU64,
    /// Templates emitted.
    pub(crate) templates: AtomicU64,
}

/// What ingest did.
#[derive(Debug, Clone, Copy, Default)]
pub struct IngestTotals {
    /// Reads in the input.
    pub reads: u64,
    /// Templates in the input.
    pub templates: u64,
    /// Records emitted.
    pub records: u64,
    /// The most memory that candidates held.
    pub peak_held_bytes: u64,
    /// What was found in BAM input.
    pub bam: BamTotals,
}

impl IngestTotals {
    /// Adds what was done with another input.
    pub fn add(&mut self, other: &Self) {
        self.reads += other.reads;
        self.templates += other.templates;
        self.records += other.records;
        self.peak_held_bytes = self.peak_held_bytes.max(other.peak_held_bytes);
        self.bam.aligned_reads += other.bam.aligned_reads;
        self.bam.left_out_records += other.bam.left_out_records;
        self.bam.reads_without_mate += other.bam.reads_without_mate;
    }
}

/// Runs the whole input through `engine` into `sink`: `first`, which the caller has fetched
/// already, and what `source` still has.
///
/// `watch` is called now and then while the workers run, with what ingest can tell of itself; when
/// it returns `false` the run is stopped.
///
/// # Errors
/// The first failure of any worker.
pub fn run<E: AlignmentEngine, S: BatchSink>(
    source: &ReadSource,
    first: Vec<InputBlock>,
    engine: &E,
    sink: &S,
    options: &IngestOptions,
    trace: &IngestTrace,
    watch: &dyn Fn() -> bool,
) -> Result<IngestTotals, IngestError<S::Error>> {
    let records_before = trace.records.load(Ordering::Relaxed);
    let cutter = CohortCutter::new(source, options.pairing, options.cohort_bases);
    let cutter = cutter.within(options.range.clone());
    let ingest = Ingest {
        source,
        engine,
        sink,
        options,
        trace,
        scheduler: Monitor::new(Scheduler::new(
            cutter,
            options.pairing,
            Capacity { workers: options.threads.get(), cores: options.cores.get() },
            options.held_limits,
        )),
        failure: Failure::default(),
    };
    for block in first {
        ingest.scheduler.lock().provided(block)?;
    }
    let watch = || if watch() { Ok(()) } else { Err(IngestError::Interrupted) };
    pool::run(
        options.threads,
        &ingest.failure,
        || ingest.wake(),
        &watch,
        |index| ingest.work(index),
    )?;
    let scheduler = ingest.scheduler.lock();
    if !scheduler.cut_everything() {
        return Err(IngestError::Incomplete);
    }
    let (reads, templates, peak_held_bytes) = scheduler.totals();
    // The trace goes on over several inputs.
    let records = trace.records.load(Ordering::Relaxed) - records_before;
    let bam = scheduler.bam_totals();
    Ok(IngestTotals { reads, templates, records, peak_held_bytes, bam })
}

struct Ingest<'a, E: AlignmentEngine, S: BatchSink> {
    source: &'a ReadSource,
    engine: &'a E,
    sink: &'a S,
    options: &'a IngestOptions,
    trace: &'a IngestTrace,
    scheduler: Monitor<Scheduler<'a, E>>,
    failure: Failure<IngestError<S::Error>>,
}

/// One worker's memory.
struct Worker<E: AlignmentEngine, S: BatchSink> {
    engine: E::Scratch,
    fetch: FetchScratch,
    sink: S::Scratch,
    packed: PackedTemplates,
}

type Outcome<S> = Result<(), IngestError<<S as BatchSink>::Error>>;

impl<'a, E: AlignmentEngine, S: BatchSink> Ingest<'a, E, S> {
    fn work(&self, index: usize) -> Outcome<S> {
        // First of all, so that the worker's own memory is taken where it runs.
        self.options.placement.take_slot(index).map_err(IngestError::Placement)?;
        let mut worker = Worker {
            engine: self.engine.scratch()?,
            fetch: FetchScratch::default(),
            sink: self.sink.scratch().map_err(IngestError::Sink)?,
            packed: PackedTemplates::default(),
        };
        while let Some(task) = self.trace.wait.time(|| self.next_task()) {
            match task {
                Task::Fetch => self.fetch(&mut worker)?,
                Task::Seed(batch) => self.seed(&mut worker, batch)?,
                Task::SeedAndEmit(batch) => self.seed_and_emit(&mut worker, batch)?,
                Task::Infer(cohort, seeded) => self.infer(cohort, seeded)?,
                Task::Emit(task) => self.emit(&mut worker, task)?,
            }
        }
        Ok(())
    }

    /// The next task, waiting for one if need be; `None` when all is done or the run has failed.
    fn next_task(&self) -> Option<Task<E>> {
        let stopped = || self.failure.stopped();
        schedule::next_task(&self.scheduler, stopped, Scheduler::next_task)
    }

    fn fetch(&self, worker: &mut Worker<E, S>) -> Outcome<S> {
        let fetched = self.trace.fetch.time(|| self.source.fetch(&mut worker.fetch))?;
        Ok(self.scheduler.update(|scheduler| scheduler.fetched(fetched))?)
    }

    /// Has the workers look at the failure.
    fn wake(&self) {
        self.scheduler.wake_all();
        self.sink.stop();
    }

    /// `None` if the batch's reads are malformed, with which the run has failed: batches are handed
    /// out in order, so that of several such the first is known before all workers have stopped.
    fn find_candidates(
        &self,
        worker: &mut Worker<E, S>,
        mut batch: Batch,
    ) -> Result<Option<Seeded<E>>, IngestError<S::Error>> {
        let reads = match batch.engine_reads(self.engine.longest_read_bases()) {
            Ok(reads) => reads,
            Err(error) => {
                self.failure.set_at(batch.sequence, error.into());
                self.wake();
                return Ok(None);
            }
        };
        let candidates =
            self.trace.seed.time(|| self.engine.seed_extend(&mut worker.engine, &reads))?;
        drop(reads);
        let mut held_bytes = self.engine.held_bytes(&candidates);
        if self.options.tags.input.wanted() || self.sink.wants_reads() {
            held_bytes += batch.input_bytes();
        } else {
            batch.lanes.drain(..).flatten().for_each(|segment| {
                if let Some(block) = Arc::into_inner(segment.block) {
                    self.source.recycle(block);
                }
            });
        }
        Ok(Some(Seeded { batch, candidates, held_bytes }))
    }

    fn seed(&self, worker: &mut Worker<E, S>, batch: Batch) -> Outcome<S> {
        let Some(seeded) = self.find_candidates(worker, batch)? else { return Ok(()) };
        self.scheduler.update(|scheduler| scheduler.seeded(seeded)).map_or(Ok(()), |held_bytes| {
            Err(IngestError::CohortTooLarge {
                cohort_bases: self.options.cohort_bases,
                held_bytes,
                limit_bytes: self.options.held_limits.cohort_bytes,
            })
        })
    }

    fn infer(&self, cohort: ClosedCohort, seeded: Vec<Seeded<E>>) -> Outcome<S> {
        let (rest, candidates): (Vec<_>, Vec<_>) =
            seeded.into_iter().map(|s| ((s.batch, s.held_bytes), s.candidates)).unzip();
        let model = self.trace.infer.time(|| self.engine.infer_cohort(&candidates))?;
        let seeded = rest
            .into_iter()
            .zip(candidates)
            .map(|((batch, held_bytes), candidates)| Seeded { batch, candidates, held_bytes })
            .collect();
        self.scheduler.update(|scheduler| scheduler.inferred(cohort, &Arc::new(model), seeded));
        Ok(())
    }

    fn emit(&self, worker: &mut Worker<E, S>, task: EmitTask<E>) -> Outcome<S> {
        let EmitTask { seeded, model, ordinals } = task;
        let (sequence, held_bytes) = (seeded.batch.sequence, seeded.held_bytes);
        self.emit_records(worker, seeded, Some(&model), ordinals)?;
        self.scheduler.update(|scheduler| scheduler.emitted(sequence, held_bytes));
        Ok(())
    }

    fn seed_and_emit(&self, worker: &mut Worker<E, S>, batch: Batch) -> Outcome<S> {
        let (sequence, first_read) = (batch.sequence, batch.first_read);
        let Some(seeded) = self.find_candidates(worker, batch)? else { return Ok(()) };
        let ordinals = Ordinals { first_pair: 0, first_single: first_read };
        self.emit_records(worker, seeded, None, ordinals)?;
        self.scheduler.update(|scheduler| scheduler.emitted(sequence, 0));
        Ok(())
    }

    fn emit_records(
        &self,
        worker: &mut Worker<E, S>,
        seeded: Seeded<E>,
        model: Option<&E::Model>,
        ordinals: Ordinals,
    ) -> Outcome<S> {
        let Seeded { batch, candidates, .. } = seeded;
        let Worker { engine, packed, sink, .. } = worker;
        let mut failed = None;
        let mut part = |templates: &PackedTemplates| {
            self.count(templates);
            let looked = self.sink.look(sink, &batch, templates);
            let accepted =
                looked.and_then(|()| self.sink.accept_part(sink, batch.sequence, templates));
            failed = accepted.err();
            failed.is_none()
        };
        let emitted = self.trace.emit.time(|| -> Outcome<S> {
            let mut emission = Emission::new(&batch, &self.options.tags, packed)?;
            if E::MANY_RECORDS {
                emission = emission.in_parts(&mut part);
            }
            self.engine.emit(engine, candidates, model, ordinals, &mut emission)?;
            Ok(emission.finish()?)
        });
        if let Some(error) = failed {
            return Err(IngestError::Sink(error));
        }
        emitted?;
        self.count(&worker.packed);
        let Worker { packed, sink, .. } = worker;
        let accept = || {
            self.sink.look(sink, &batch, packed)?;
            self.sink.accept(sink, batch.sequence, packed)
        };
        self.trace.sink.time(accept).map_err(IngestError::Sink)
    }

    fn count(&self, templates: &PackedTemplates) {
        self.trace.records.fetch_add(templates.records, Ordering::Relaxed);
        self.trace.templates.fetch_add(templates.ends.len() as u64, Ordering::Relaxed);
    }
}
