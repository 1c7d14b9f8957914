//! The flow: ingest to partitions, then the pipeline. Each phase is passed over where a run before
//! this one has kept what it made.

use std::sync::atomic::Ordering;

use seqloom_format::{Persist, persist_fields};
use seqloom_io::Output;
use seqloom_io::spill::SpillFile;
use seqloom_prep::duplicates::{DuplicateMode, DuplicateOptions, LibraryTable, ResolveError};
use seqloom_prep::input::TemplateNames;
use seqloom_prep::input::ingest::{self, IngestOptions, IngestTotals, IngestTrace};
use seqloom_prep::partition::{
    Backing, Collected, Collector, Destination, EndCollector, Grouping, NameSample,
    SavedCollection, write_out,
};
use seqloom_prep::pipeline::{
    Checkpoints, OutputRequest, Phase, PipelineCallbacks, PipelineInput, PipelineRequest,
    ReferenceRequest, ReferenceSource, needs_names,
};
use seqloom_report::run::ThreadSeconds;
use seqloom_runtime::memory::Ledger;
use seqloom_runtime::pool::Interrupted;

use super::arguments::DuplicateTags;
use super::job::Job;
use super::summary::ingest_stages;
use crate::output::pipeline::PipelineRun;
use crate::output::progress::{PhaseWeight, weighted};
use crate::output::resume::RunCheckpoints;
use crate::output::summary::Summary;
use crate::recalibration::Recalibration;

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn run(
    job: &Job<'_>,
    output: &mut Output,
    checkpoints: &mut Option<&mut RunCheckpoints>,
) -> seqloom_terminal::Result<(IngestTotals, Summary)> {
    let spill = match checkpoints {
        Some(checkpoints) => checkpoints.spill()?,
        None => SpillFile::create(&job.arguments.run.spill_folders(job.output.path()))?,
    };
    let backing = Backing { ledger: Ledger::new(job.plan.store_bytes), spill };
    let libraries = LibraryTable::new(&job.header)?;
    let trace = IngestTrace::default();

    job.run.plan_phases(phases(job));
    let saved = match checkpoints {
        Some(checkpoints) => checkpoints.load::<Ingested>(Phase::Ingest, &backing)?,
        None => None,
    };
    let (names, saved) = match saved {
        Some(Ingested { collection, names, totals }) => (names, Some((collection, totals))),
        None => (NameSample::default(), None),
    };
    let collector = collector(job, &backing, &libraries, &names);
    let (mut collected, totals) = match (saved, checkpoints.as_deref()) {
        (Some((saved, totals)), Some(checkpoints)) => {
            (restored(collector, saved, checkpoints)?, totals)
        }
        _ => collect(job, checkpoints, (&backing, collector), &names, &trace)?,
    };
    job.run.end_phase(Phase::Ingest.name());
    job.run.expect_records(totals.records);
    if !totals.unsorted.is_empty() {
        // As Picard would mark the sorted file.
        collected.ends = collected.ends.map(EndCollector::by_place);
    }

    let input = PipelineInput {
        collected,
        backing: &backing,
        records: totals.records,
        numbers: totals.templates.into(),
        names: &names,
    };
    let pipeline = PipelineRun {
        files: &job.output,
        libraries: &libraries,
        stages: ingest_stages(&trace),
        console: job.run.console,
    };
    let command = (&PrepCallbacks { job }, checkpoints.as_deref_mut());
    let outputs = std::slice::from_mut(output);
    let mut summary = pipeline.run(input, &request(job), command, outputs)?;
    summary.thread_seconds = ThreadSeconds::of(Phase::Ingest.name(), &trace.threads);
    Ok((totals, summary))
}

/// State of ingest, as checkpoints keep it.
struct Ingested {
    collection: SavedCollection,
    names: NameSample,
    totals: IngestTotals,
}

persist_fields!(Ingested { collection, names, totals });

/// What this run has to do. Weights are shares of the wall time of 1,000,000 records with 2
/// threads, level 6.
fn phases(job: &Job<'_>) -> &'static [PhaseWeight] {
    match (needs_names(job.arguments.sort), job.arguments.recalibration.counts()) {
        (false, false) => const { &weighted([25.0, 5.0, 0.0, 0.0, 70.0]) },
        (true, false) => const { &weighted([25.0, 5.0, 10.0, 0.0, 60.0]) },
        (false, true) => const { &weighted([20.0, 4.0, 0.0, 30.0, 46.0]) },
        (true, true) => const { &weighted([20.0, 4.0, 8.0, 28.0, 40.0]) },
    }
}

/// Options of the pipeline.
fn request<'a>(job: &'a Job<'_>) -> PipelineRequest<'a> {
    let duplicates = &job.arguments.duplicates;
    PipelineRequest {
        duplicate_mode: mark_mode(job),
        duplicates: duplicate_options(job),
        output: OutputRequest {
            header: &job.header,
            threads: job.run.threads,
            order: job.arguments.sort,
            encoding: job.output.encoding(),
            remove_duplicates: duplicates.remove_duplicates,
            tagging: Some(duplicates.tag_duplicates.into()),
            writes_families: duplicates.barcodes.umi_distance().is_some(),
            late: &job.late,
            metrics: job.metrics,
            reference: ReferenceRequest {
                uses: job.uses,
                source: ReferenceSource::Loaded(job.reference.clone()),
            },
            recalibration: job.recalibration.as_ref().map(Recalibration::request),
        },
    }
}

/// All input to partitions.
fn collect<'a>(
    job: &Job<'_>,
    checkpoints: &mut Option<&mut RunCheckpoints>,
    (backing, collector): (&'a Backing, Collector<'a>),
    names: &NameSample,
    trace: &IngestTrace,
) -> seqloom_terminal::Result<(Collected<'a>, IngestTotals)> {
    // Relaxed: a count to be shown.
    let watch = || job.watch(Phase::Ingest.name(), trace.records.load(Ordering::Relaxed));
    let together = (job.grouping == Grouping::Templates)
        .then(|| TemplateNames::new(backing, job.plan.chunk_bytes as usize));
    let options = IngestOptions {
        threads: job.run.threads,
        grouping: job.grouping,
        claim: job.claim,
        names: together.as_ref(),
        steps: &job.steps,
    };
    let totals = ingest::run(&job.source, &collector, &options, trace, &watch)?;
    job.missing.check()?;
    let collected = collector.into_collected();
    if let Some(checkpoints) = checkpoints {
        let watch = || job.watch(Phase::Ingest.name(), totals.records);
        write_out(&collected.stores(), job.run.threads, &watch)?;
        let mut state = collected.saved().to_state();
        names.save(&mut state);
        totals.save(&mut state);
        checkpoints.save(Phase::Ingest, &state, backing)?;
    }
    Ok((collected, totals))
}

/// The partitions that a run before has filled.
fn restored<'a>(
    collector: Collector<'a>,
    saved: SavedCollection,
    checkpoints: &RunCheckpoints,
) -> seqloom_terminal::Result<Collected<'a>> {
    let collected = collector.into_collected();
    collected.restore(saved).map_err(|error| checkpoints.damaged(error))?;
    Ok(collected)
}

/// The command in the course of the pipeline.
struct PrepCallbacks<'a, 'j> {
    job: &'a Job<'j>,
}

impl PipelineCallbacks for PrepCallbacks<'_, '_> {
    type Error = seqloom_terminal::Error;

    fn watch(&self, phase: Phase, records: u64) -> Result<(), Interrupted> {
        self.job.watch(phase.name(), records)
    }

    fn end_phase(&self, phase: Phase) {
        self.job.run.end_phase(phase.name());
    }

    /// Says whose records an error means by their numbers, which run on over all inputs.
    fn unresolved(&self, error: ResolveError) -> seqloom_terminal::Error {
        let is_about_records = matches!(error, ResolveError::Name(_));
        let error = seqloom_terminal::Error::from(error);
        if is_about_records { error.context(self.job.inputs()) } else { error }
    }
}

fn duplicate_options(job: &Job<'_>) -> DuplicateOptions {
    DuplicateOptions {
        optical_distance_px: job.arguments.duplicates.optical_distance.0,
        umi_distance: job.arguments.duplicates.barcodes.umi_distance(),
        writes_optical: job.arguments.duplicates.tag_duplicates != DuplicateTags::None,
        ..DuplicateOptions::default()
    }
}

/// Where every record counts as a template, its mark is its own: one bit for each is enough.
fn mark_mode(job: &Job<'_>) -> DuplicateMode {
    match job.grouping {
        Grouping::Records => DuplicateMode::Query,
        Grouping::Templates => job.marks.unwrap_or_default(),
    }
}

fn collector<'a>(
    job: &'a Job<'_>,
    backing: &'a Backing,
    libraries: &'a LibraryTable,
    names: &'a NameSample,
) -> Collector<'a> {
    let chunk_bytes = job.plan.chunk_bytes as usize;
    let ends = job.marks.map(|mode| {
        let options = job.arguments.duplicates.read_ends(mode);
        let ends = EndCollector::new(backing, chunk_bytes, job.grouping, libraries, options);
        if job.arguments.inputs.len() > 1 { ends.by_place() } else { ends }
    });
    let order = job.arguments.sort;
    let names = needs_names(order).then_some(names);
    Collector::new(backing, chunk_bytes, Destination { order, bins: &job.bins, names }, ends)
}
