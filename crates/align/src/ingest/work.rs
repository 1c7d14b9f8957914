//! What the workers of an ingest do, task by task.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use seqloom_format::templates::PackedTemplates;
use seqloom_io::source::{FetchScratch, ReadSource};
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::monitor::Monitor;
use seqloom_runtime::schedule;

use super::lanes::Lanes;
use super::scheduler::{Capacity, EmitTask, Scheduler, Seeded, Task};
use super::{
    BatchSink, IngestError, IngestOptions, IngestTotals, IngestTrace, Ingested, LaneInput,
};
use crate::cohort::{Batch, BatchReads, ClosedCohort, CohortCutter, LongRead};
use crate::emit::{Emission, RecordTags};
use crate::engine::{AlignmentEngine, Ordinals};
use crate::input_error::CohortError;
use crate::input_tags::InputTags;
use crate::outside::OutsideReads;

/// What all workers share.
pub(super) struct Ingest<'a, E: AlignmentEngine, S: BatchSink> {
    lanes: Vec<Lane<'a, S>>,
    engine: &'a E,
    options: &'a IngestOptions,
    trace: &'a IngestTrace,
    schedulers: Monitor<Lanes<'a, E>>,
    /// Of no lane: it stops all.
    pub(super) failure: Failure<IngestError<S::Error>>,
}

/// A lane but for its state.
struct Lane<'a, S: BatchSink> {
    source: &'a ReadSource,
    tags: RecordTags,
    sink: &'a S,
    outside: Mutex<OutsideReads>,
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
    pub(super) fn new(
        inputs: Vec<LaneInput<'a, S>>,
        engine: &'a E,
        options: &'a IngestOptions,
        trace: &'a IngestTrace,
    ) -> Self {
        let capacity = Capacity { workers: options.threads.get(), cores: options.cores.get() };
        let limits = options.held_limits;
        let (mut lanes, mut schedulers) = (Vec::new(), Vec::new());
        for LaneInput { source, first, pairing, range, tags, sink } in inputs {
            let cutter = CohortCutter::new(source, pairing, options.cohort_bases);
            let cutter = cutter.within(range).without_umis(tags.umi.as_ref());
            let mut scheduler = Scheduler::new(cutter, pairing, capacity, limits);
            first.into_iter().for_each(|block| scheduler.provided(block));
            let (outside, failure) = (Mutex::default(), Failure::default());
            lanes.push(Lane { source, tags, sink, outside, failure });
            schedulers.push(scheduler);
        }
        let schedulers = Monitor::new(Lanes::new(schedulers, capacity, limits));
        Self { lanes, engine, options, trace, schedulers, failure: Failure::default() }
    }

    /// What was done; the failure of the first lane that has failed.
    pub(super) fn finish(self) -> Result<Ingested, IngestError<S::Error>> {
        if let Some(error) = self.lanes.iter().find_map(|lane| lane.failure.take()) {
            return Err(error);
        }
        let schedulers = self.schedulers.into_inner();
        let peak_held_bytes = schedulers.peak_held_bytes();
        let records = self.trace.records.load(Ordering::Relaxed);
        let totals = IngestTotals { records, peak_held_bytes, ..IngestTotals::default() };
        let mut ingested = Ingested { totals, lane_templates: Vec::new() };
        for lane in self.lanes {
            let outside = lane.outside.into_inner().unwrap_or_else(PoisonError::into_inner);
            ingested.totals.outside.append(outside);
        }
        for scheduler in schedulers.all() {
            if !scheduler.cut_everything() {
                return Err(IngestError::Incomplete);
            }
            ingested.totals.add(scheduler.totals(), scheduler.bam_totals());
            ingested.lane_templates.push(scheduler.totals().templates);
        }
        Ok(ingested)
    }

    /// What one worker does.
    pub(super) fn work(&self, index: usize) -> Outcome<S> {
        // First of all, so that the worker's own memory is taken where it runs.
        self.options.placement.take_slot(index).map_err(IngestError::Placement)?;
        let Some(first) = self.lanes.first() else { return Ok(()) };
        let mut worker = Worker {
            engine: self.engine.scratch()?,
            fetch: FetchScratch::default(),
            sink: first.sink.scratch().map_err(IngestError::Sink)?,
            packed: PackedTemplates::default(),
        };
        while let Some((lane, task)) = self.trace.wait.time(|| self.next_task()) {
            match self.perform(&mut worker, lane, task) {
                Err(error) if error.is_of_lane() => {
                    self.lanes[lane].failure.set(error);
                    self.give_up(lane);
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    fn perform(&self, worker: &mut Worker<E, S>, lane: usize, task: Task<E>) -> Outcome<S> {
        match task {
            Task::Fetch => self.fetch(worker, lane),
            Task::Seed(batch) => self.seed(worker, lane, batch),
            Task::SeedAndEmit(batch) => self.seed_and_emit(worker, lane, batch),
            Task::Infer(cohort, seeded) => self.infer(lane, cohort, seeded),
            Task::Emit(task) => self.emit(worker, lane, task),
            Task::Fail(sequence, error) => {
                self.fail_at(lane, sequence, error);
                Ok(())
            }
        }
    }

    /// The next task, waiting for one if need be; `None` when all is done or the run has failed.
    fn next_task(&self) -> Option<(usize, Task<E>)> {
        let stopped = || self.failure.stopped();
        schedule::next_task(&self.schedulers, stopped, Lanes::next_task)
    }

    fn fetch(&self, worker: &mut Worker<E, S>, lane: usize) -> Outcome<S> {
        let source = self.lanes[lane].source;
        let fetched = self.trace.fetch.time(|| source.fetch(&mut worker.fetch))?;
        if self.schedulers.update(|lanes| lanes.fetched(lane, fetched)) {
            self.end(lane);
        }
        Ok(())
    }

    /// Has the workers look at the failure.
    pub(super) fn wake(&self) {
        self.schedulers.wake_all();
        self.lanes.iter().for_each(|lane| lane.sink.stop());
    }

    /// A lane has failed: nobody continues it, nor those behind it.
    fn give_up(&self, lane: usize) {
        self.schedulers.update(|lanes| lanes.give_up(lane));
        self.schedulers.wake_all();
        self.lanes[lane..].iter().for_each(|lane| lane.sink.stop());
    }

    /// A lane's input is malformed: batches are handed out in order and the defect of a whole file
    /// behind them, so that of several such the first is known before all workers have stopped.
    fn fail_at(&self, lane: usize, sequence: u64, error: CohortError) {
        self.lanes[lane].failure.set_at(sequence, error.into());
        self.give_up(lane);
    }

    /// A lane is through, and others follow in its memory.
    fn end(&self, lane: usize) {
        let Lane { source, sink, .. } = &self.lanes[lane];
        source.free_memory();
        sink.end();
    }

    /// `None` if the batch's reads are malformed, with which the lane has failed.
    fn find_candidates(
        &self,
        worker: &mut Worker<E, S>,
        lane: usize,
        mut batch: Batch,
    ) -> Result<Option<Seeded<E>>, IngestError<S::Error>> {
        let Lane { source, tags, sink, .. } = &self.lanes[lane];
        let umi = tags.umi.as_ref();
        let longest_bases =
            if E::TAKES_LONGER { usize::MAX } else { self.engine.longest_read_bases() };
        let reads = batch.engine_reads(longest_bases, umi).and_then(|reads| {
            let umis = umi.map(|umi| batch.take_umis(umi)).transpose()?;
            let tags = batch.take_tags(tags.input, &tags.replaced())?;
            Ok((reads, umis.unwrap_or_default(), tags))
        });
        let (BatchReads { reads, long_reads }, umis, read_tags) = match reads {
            Ok(found) => found,
            Err(error) => {
                self.fail_at(lane, batch.sequence, error);
                return Ok(None);
            }
        };
        let candidates =
            self.trace.seed.time(|| self.engine.seed_extend(&mut worker.engine, &reads))?;
        drop(reads);
        (batch.umis, batch.tags, batch.long_reads) = (umis, read_tags, long_reads);
        if tags.input == InputTags::Fields {
            batch.failed_filter = batch.take_failed_filter();
        }
        let held = [batch.umis.held_bytes(), batch.tags.held_bytes()];
        let mut held_bytes = self.engine.held_bytes(&candidates) + held.iter().sum::<u64>();
        held_bytes += batch.long_reads.iter().map(LongRead::held_bytes).sum::<u64>();
        held_bytes += 2 * batch.failed_filter.capacity() as u64;
        if sink.wants_reads() {
            held_bytes += batch.input_bytes();
        } else {
            batch.lanes.drain(..).flatten().for_each(|segment| {
                if let Some(block) = Arc::into_inner(segment.block) {
                    source.recycle(block);
                }
            });
        }
        Ok(Some(Seeded { batch, candidates, held_bytes }))
    }

    fn seed(&self, worker: &mut Worker<E, S>, lane: usize, batch: Batch) -> Outcome<S> {
        let Some(seeded) = self.find_candidates(worker, lane, batch)? else { return Ok(()) };
        self.schedulers.update(|lanes| lanes.seeded(lane, seeded)).map_or(Ok(()), |held_bytes| {
            Err(IngestError::CohortTooLarge {
                cohort_bases: self.options.cohort_bases,
                held_bytes,
                limit_bytes: self.options.held_limits.cohort_bytes,
            })
        })
    }

    fn infer(&self, lane: usize, cohort: ClosedCohort, seeded: Vec<Seeded<E>>) -> Outcome<S> {
        let (rest, candidates): (Vec<_>, Vec<_>) =
            seeded.into_iter().map(|s| ((s.batch, s.held_bytes), s.candidates)).unzip();
        let model = self.trace.infer.time(|| self.engine.infer_cohort(&candidates))?;
        let seeded = rest
            .into_iter()
            .zip(candidates)
            .map(|((batch, held_bytes), candidates)| Seeded { batch, candidates, held_bytes })
            .collect();
        self.schedulers.update(|lanes| lanes.inferred(lane, cohort, &Arc::new(model), seeded));
        Ok(())
    }

    fn emit(&self, worker: &mut Worker<E, S>, lane: usize, task: EmitTask<E>) -> Outcome<S> {
        let EmitTask { seeded, model, ordinals } = task;
        let (sequence, held_bytes) = (seeded.batch.sequence, seeded.held_bytes);
        self.emit_records(worker, lane, seeded, Some(&model), ordinals)?;
        self.emitted(lane, sequence, held_bytes);
        Ok(())
    }

    fn emitted(&self, lane: usize, sequence: u64, held_bytes: u64) {
        if self.schedulers.update(|lanes| lanes.emitted(lane, sequence, held_bytes)) {
            self.end(lane);
        }
    }

    fn seed_and_emit(&self, worker: &mut Worker<E, S>, lane: usize, batch: Batch) -> Outcome<S> {
        let (sequence, first_read) = (batch.sequence, batch.first_read);
        let Some(seeded) = self.find_candidates(worker, lane, batch)? else { return Ok(()) };
        let ordinals = Ordinals { first_pair: 0, first_single: first_read };
        self.emit_records(worker, lane, seeded, None, ordinals)?;
        self.emitted(lane, sequence, 0);
        Ok(())
    }

    fn emit_records(
        &self,
        worker: &mut Worker<E, S>,
        lane: usize,
        seeded: Seeded<E>,
        model: Option<&E::Model>,
        ordinals: Ordinals,
    ) -> Outcome<S> {
        let Lane { tags, sink: of_lane, outside, .. } = &self.lanes[lane];
        let Seeded { batch, candidates, .. } = seeded;
        let Worker { engine, packed, sink, .. } = worker;
        let mut failed = None;
        let mut part = |templates: &PackedTemplates| {
            self.count(templates);
            let looked = of_lane.look(sink, &batch, templates);
            let accepted =
                looked.and_then(|()| of_lane.accept_part(sink, batch.sequence, templates));
            failed = accepted.err();
            failed.is_none()
        };
        let emitted = self.trace.emit.time(|| -> Outcome<S> {
            let longest_bases = self.engine.longest_read_bases();
            let mut emission = Emission::new(&batch, tags, longest_bases, packed);
            if E::MANY_RECORDS {
                emission = emission.in_parts(&mut part);
            }
            self.engine.emit(engine, candidates, model, ordinals, &mut emission)?;
            let found = emission.finish()?;
            lock(outside).merge(found);
            Ok(())
        });
        if let Some(error) = failed {
            return Err(IngestError::Sink(error));
        }
        emitted?;
        self.count(&worker.packed);
        let Worker { packed, sink, .. } = worker;
        let accept = || {
            of_lane.look(sink, &batch, packed)?;
            of_lane.accept(sink, batch.sequence, packed)
        };
        self.trace.sink.time(accept).map_err(IngestError::Sink)
    }

    fn count(&self, templates: &PackedTemplates) {
        self.trace.records.fetch_add(templates.records, Ordering::Relaxed);
        self.trace.templates.fetch_add(templates.ends.len() as u64, Ordering::Relaxed);
    }
}
