//! Preparation after ingest: one phase after the other, for whichever command has collected the
//! records.
//!
//! ```text
//! Collected ─► resolve ─► redistribute ─► recalibrate ─► finish ─► PipelineOutput
//!              marks      orders by       counts, what    sorted,
//!                         name            applies them    encoded
//! ```
//!
//! A phase is passed over where a run before this one has kept what it made ([`Checkpoints`]).
//! Tasks of several processes do one phase each, of a part: duplicates by [`resolve_all`], counts
//! by [`RecalibrationRequest::count`](crate::recalibrate::RecalibrationRequest::count), a piece of
//! the output by [`run_piece`].

mod checkpoints;
mod phase;
mod reference;
mod write;

use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::Persist;
use seqloom_io::reference::ReferenceError;
use seqloom_io::spill::SpillError;
use seqloom_io::{Output, OutputError};
use seqloom_runtime::pool::{Interrupted, Stopped, Watch};

pub use checkpoints::{Checkpoints, WrittenUnits};
pub use phase::Phase;
pub use reference::{ReferenceRequest, ReferenceSource, ReferenceUse};
pub use write::OutputRequest;

use crate::duplicates::{
    DuplicateMarks, DuplicateMode, DuplicateOptions, DuplicationCounters, ResolveError, resolve_all,
};
use crate::finish::{
    CountingPassOptions, EncodeError, FinishError, FinishTrace, Finished, Fragments, OutputIndex,
    StoredRecords, UnitPlan, Units,
};
use crate::input::ReferenceSequences;
use crate::metrics::quality::{GatheredMetrics, GcWindows};
use crate::partition::redistribute::{self, NameSample, RedistributeError};
use crate::partition::{
    Backing, ChunkStore, Collected, EndCollector, PhaseResources, SavedStore, SortOrder,
    StoreScratch, TemplateNumbers, WriteOutError, write_out,
};
use crate::recalibrate::{RecalibrationOutput, RequestError, StoredCounts};
use checkpoints::Written;
use write::{WriteInputs, Writing};

/// Records on which the pipeline works.
pub struct PipelineInput<'a> {
    /// The records, and read ends where duplicates are to be marked.
    pub collected: Collected<'a>,
    /// Memory and spilled data.
    pub backing: &'a Backing,
    /// How many records there are.
    pub records: u64,
    /// Number of each template in the whole input.
    pub numbers: TemplateNumbers,
    /// A sample of names, for orders by name.
    pub names: &'a NameSample,
}

/// Options of the pipeline.
pub struct PipelineRequest<'a> {
    /// Whose decisions on duplicates.
    pub duplicate_mode: DuplicateMode,
    /// How duplicates are found.
    pub duplicates: DuplicateOptions,
    /// Options of the output.
    pub output: OutputRequest<'a>,
}

/// A command in the course of the pipeline.
pub trait PipelineCallbacks {
    /// Error of the command.
    type Error: From<SpillError>
        + From<ResolveError>
        + From<RedistributeError>
        + From<WriteOutError>
        + From<ReferenceError>
        + From<RequestError>
        + From<EncodeError>
        + From<OutputError>
        + From<FinishError>
        + From<Stopped>;

    /// Progress and interrupts while a phase is on, with the records that it has seen; those that
    /// look at read ends or at chunks have all of them.
    ///
    /// # Errors
    /// [`Interrupted`].
    fn watch(&self, phase: Phase, records: u64) -> Result<(), Interrupted>;

    /// A phase has ended.
    fn end_phase(&self, phase: Phase);

    /// Why duplicates are not resolved, in the command's words.
    fn unresolved(&self, error: ResolveError) -> Self::Error {
        error.into()
    }
}

/// Results of the pipeline.
pub struct PipelineOutput {
    /// Counts of the records written.
    pub finished: Finished,
    /// Builder of the index, if one is requested, and numbers of containers.
    pub index: Option<OutputIndex>,
    /// Counts of duplicates, where they are marked.
    pub duplicates: Option<DuplicationCounters>,
    /// The table of recalibration, where that is requested.
    pub recalibration: Option<RecalibrationOutput>,
    /// Metrics that were requested.
    pub metrics: GatheredMetrics,
    /// Windows of the reference, where GC bias is counted.
    pub gc_windows: Option<GcWindows>,
}

/// A piece of an output that other processes make the rest of.
pub struct PipelinePiece {
    /// Counts of the records written.
    pub finished: Finished,
    /// Index entries, for whoever puts the pieces together.
    pub fragments: Fragments,
    /// Metrics that were requested.
    pub metrics: GatheredMetrics,
}

/// Runs all phases; the output is complete but not closed.
///
/// # Errors
/// The first failure of any phase.
pub fn run<C: PipelineCallbacks, K: Checkpoints<Error = C::Error>>(
    input: PipelineInput<'_>,
    request: &PipelineRequest<'_>,
    (command, kept): (&C, Option<&mut K>),
    outputs: &mut [Output],
    trace: &FinishTrace,
) -> Result<PipelineOutput, C::Error> {
    let PipelineInput { collected, backing, records, numbers, names } = input;
    let Collected { placed, by_ordinal, unplaced_with_position, ends } = collected;
    let mut pipeline = Pipeline { request, command, kept, backing, records, numbers };
    if request.duplicates.umi_distance.is_some() {
        let bytes = DuplicateMarks::families_bytes(pipeline.numbers.total());
        placed.spill_for(bytes, &mut StoreScratch::new()?)?;
    }
    let resolved = ends.map(|ends| pipeline.resolve(ends)).transpose()?;
    command.end_phase(Phase::Resolve);

    let by_ordinal = pipeline.redistribute(by_ordinal, names)?;
    command.end_phase(Phase::Redistribute);

    let stores = [&placed, &by_ordinal, &unplaced_with_position];
    let marks = resolved.as_ref().map(|(marks, _)| marks);
    let records = StoredRecords { stores: &stores, backing, marks };
    let inputs =
        WriteInputs::of(&request.output, &records, |bases| pipeline.count(&records, bases))?;
    command.end_phase(Phase::Recalibrate);

    let output = pipeline.write(&records, &inputs, outputs, trace)?;
    let duplicates = resolved.map(|(_, counters)| counters);
    Ok(PipelineOutput { duplicates, recalibration: inputs.recalibration, ..output })
}

/// Writes some units of records whose duplicates are known, as a piece of an output.
///
/// # Errors
/// The first failure of any phase.
pub fn run_piece<C: PipelineCallbacks>(
    (records, units): (&StoredRecords<'_>, Units<'_>),
    request: &OutputRequest<'_>,
    command: &C,
    output: &mut Output,
    trace: &FinishTrace,
) -> Result<PipelinePiece, C::Error> {
    let inputs =
        WriteInputs::of(request, records, |bases| count(command, request, records, bases))?;
    let watch = writing_watch(command, trace);
    let writing = Writing::new(request, records, &inputs, trace, &watch);
    let (finished, fragments) = writing.piece(units, output)?;
    Ok(PipelinePiece { finished, fragments, metrics: writing.into_metrics() })
}

/// Counts covariates, where that is requested.
fn count<C: PipelineCallbacks>(
    command: &C,
    request: &OutputRequest<'_>,
    records: &StoredRecords<'_>,
    bases: &ReferenceSequences,
) -> Result<Option<StoredCounts>, C::Error> {
    let Some(recalibration) = &request.recalibration else { return Ok(None) };
    let seen = AtomicU64::new(0);
    // Relaxed: a count to be shown.
    let watch = || command.watch(Phase::Recalibrate, seen.load(Ordering::Relaxed));
    let pass = CountingPassOptions { threads: request.threads, records: &seen, watch: &watch };
    Ok(recalibration.count(request.header, bases, records, &pass)?)
}

/// Progress and interrupts while records are written.
fn writing_watch<C: PipelineCallbacks>(
    command: &C,
    trace: &FinishTrace,
) -> impl Fn() -> Result<(), Interrupted> {
    // Relaxed: a count to be shown.
    move || command.watch(Phase::Finish, trace.records.load(Ordering::Relaxed))
}

/// State that the phases share.
struct Pipeline<'a, 'r, C, K> {
    request: &'r PipelineRequest<'r>,
    command: &'r C,
    kept: Option<&'r mut K>,
    backing: &'a Backing,
    records: u64,
    numbers: TemplateNumbers,
}

impl<'a, C: PipelineCallbacks, K: Checkpoints<Error = C::Error>> Pipeline<'a, '_, C, K> {
    fn load<T: Persist>(&self, phase: Phase) -> Result<Option<T>, C::Error> {
        Ok(self.kept.as_ref().map(|kept| kept.load(phase, self.backing)).transpose()?.flatten())
    }

    fn save(&mut self, phase: Phase, state: impl FnOnce() -> Vec<u8>) -> Result<(), C::Error> {
        let backing = self.backing;
        self.kept.as_mut().map_or(Ok(()), |kept| kept.save(phase, &state(), backing))
    }

    fn resources<'w>(&self, watch: Watch<'w>) -> PhaseResources<'a, 'w> {
        PhaseResources { backing: self.backing, threads: self.request.output.threads, watch }
    }

    /// Which records are duplicates, and what was counted of them.
    fn resolve(
        &mut self,
        ends: EndCollector<'_>,
    ) -> Result<(DuplicateMarks, DuplicationCounters), C::Error> {
        let saved: Option<(DuplicateMarks, DuplicationCounters)> = self.load(Phase::Resolve)?;
        if let Some((marks, counters)) = saved {
            return Ok((marks.charged_to(&self.backing.ledger), counters));
        }
        let (command, request) = (self.command, self.request);
        let watch = || command.watch(Phase::Resolve, self.records);
        let (mode, options) = (request.duplicate_mode, &request.duplicates);
        let (numbers, resources) = (self.numbers.clone(), self.resources(&watch));
        let resolved = resolve_all(ends, numbers, mode, options, &resources)
            .map_err(|error| command.unresolved(error))?;
        self.save(Phase::Resolve, || {
            let mut state = resolved.0.to_state();
            resolved.1.save(&mut state);
            state
        })?;
        Ok(resolved)
    }

    /// Moves records to where they are sorted: by name in orders that want that, by number where
    /// several lanes were read side by side.
    fn redistribute(
        &mut self,
        from: ChunkStore<'a>,
        names: &NameSample,
    ) -> Result<ChunkStore<'a>, C::Error> {
        let (command, order) = (self.command, self.request.output.order);
        let watch = || command.watch(Phase::Redistribute, self.records);
        if self.numbers.lanes() > 1 {
            return Ok(redistribute::by_number(from, &self.numbers, &self.resources(&watch))?);
        }
        if !needs_names(order) {
            return Ok(from);
        }
        let saved: Option<SavedStore> = self.load(Phase::Redistribute)?;
        if let (Some(kept), Some(saved)) = (&self.kept, saved) {
            let moved = ChunkStore::of_records(self.backing, from.chunk_bytes());
            moved.restore(saved).map_err(|error| kept.damaged(error))?;
            return Ok(moved);
        }
        let moved = redistribute::by_name(from, names, order, &self.resources(&watch))?;
        if self.kept.is_some() {
            write_out(&[&moved], self.request.output.threads, &watch)?;
        }
        self.save(Phase::Redistribute, || moved.saved().to_state())?;
        Ok(moved)
    }

    /// Counts covariates, where that is requested.
    fn count(
        &mut self,
        records: &StoredRecords<'_>,
        bases: &ReferenceSequences,
    ) -> Result<Option<StoredCounts>, C::Error> {
        let saved: Option<StoredCounts> = self.load(Phase::Recalibrate)?;
        if saved.is_some() {
            return Ok(saved);
        }
        let counts = count(self.command, &self.request.output, records, bases)?;
        if let Some(counts) = &counts {
            self.save(Phase::Recalibrate, || counts.to_state())?;
        }
        Ok(counts)
    }

    /// Writes all records, from where a run before this one has ended.
    fn write(
        &mut self,
        records: &StoredRecords<'_>,
        inputs: &WriteInputs,
        outputs: &mut [Output],
        trace: &FinishTrace,
    ) -> Result<PipelineOutput, C::Error> {
        let request = &self.request.output;
        let watch = writing_watch(self.command, trace);
        let mut writing = Writing::new(request, records, inputs, trace, &watch);
        let before: Option<(Written, GatheredMetrics)> =
            self.kept.as_ref().map(|kept| kept.written()).transpose()?.flatten();
        let mut written = match before {
            Some((written, counted)) => {
                writing = writing.continued_at(written.units, &counted);
                written
            }
            None => begin::<C::Error>(request, outputs)?,
        };
        let plan = UnitPlan::new(records.stores, request.encoding.unit_bytes());
        while written.units < plan.count() {
            let step_bytes = self.kept.as_ref().map_or(u64::MAX, |kept| kept.step_bytes());
            let units = plan.region(written.units, step_bytes);
            let finished = writing.units(units, outputs, written.index.as_mut())?;
            written.finished.merge(&finished);
            written.units += units.count();
            if let (Some(kept), Some(output)) = (&mut self.kept, outputs.first()) {
                let mut state = written.to_state();
                writing.so_far().save(&mut state);
                let units = WrittenUnits { written: written.units, all: plan.count() };
                kept.save_written(units, state, output)?;
            }
        }
        let metrics = writing.into_metrics();
        let compared = inputs.compared(request).filter(|_| request.metrics.gc_bias);
        let count = |bases| GcWindows::count(bases, request.threads, &watch);
        let gc_windows = compared.map(count).transpose()?;
        let Written { finished, index, .. } = written;
        Ok(PipelineOutput {
            finished,
            index,
            duplicates: None,
            recalibration: None,
            metrics,
            gc_windows,
        })
    }
}

/// Writes the header.
fn begin<E: From<EncodeError> + From<OutputError>>(
    request: &OutputRequest<'_>,
    outputs: &mut [Output],
) -> Result<Written, E> {
    if let Some(output) = outputs.first_mut() {
        output.write(&request.encoding.header(request.header)?)?;
    }
    let references = request.header.references().len();
    let index = request.encoding.index(references);
    Ok(Written { units: 0, finished: Finished::new(references), index })
}

/// Whether records that have no place on the reference are sorted by name.
#[must_use]
pub fn needs_names(order: SortOrder) -> bool {
    order.is_by_name() || order == SortOrder::CoordinatePicard
}
