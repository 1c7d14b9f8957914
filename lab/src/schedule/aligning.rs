//! What all schedules share: the input in batches, and one batch to its records.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroUsize;

use seqloom_align::engine::{CohortEngine, EngineError, Ordinals, SeededBatch};
use seqloom_align::ingest::IngestError;
use seqloom_align::{
    Batch, CohortCutter, CohortError, Cut, EmitError, Pairing, RecordTags, Shape, TaggedRecords,
};
use seqloom_format::PackedTemplates;
use seqloom_io::reads::{Fetch, FetchScratch, ReadSource, ReadsError};
use seqloom_runtime::placement::Plan;
use seqloom_runtime::pool::Stopped;

use crate::sinks::{Files, SinkError};

/// Bases of a cohort. Without a model that is learned from it, it is of no consequence; in the flow
/// of `align`, where pairs wait for their cohort's end, it bounds what they hold.
pub(super) const COHORT_BASES: u64 = 10_000_000;

/// One run: what is aligned, by what, where to, by how many.
pub(super) struct Job<'a, E> {
    pub(super) source: &'a ReadSource,
    pub(super) engine: &'a E,
    pub(super) sink: &'a Files,
    pub(super) pairing: Pairing,
    /// Workers: threads that align.
    pub(super) threads: NonZeroUsize,
    /// Where they run.
    pub(super) placement: &'a Plan,
    /// Bases that are read at a time for each worker, where a schedule has steps.
    pub(super) chunk_bases: u64,
}

/// What a schedule reports of itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    /// Times that a thread found nothing to do and slept.
    pub(super) sleeps: u64,
    /// Time of threads that only read, write and hand out.
    pub(super) master_busy_ns: u64,
    /// Changes of a counter that is another worker's.
    pub(super) steals: u64,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScheduleError {
    /// Malformed or unpaired input.
    #[error(transparent)]
    Input(#[from] CohortError),
    /// The input cannot be read.
    #[error(transparent)]
    Source(#[from] ReadsError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine's records could not be completed.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The output failed.
    #[error(transparent)]
    Sink(#[from] SinkError),
    /// The flow of `align` failed.
    #[error(transparent)]
    Ingest(#[from] IngestError<SinkError>),
    /// A worker panicked.
    #[error(transparent)]
    Panic(#[from] Stopped),
    /// A worker could not be put where it belongs.
    #[error("cannot set the CPU affinity or memory policy of a worker thread: {0}")]
    Placement(#[source] io::Error),
    /// The source ended although reads are missing.
    #[error("the input ended before its last block was delivered")]
    Incomplete,
    /// A read that `align` would write unmapped.
    #[error("a read has more than {0} bases; structures are compared on reads that are placed")]
    LongRead(usize),
    /// What cannot happen.
    #[error("{0}; this is a bug")]
    Bug(&'static str),
}

/// The input in batches, for one thread at a time.
pub(super) struct Feed<'a> {
    source: &'a ReadSource,
    cutter: CohortCutter<'a>,
    scratch: FetchScratch,
    ready: VecDeque<Batch>,
}

impl<'a, E> Job<'a, E> {
    /// The input, from its start; once in a run.
    pub(super) fn feed(&self) -> Feed<'a> {
        Feed {
            source: self.source,
            cutter: CohortCutter::new(self.source, self.pairing, COHORT_BASES),
            scratch: FetchScratch::default(),
            ready: VecDeque::new(),
        }
    }
}

impl<E: CohortEngine> Job<'_, E> {
    /// The model of all pairs: one that was given, since none is learned here.
    pub(super) fn model(&self) -> Result<E::Model, EngineError> {
        self.engine.infer_cohort(&[])
    }
}

impl Feed<'_> {
    /// The next batch; `None` after the last.
    pub(super) fn next(&mut self) -> Result<Option<Batch>, ScheduleError> {
        while self.ready.is_empty() {
            match self.source.fetch(&mut self.scratch)? {
                Fetch::Block(block) => {
                    let ready = &mut self.ready;
                    self.cutter.push(*block, |cut| match cut {
                        Cut::Batch(batch) => ready.push_back(*batch),
                        Cut::Closed(_) => {}
                    })?;
                }
                Fetch::Busy => {} // a pipe that has nothing: the source has waited
                Fetch::End if self.cutter.finished() => return Ok(None),
                Fetch::End => return Err(ScheduleError::Incomplete),
            }
        }
        Ok(self.ready.pop_front())
    }
}

/// One batch to its records, as `align` makes them.
pub(super) fn align_batch<E: CohortEngine>(
    engine: &E,
    scratch: &mut E::Scratch,
    model: &E::Model,
    batch: &Batch,
    packed: &mut PackedTemplates,
) -> Result<(), ScheduleError> {
    let longest_bases = engine.longest_read_bases();
    batch.check_mates()?;
    let reads = batch.engine_reads(longest_bases, None);
    if !reads.long_reads.is_empty() {
        return Err(ScheduleError::LongRead(longest_bases));
    }
    let reads = &reads.reads;
    let candidates = engine.seed_extend(scratch, reads)?;
    let tags = RecordTags::default();
    let mut emission = TaggedRecords::new(batch, &[], &tags, longest_bases, packed);
    let (model, ordinals) = (Some(model), ordinals(batch));
    engine.emit(scratch, SeededBatch { reads, candidates, model, ordinals }, &mut emission)?;
    emission.finish()?;
    Ok(())
}

/// Where a batch is in the input, as the ingest of `align` numbers it. All reads are single
/// here or all are pairs.
fn ordinals(batch: &Batch) -> Ordinals {
    match batch.shape {
        Shape::Singles => Ordinals { first_pair: 0, first_single: batch.first_read },
        _ => Ordinals { first_pair: batch.first_template, first_single: 0 },
    }
}
