//! The sorted flow: ingest to partitions, then the pipeline of preparation.

use std::sync::atomic::Ordering;

use seqloom_align::ingest::{self, Aligner, IngestTotals, Ingested};
use seqloom_io::Output;
use seqloom_io::reads::InputBlock;
use seqloom_io::spill::SpillFile;
use seqloom_prep::duplicates::LibraryTable;
use seqloom_prep::partition::{
    Backing, Collector, Destination, EndCollector, Grouping, NameSample, Numbering, SortOrder,
    TemplateNumbers,
};
use seqloom_prep::pipeline::{
    OutputRequest, Phase, PipelineCallbacks, PipelineInput, PipelineRequest, ReferenceRequest,
    ReferenceSource,
};
use seqloom_prep::steps::Steps;
use seqloom_runtime::memory::Ledger;
use seqloom_runtime::pool::Interrupted;

use super::job::Job;
use super::outcomes::Judged;
use super::sinks::SortedSink;
use super::summary::ingest_stages;
use crate::output::pipeline::PipelineRun;
use crate::output::progress::{PhaseWeight, weighted};
use crate::output::resume::RunCheckpoints;
use crate::output::summary::Summary;
use crate::recalibration::Recalibration;

/// Weights of phases: shares of the wall time of 100,000 pairs 2x150 with 2 threads, level 6.
const PHASES: &[PhaseWeight] = &weighted([80.0, 1.0, 0.0, 0.0, 19.0]);
/// Weights with recalibration.
const RECALIBRATED: &[PhaseWeight] = &weighted([70.0, 1.0, 0.0, 8.0, 21.0]);

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
    let libraries = job.libraries()?;
    let collector = collector(job, &backing, &libraries);

    // Ingest.
    job.run.plan_phases(if job.arguments.recalibration.counts() { RECALIBRATED } else { PHASES });
    let Ingested { totals, lane_templates } = ingest_lanes(&aligner, job, first, &collector)?;
    let numbers = TemplateNumbers::new(&lane_templates);
    job.run.expect_records(totals.records);

    // The engine's memory is free for what follows.
    drop(aligner);
    backing.ledger.grow(job.plan.freed_bytes);

    let input = PipelineInput {
        collected: collector.into_collected(),
        backing: &backing,
        records: totals.records,
        numbers,
        names: &NameSample::default(),
    };
    let pipeline = PipelineRun {
        files: &job.output,
        libraries: &libraries,
        stages: ingest_stages(&job.trace),
        console: job.run.console,
    };
    let late = Steps::new();
    let command = (&AlignCallbacks { job }, None::<&mut RunCheckpoints>);
    let summary = pipeline.run(input, &request(job, &late), command, outputs)?;
    Ok((totals, summary))
}

/// Options of the pipeline. The bases take memory that the index has left.
fn request<'a>(job: &'a Job<'_>, late: &'a Steps) -> PipelineRequest<'a> {
    let Job { arguments, header, finish, .. } = job;
    let (duplicates, threads) = (&arguments.duplicates, job.run.computing_threads());
    let bytes = arguments.output.finish_bytes(finish.uses, header.references(), threads);
    let source = ReferenceSource::Fasta { path: arguments.fasta(), bytes };
    PipelineRequest {
        duplicate_mode: duplicates.duplicate_mode.into(),
        duplicates: duplicates.options(),
        output: OutputRequest {
            header,
            threads,
            order: SortOrder::Coordinate,
            encoding: job.output.encoding(),
            remove_duplicates: duplicates.remove_duplicates,
            tagging: None,
            writes_families: duplicates.barcodes.umi_distance().is_some(),
            late,
            metrics: finish.metrics,
            reference: ReferenceRequest { uses: finish.uses, source },
            recalibration: finish.recalibration.as_ref().map(Recalibration::request),
        },
    }
}

/// The command in the course of the pipeline.
struct AlignCallbacks<'a, 'j> {
    job: &'a Job<'j>,
}

impl PipelineCallbacks for AlignCallbacks<'_, '_> {
    type Error = seqloom_terminal::Error;

    fn watch(&self, phase: Phase, records: u64) -> Result<(), Interrupted> {
        self.job.watch(phase.name(), records)
    }

    fn end_phase(&self, phase: Phase) {
        self.job.run.end_phase(phase.name());
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
    let watch = || job.watch(Phase::Ingest.name(), job.trace.records.load(Ordering::Relaxed));
    let sinks: Vec<_> = (0..job.lanes.len()).map(|lane| SortedSink::new(collector, lane)).collect();
    let outcomes = job.outcomes.as_ref();
    let judged: Vec<_> = sinks.iter().map(|sink| Judged { sink, outcomes }).collect();
    let lanes = job.lane_inputs(first, &judged);
    let ingested = ingest::run(lanes, aligner, &job.ingest, &job.trace, &watch)?;
    job.run.end_phase(Phase::Ingest.name());
    Ok(ingested)
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
