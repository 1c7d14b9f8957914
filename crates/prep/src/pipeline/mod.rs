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
//! Tasks of several processes do one phase each, of a part: duplicates by
//! [`resolve_all`], counts by [`count_stored`](crate::recalibrate::count_stored), a piece of the
//! output by [`Writing`].

mod checkpoints;
mod phase;
mod write;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use seqloom_format::Persist;
use seqloom_io::Output;
use seqloom_io::spill::SpillError;
use seqloom_runtime::pool::{Interrupted, Stopped, Watch};

pub use checkpoints::{Checkpoints, WrittenUnits};
pub use phase::Phase;
pub use write::{OutputRequest, Writing};

use crate::duplicates::{
    DuplicateMarks, DuplicateMode, DuplicateOptions, DuplicationCounters, ResolveError, resolve_all,
};
use crate::finish::{
    Encoding, FinishError, FinishTrace, Finished, OutputIndex, StoredRecords, UnitPlan,
};
use crate::input::ReferenceSequences;
use crate::metrics::quality::{GatheredMetrics, GcWindows};
use crate::partition::redistribute::{self, NameSample, RedistributeError};
use crate::partition::{
    Backing, ChunkStore, Collected, EndCollector, PhaseResources, SavedStore, SortOrder,
    StoreScratch, TemplateNumbers, WriteOutError, write_out,
};
use crate::recalibrate::{Applier, StoredCounts};
use checkpoints::Written;

/// Records on which the pipeline works.
pub struct PipelineInput<'a> {
    /// The records, and read ends where duplicates are to be marked.
    pub collected: Collected<'a>,
    /// Memory and spilled data.
    pub backing: &'a Backing,
    /// Where each template is in the whole input.
    pub numbers: TemplateNumbers,
    /// A sample of names, for orders by name.
    pub names: &'a NameSample,
}

/// What the pipeline is to do.
pub struct PipelineRequest<'a> {
    /// Whose decisions on duplicates.
    pub duplicate_mode: DuplicateMode,
    /// How duplicates are found.
    pub duplicates: DuplicateOptions,
    /// What becomes of the records.
    pub output: OutputRequest<'a>,
}

/// What a command does in the course of the pipeline.
pub trait PipelineCallbacks {
    /// What can go wrong.
    type Error: From<SpillError>
        + From<ResolveError>
        + From<RedistributeError>
        + From<WriteOutError>
        + From<FinishError>
        + From<Stopped>;

    /// Progress and interrupts while a phase is on, with the records written.
    ///
    /// # Errors
    /// [`Interrupted`].
    fn watch(&self, phase: Phase, written_records: u64) -> Result<(), Interrupted>;

    /// A phase has ended.
    fn end_phase(&self, phase: Phase);

    /// Why duplicates are not resolved, in the command's words.
    fn unresolved(&self, error: ResolveError) -> Self::Error {
        error.into()
    }

    /// The bases of the reference, as far as recalibration, metrics or CRAM want them.
    ///
    /// # Errors
    /// When they cannot be read.
    fn reference(
        &self,
        records: &StoredRecords<'_>,
    ) -> Result<Arc<ReferenceSequences>, Self::Error>;

    /// What recalibration counts of all records; nothing where none is requested or a report is
    /// given.
    ///
    /// # Errors
    /// A record that cannot be counted.
    fn count(
        &self,
        records: &StoredRecords<'_>,
        reference: &ReferenceSequences,
    ) -> Result<Option<StoredCounts>, Self::Error>;

    /// What changes the qualities of records, if anything does.
    ///
    /// # Errors
    /// Counts that are of no use; a report that cannot be written.
    fn applier(
        &self,
        counts: Option<&StoredCounts>,
        backing: &Backing,
    ) -> Result<Option<Applier>, Self::Error>;

    /// The bases, if metrics compare records with them.
    fn compared(&self, reference: Arc<ReferenceSequences>) -> Option<Arc<ReferenceSequences>>;

    /// Begins the outputs; gives what makes the index, if one is requested, and numbers containers.
    ///
    /// # Errors
    /// When the header cannot be written.
    fn begin(&self, outputs: &mut [Output]) -> Result<Option<OutputIndex>, Self::Error>;
}

/// What the pipeline has made.
pub struct PipelineOutput {
    /// What was written.
    pub finished: Finished,
    /// What makes the index, if one is requested, and numbers containers.
    pub index: Option<OutputIndex>,
    /// What was counted of duplicates, where they are marked.
    pub duplicates: Option<DuplicationCounters>,
    /// Metrics that were requested.
    pub metrics: GatheredMetrics,
    /// Windows of the reference, where GC bias is counted.
    pub gc_windows: Option<GcWindows>,
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
    let PipelineInput { collected, backing, numbers, names } = input;
    let Collected { placed, by_ordinal, unplaced_with_position, ends } = collected;
    let mut pipeline = Pipeline { request, command, kept, backing, numbers };
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
    let reference = command.reference(&records)?;
    let applier = pipeline.recalibrate(&records, &reference)?;
    let is_cram = matches!(request.output.encoding, Encoding::Cram(_));
    let referred = is_cram.then(|| reference.clone());
    let compared = command.compared(reference);
    command.end_phase(Phase::Recalibrate);

    let bases = Bases { compared: compared.as_deref(), referred: referred.as_deref() };
    let prepared = pipeline.write(&records, (applier.as_ref(), bases), outputs, trace)?;
    Ok(PipelineOutput { duplicates: resolved.map(|(_, counters)| counters), ..prepared })
}

/// Bases of the reference that writing wants.
#[derive(Clone, Copy)]
struct Bases<'a> {
    /// For metrics.
    compared: Option<&'a ReferenceSequences>,
    /// For CRAM.
    referred: Option<&'a ReferenceSequences>,
}

/// What the phases share.
struct Pipeline<'a, 'r, C, K> {
    request: &'r PipelineRequest<'r>,
    command: &'r C,
    kept: Option<&'r mut K>,
    backing: &'a Backing,
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
        let watch = || command.watch(Phase::Resolve, 0);
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
        let watch = || command.watch(Phase::Redistribute, 0);
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

    /// What changes the qualities of records, if anything does.
    fn recalibrate(
        &mut self,
        records: &StoredRecords<'_>,
        reference: &ReferenceSequences,
    ) -> Result<Option<Applier>, C::Error> {
        let mut counts = self.load::<StoredCounts>(Phase::Recalibrate)?;
        if counts.is_none() {
            counts = self.command.count(records, reference)?;
            if let Some(counts) = &counts {
                self.save(Phase::Recalibrate, || counts.to_state())?;
            }
        }
        self.command.applier(counts.as_ref(), self.backing)
    }

    /// Writes all records, from where a run before this one has ended.
    fn write(
        &mut self,
        records: &StoredRecords<'_>,
        (applier, bases): (Option<&Applier>, Bases<'_>),
        outputs: &mut [Output],
        trace: &FinishTrace,
    ) -> Result<PipelineOutput, C::Error> {
        let (command, request) = (self.command, &self.request.output);
        // Relaxed: a count to be shown.
        let watch = || command.watch(Phase::Finish, trace.records.load(Ordering::Relaxed));
        let Bases { compared, referred } = bases;
        let mut writing = Writing::new(request, records, (applier, compared), trace, &watch)
            .referring_to(referred);
        let before: Option<(Written, GatheredMetrics)> =
            self.kept.as_ref().map(|kept| kept.written()).transpose()?.flatten();
        let mut written = match before {
            Some((written, counted)) => {
                writing = writing.continued_at(written.units, &counted);
                written
            }
            None => {
                let index = command.begin(outputs)?;
                let references = request.header.references().len();
                Written { units: 0, finished: Finished::new(references), index }
            }
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
        let counted = compared.filter(|_| request.metrics.gc_bias);
        let gc_windows = counted.map(|it| GcWindows::count(it, request.threads)).transpose()?;
        let Written { finished, index, .. } = written;
        Ok(PipelineOutput { finished, index, duplicates: None, metrics, gc_windows })
    }
}

/// Whether records that have no place on the reference are sorted by name.
#[must_use]
pub fn needs_names(order: SortOrder) -> bool {
    order.is_by_name() || order == SortOrder::CoordinatePicard
}
