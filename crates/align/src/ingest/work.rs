//! What the workers of an ingest do, task by task.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use seqloom_format::PackedTemplates;
use seqloom_io::reads::{FetchScratch, ReadSource};
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::flow::{Flow, Shared};
use seqloom_runtime::pool::Stopped;
use seqloom_runtime::schedule::Idle;
use seqloom_runtime::trace::{Stage, ThreadTimes};

use super::lanes::LaneScheduler;
use super::scheduler::{Capacity, EmitTask, Scheduler, Seeded, Task};
use super::{
    Aligner, BatchPart, BatchSink, IngestError, IngestOptions, IngestTotals, IngestTrace, Ingested,
    LaneEnd, LaneInput,
};
use crate::cohort::{Batch, ClosedCohort, CohortCutter, recycle};
use crate::engine::{CohortEngine, EngineError, EngineReads, RecordSink, SeededBatch};
use crate::input::error::CohortError;
use crate::input::tags::RecordTags;
use crate::records::tagged::TaggedRecords;
use crate::records::unsearched::UnsearchedReads;

/// What all workers share.
pub(super) struct Ingest<'a, A: Aligner, S: BatchSink> {
    lanes: Vec<LaneContext<'a, S>>,
    aligner: &'a A,
    /// Longest read that the engine is given with its bases.
    longest_given_bases: usize,
    options: &'a IngestOptions,
    trace: &'a IngestTrace,
    /// Its failure is of no lane: it stops all.
    shared: Shared<LaneScheduler<'a, A::ByCohorts>, IngestError<S::Error>>,
}

/// What workers need of a lane; what changes is in the [`LaneScheduler`].
struct LaneContext<'a, S: BatchSink> {
    source: &'a ReadSource,
    tags: RecordTags,
    sink: &'a S,
    outside: Mutex<UnsearchedReads>,
    failure: Failure<IngestError<S::Error>>,
}

/// One worker's memory.
pub(super) struct Worker<A: Aligner, S: BatchSink> {
    engine: A::Scratch,
    fetch: FetchScratch,
    sink: S::Scratch,
    packed: PackedTemplates,
}

type Outcome<S> = Result<(), IngestError<<S as BatchSink>::Error>>;

impl<'a, A: Aligner, S: BatchSink> Flow for Ingest<'a, A, S> {
    type Scheduler = LaneScheduler<'a, A::ByCohorts>;
    /// With the lane that it is of.
    type Task = (usize, Task<'a, A::ByCohorts>);
    type Worker = Worker<A, S>;
    type Error = IngestError<S::Error>;

    fn shared(&self) -> &Shared<Self::Scheduler, Self::Error> {
        &self.shared
    }

    fn worker(&self, index: usize) -> Result<Worker<A, S>, Self::Error> {
        // First of all, so that the worker's own memory is taken where it runs.
        self.options.placement.take_slot(index).map_err(IngestError::Placement)?;
        Ok(Worker {
            engine: self.aligner.scratch()?,
            fetch: FetchScratch::default(),
            sink: self.lanes[0].sink.scratch().map_err(IngestError::Sink)?,
            packed: PackedTemplates::default(),
        })
    }

    fn next(lanes: &mut Self::Scheduler) -> Result<Self::Task, Idle> {
        lanes.next_task()
    }

    fn perform(&self, worker: &mut Worker<A, S>, (lane, task): Self::Task) -> Outcome<S> {
        let performed = match task {
            Task::Fetch => self.fetch(worker, lane),
            Task::Align(batch) => self.align(worker, lane, batch),
            Task::Seed(engine, batch) => self.seed(engine, worker, lane, batch),
            Task::Infer(engine, cohort, seeded) => self.infer(engine, lane, cohort, seeded),
            Task::Emit(engine, task) => self.emit(engine, worker, lane, task),
            Task::Fail(sequence, error) => {
                self.fail_at(lane, sequence, error);
                Ok(())
            }
        };
        match performed {
            Err(error) if error.is_of_lane() => {
                self.lanes[lane].failure.set(error);
                self.give_up(lane);
                Ok(())
            }
            performed => performed,
        }
    }

    fn wake(&self) {
        self.lanes.iter().for_each(|lane| lane.sink.end(LaneEnd::Failed));
    }

    fn wait(&self) -> Option<&Stage> {
        Some(&self.trace.wait)
    }

    fn thread_times(&self) -> Option<&ThreadTimes> {
        Some(&self.trace.threads)
    }
}

impl<'a, A: Aligner, S: BatchSink> Ingest<'a, A, S> {
    pub(super) fn new(
        inputs: Vec<LaneInput<'a, S>>,
        aligner: &'a A,
        options: &'a IngestOptions,
        trace: &'a IngestTrace,
    ) -> Self {
        let capacity = Capacity { workers: options.threads.get(), cores: options.cores.get() };
        let limits = options.held_limits;
        let by_cohorts = aligner.by_cohorts();
        let (mut lanes, mut schedulers) = (Vec::new(), Vec::new());
        for LaneInput { source, first, pairing, range, tags, sink } in inputs {
            let cutter = CohortCutter::new(source, pairing, options.cohort_bases);
            let cutter = cutter.within(range).without_umis(tags.umi.as_ref());
            let mut scheduler = Scheduler::new(cutter, pairing, by_cohorts, capacity, limits);
            first.into_iter().for_each(|block| scheduler.provided(block));
            let (outside, failure) = (Mutex::default(), Failure::default());
            lanes.push(LaneContext { source, tags, sink, outside, failure });
            schedulers.push(scheduler);
        }
        let shared = Shared::new(LaneScheduler::new(schedulers, capacity, limits));
        // An engine that works by batches makes the records of longer reads, too.
        let longest_given_bases = by_cohorts.map_or(usize::MAX, CohortEngine::longest_read_bases);
        Self { lanes, aligner, longest_given_bases, options, trace, shared }
    }

    /// What was done; the failure of the first lane that has failed.
    pub(super) fn finish(self) -> Result<Ingested, IngestError<S::Error>> {
        if let Some(error) = self.lanes.iter().find_map(|lane| lane.failure.take()) {
            return Err(error);
        }
        let schedulers = self.shared.into_scheduler();
        let peak_held_bytes = schedulers.peak_held_bytes();
        // Relaxed: the workers have ended.
        let records = self.trace.records.load(Ordering::Relaxed);
        let totals = IngestTotals { records, peak_held_bytes, ..IngestTotals::default() };
        let mut ingested = Ingested { totals, lane_templates: Vec::new() };
        for lane in self.lanes {
            let outside = lane.outside.into_inner().unwrap_or_else(PoisonError::into_inner);
            ingested.totals.outside.append(outside);
        }
        for scheduler in schedulers.all() {
            if !scheduler.cut_everything() {
                return Err(Stopped::Incomplete.into());
            }
            ingested.totals.add(scheduler.totals(), scheduler.bam_totals());
            ingested.lane_templates.push(scheduler.totals().templates);
        }
        Ok(ingested)
    }

    fn fetch(&self, worker: &mut Worker<A, S>, lane: usize) -> Outcome<S> {
        let source = self.lanes[lane].source;
        let fetched = self.trace.fetch.time(|| source.fetch(&mut worker.fetch))?;
        if self.shared.scheduler().update(|lanes| lanes.fetched(lane, fetched)) {
            self.end(lane);
        }
        Ok(())
    }

    /// A lane has failed: nobody continues it, nor those after it.
    fn give_up(&self, lane: usize) {
        self.shared.scheduler().update(|lanes| lanes.give_up(lane));
        self.shared.scheduler().wake_all();
        self.lanes[lane..].iter().for_each(|lane| lane.sink.end(LaneEnd::Failed));
    }

    /// A lane's input is malformed: batches are handed out in order and the defect of a whole file
    /// after them, so that of several such the first is known before all workers have stopped.
    fn fail_at(&self, lane: usize, sequence: u64, error: CohortError) {
        self.lanes[lane].failure.set_at(sequence, error.into());
        self.give_up(lane);
    }

    /// A lane is through, and others follow in its memory.
    fn end(&self, lane: usize) {
        let LaneContext { source, sink, .. } = &self.lanes[lane];
        source.release_buffers();
        sink.end(LaneEnd::Complete);
    }

    /// Checks the reads of a batch and takes their tags. Returns whether they are well-formed; if
    /// not, the lane has failed.
    fn prepare(&self, lane: usize, batch: &mut Batch) -> bool {
        let prepared = batch.prepare(&self.lanes[lane].tags);
        let sequence = batch.sequence;
        prepared.map_err(|error| self.fail_at(lane, sequence, error)).is_ok()
    }

    fn seed(
        &self,
        engine: &A::ByCohorts,
        worker: &mut Worker<A, S>,
        lane: usize,
        mut batch: Batch,
    ) -> Outcome<S> {
        if !self.prepare(lane, &mut batch) {
            return Ok(());
        }
        let umi = self.lanes[lane].tags.umi.as_ref();
        let reads = batch.engine_reads(self.longest_given_bases, umi).reads;
        let candidates = self.trace.seed.time(|| engine.seed_extend(&mut worker.engine, &reads))?;
        drop(reads);
        let held_bytes = engine.held_bytes(&candidates) + batch.held_bytes();
        let seeded = Seeded { batch, candidates, held_bytes };
        self.shared.scheduler().update(|lanes| lanes.seeded(lane, seeded)).map_or(
            Ok(()),
            |held_bytes| {
                Err(IngestError::CohortTooLarge {
                    cohort_bases: self.options.cohort_bases,
                    held_bytes,
                    limit_bytes: self.options.held_limits.cohort_bytes,
                })
            },
        )
    }

    fn infer(
        &self,
        engine: &A::ByCohorts,
        lane: usize,
        cohort: ClosedCohort,
        seeded: Vec<Seeded<A::ByCohorts>>,
    ) -> Outcome<S> {
        let (rest, candidates): (Vec<_>, Vec<_>) =
            seeded.into_iter().map(|s| ((s.batch, s.held_bytes), s.candidates)).unzip();
        let model = self.trace.infer.time(|| engine.infer_cohort(&candidates))?;
        let seeded = rest
            .into_iter()
            .zip(candidates)
            .map(|((batch, held_bytes), candidates)| Seeded { batch, candidates, held_bytes })
            .collect();
        self.shared
            .scheduler()
            .update(|lanes| lanes.inferred(lane, cohort, &Arc::new(model), seeded));
        Ok(())
    }

    fn emit(
        &self,
        engine: &A::ByCohorts,
        worker: &mut Worker<A, S>,
        lane: usize,
        task: EmitTask<A::ByCohorts>,
    ) -> Outcome<S> {
        let EmitTask { seeded: Seeded { batch, candidates, held_bytes }, model, ordinals } = task;
        let sequence = batch.sequence;
        self.hand_out(worker, lane, batch, |scratch, reads, sink| {
            let seeded = SeededBatch { reads, candidates, model: Some(&*model), ordinals };
            self.trace.emit.time(|| engine.emit(scratch, seeded, sink))
        })?;
        self.emitted(lane, sequence, held_bytes);
        Ok(())
    }

    fn align(&self, worker: &mut Worker<A, S>, lane: usize, mut batch: Batch) -> Outcome<S> {
        if !self.prepare(lane, &mut batch) {
            return Ok(());
        }
        let (sequence, first_read) = (batch.sequence, batch.first_read);
        self.hand_out(worker, lane, batch, |scratch, reads, sink| {
            self.aligner.align(scratch, reads, first_read, self.trace, sink)
        })?;
        self.emitted(lane, sequence, 0);
        Ok(())
    }

    fn emitted(&self, lane: usize, sequence: u64, held_bytes: u64) {
        if self.shared.scheduler().update(|lanes| lanes.emitted(lane, sequence, held_bytes)) {
            self.end(lane);
        }
    }

    /// Has `emit` make the records of a batch, and hands them to the lane's sink.
    fn hand_out(
        &self,
        worker: &mut Worker<A, S>,
        lane: usize,
        batch: Batch,
        emit: impl FnOnce(
            &mut A::Scratch,
            &EngineReads<'_>,
            &mut dyn RecordSink,
        ) -> Result<(), EngineError>,
    ) -> Outcome<S> {
        let LaneContext { source, tags, sink: of_lane, outside, .. } = &self.lanes[lane];
        let Worker { engine, packed, sink, .. } = worker;
        let mut failed = None;
        let mut part = |templates: &PackedTemplates| {
            self.count(templates);
            failed = of_lane.accept(sink, &batch, templates, BatchPart::Some).err();
            failed.is_none()
        };
        let reads = batch.engine_reads(self.longest_given_bases, tags.umi.as_ref());
        let longest_bases = self.aligner.longest_read_bases();
        let mut emission =
            TaggedRecords::new(&batch, &reads.long_reads, tags, longest_bases, packed);
        if self.aligner.by_cohorts().is_none() {
            emission = emission.in_parts(&mut part);
        }
        let emitted = emit(engine, &reads.reads, &mut emission).map_err(IngestError::Engine);
        let emitted = emitted.and_then(|()| Ok(emission.finish()?));
        drop(reads);
        if let Some(error) = failed {
            return Err(IngestError::Sink(error));
        }
        lock(outside).merge(emitted?);
        self.count(packed);
        let accept = || of_lane.accept(sink, &batch, packed, BatchPart::Last);
        self.trace.sink.time(accept).map_err(IngestError::Sink)?;
        recycle(source, batch.segments);
        Ok(())
    }

    fn count(&self, templates: &PackedTemplates) {
        // Relaxed: a count, see `IngestTrace`.
        self.trace.records.fetch_add(templates.records, Ordering::Relaxed);
        self.trace.templates.fetch_add(templates.ends.len() as u64, Ordering::Relaxed);
    }
}
