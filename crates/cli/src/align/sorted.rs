//! The sorted flow: ingest to partitions, then the pipeline of preparation.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use seqloom_align::ingest::{self, Aligner, IngestTotals, Ingested};
use seqloom_io::Output;
use seqloom_io::reads::InputBlock;
use seqloom_io::spill::SpillFile;
use seqloom_prep::duplicates::LibraryTable;
use seqloom_prep::finish::{FinishTrace, OutputIndex, StoredRecords};
use seqloom_prep::input::ReferenceSequences;
use seqloom_prep::metrics::ReadGroupNames;
use seqloom_prep::partition::{
    Backing, Collector, Destination, EndCollector, Grouping, NameSample, Numbering, SortOrder,
    StoreScratch, TemplateNumbers,
};
use seqloom_prep::pipeline::{
    self, OutputRequest, Phase, PipelineCallbacks, PipelineInput, PipelineOutput, PipelineRequest,
};
use seqloom_prep::recalibrate::{Applier, StoredCounts};
use seqloom_prep::steps::Steps;
use seqloom_runtime::memory::Ledger;
use seqloom_runtime::pool::Interrupted;

use super::job::Job;
use super::outcomes::Judged;
use super::sinks::SortedSink;
use super::summary::ingest_stages;
use crate::output::progress;
use crate::output::reference::reference_bytes;
use crate::output::resume::Kept;
use crate::output::summary::{Duplicates, Summary};

/// Weights of phases: shares of the wall time of 100,000 pairs 2x150 with 2 threads, level 6.
const PHASES: [progress::Phase; 3] = [("align", 80.0), ("duplicates", 1.0), ("write", 19.0)];
/// The same, with recalibration.
const RECALIBRATED: [progress::Phase; 4] =
    [("align", 70.0), ("duplicates", 1.0), ("recalibrate", 8.0), ("write", 21.0)];

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn align<A: Aligner>(
    aligner: A,
    job: &Job<'_>,
    first: Vec<Vec<InputBlock>>,
    outputs: &mut [Output],
) -> seqloom_terminal::Result<(IngestTotals, Summary)> {
    let backing = Backing {
        ledger: Ledger::new(job.plan.store_bytes),
        spill: SpillFile::create(&job.spill_folders())?,
    };
    let libraries = library_table(job)?;
    let collector = collector(job, &backing, &libraries);

    // Ingest.
    job.run.plan_phases(if job.arguments.recalibration.counts() { &RECALIBRATED } else { &PHASES });
    let Ingested { totals, lane_templates } = ingest_lanes(&aligner, job, first, &collector)?;
    let numbers = TemplateNumbers::new(&lane_templates);
    job.run.expect_records(totals.records);

    // The engine's memory is free for what follows.
    drop(aligner);
    backing.ledger.grow(job.plan.freed_bytes);

    let input = PipelineInput {
        collected: collector.into_collected(),
        backing: &backing,
        numbers,
        names: &NameSample::default(),
    };
    let (late, trace) = (Steps::new(), FinishTrace::default());
    let aligned = Aligned { job, records: totals.records };
    let command = (&aligned, None::<&mut Kept>);
    let PipelineOutput { finished, index, duplicates, metrics, gc_windows } =
        pipeline::run(input, &request(job, &late), command, outputs, &trace)?;
    let index = job.output.close(index, outputs)?;
    job.run.end_phase(Phase::Finish.name());
    let duplicates = duplicates.map(|counters| Duplicates::new(counters, &libraries));
    let sorted = Summary::sorted(ingest_stages(&job.trace), (finished, &trace), &backing);
    let read_groups = ReadGroupNames::of(&job.header).ids().collect();
    Ok((totals, Summary { duplicates, metrics, read_groups, gc_windows, index, ..sorted }))
}

/// What the pipeline is to do.
fn request<'a>(job: &'a Job<'_>, late: &'a Steps) -> PipelineRequest<'a> {
    let duplicates = &job.arguments.duplicates;
    PipelineRequest {
        duplicate_mode: duplicates.duplicate_mode.into(),
        duplicates: duplicates.options(),
        output: OutputRequest {
            header: &job.header,
            threads: job.run.computing_threads(),
            order: SortOrder::Coordinate,
            encoding: job.output.encoding(),
            remove_duplicates: duplicates.remove_duplicates,
            tagging: None,
            writes_families: duplicates.barcodes.umi_distance().is_some(),
            late,
            metrics: job.finish.metrics,
        },
    }
}

/// The command in the course of the pipeline.
struct Aligned<'a, 'j> {
    job: &'a Job<'j>,
    /// Records of the input.
    records: u64,
}

impl PipelineCallbacks for Aligned<'_, '_> {
    type Error = seqloom_terminal::Error;

    fn watch(&self, phase: Phase, written_records: u64) -> Result<(), Interrupted> {
        match phase {
            Phase::Finish => self.job.watch("write", written_records),
            _ => self.job.watch("duplicates", self.records),
        }
    }

    fn end_phase(&self, phase: Phase) {
        // Lanes are put in order as a part of what comes next.
        if phase != Phase::Redistribute {
            self.job.run.end_phase(phase.name());
        }
    }

    /// The bases take memory that the index has left.
    fn reference(
        &self,
        records: &StoredRecords<'_>,
    ) -> seqloom_terminal::Result<Arc<ReferenceSequences>> {
        let job = self.job;
        let output = &job.arguments.output;
        let counts = job.arguments.recalibration.counts();
        if !job.finish.compares && !counts && !output.is_cram() {
            return Ok(Arc::default());
        }
        let references = job.header.references();
        let bytes = reference_bytes(references) + output.encoder_bytes(job.run.computing_threads());
        if let Some(placed) = records.stores.first() {
            placed.spill_for(bytes, &mut StoreScratch::new()?)?;
        }
        let charge = records.backing.ledger.charge(bytes);
        let bases = output.load_reference(job.arguments.fasta(), references)?;
        Ok(Arc::new(bases.charged(charge)))
    }

    fn count(
        &self,
        records: &StoredRecords<'_>,
        reference: &ReferenceSequences,
    ) -> seqloom_terminal::Result<Option<StoredCounts>> {
        let Some(requested) = &self.job.finish.recalibration else { return Ok(None) };
        requested.count(&self.job.header, reference, records, &self.job.run)
    }

    fn applier(
        &self,
        counts: Option<&StoredCounts>,
        backing: &Backing,
    ) -> seqloom_terminal::Result<Option<Applier>> {
        let Some(requested) = &self.job.finish.recalibration else { return Ok(None) };
        requested.applier(&self.job.header, (counts, backing), self.job.run.console)
    }

    fn compared(&self, reference: Arc<ReferenceSequences>) -> Option<Arc<ReferenceSequences>> {
        self.job.finish.compares.then_some(reference)
    }

    fn begin(&self, outputs: &mut [Output]) -> seqloom_terminal::Result<Option<OutputIndex>> {
        self.job.output.write_header(&self.job.header, outputs)?;
        Ok(self.job.output.index_builder(self.job.header.references().len()))
    }
}

/// All lanes to partitions, side by side.
pub(crate) fn ingest_lanes<A: Aligner>(
    aligner: &A,
    job: &Job<'_>,
    first: Vec<Vec<InputBlock>>,
    collector: &Collector<'_>,
) -> seqloom_terminal::Result<Ingested> {
    // Relaxed: a count to be shown.
    let watch = || job.watch("align", job.trace.records.load(Ordering::Relaxed));
    let sinks: Vec<_> = (0..job.lanes.len()).map(|lane| SortedSink::new(collector, lane)).collect();
    let outcomes = job.outcomes.as_ref();
    let judged: Vec<_> = sinks.iter().map(|sink| Judged { sink, outcomes }).collect();
    let lanes = job.lane_inputs(first, &judged);
    let ingested = ingest::run(lanes, aligner, &job.ingest, &job.trace, &watch)?;
    job.run.end_phase("ingest");
    Ok(ingested)
}

pub(crate) fn library_table(job: &Job<'_>) -> seqloom_terminal::Result<LibraryTable> {
    let table = LibraryTable::new(&job.header)?;
    let all_alike = job.lanes.len() == 1 && job.tags_records();
    Ok(if all_alike { table.every_record_has_the_only_read_group() } else { table })
}

pub(crate) fn collector<'a>(
    job: &'a Job<'_>,
    backing: &'a Backing,
    libraries: &'a LibraryTable,
) -> Collector<'a> {
    let chunk_bytes = job.plan.chunk_bytes as usize;
    let ends = job.marks_duplicates().then(|| {
        let options = job.arguments.duplicates.read_ends();
        EndCollector::new(backing, chunk_bytes, Grouping::Templates, libraries, options)
    });
    let destination = Destination::by_coordinate(&job.bins);
    let numbering = Numbering::of_lanes(job.lanes.len());
    Collector::new(backing, chunk_bytes, destination, ends).numbered(numbering)
}
