//! The flow: ingest to partitions, resolve duplicates, finish partitions in order.

use std::sync::atomic::Ordering;

use seqloom_io::sink::output::Output;
use seqloom_io::spill::SpillFile;
use seqloom_prep::collect::{Collected, Collector, Destination, EndCollector, Grouping};
use seqloom_prep::duplicates::{
    DuplicateMarks, DuplicateMode, DuplicateOptions, LibraryTable, ResolveError, resolve_all,
};
use seqloom_prep::finish::{self, FinishOptions, FinishTrace};
use seqloom_prep::ingest::{self, IngestOptions, IngestTotals, IngestTrace};
use seqloom_prep::last_changes::LastChanges;
use seqloom_prep::metrics::DuplicationCounters;
use seqloom_prep::order::SortOrder;
use seqloom_prep::quality_metrics::MetricsVisitors;
use seqloom_prep::read_end::ReadEndOptions;
use seqloom_prep::redistribute::{self, NameSample};
use seqloom_prep::store::{Backing, ChunkStore};
use seqloom_runtime::memory::Ledger;

use super::arguments::DuplicateTags;
use super::job::Job;
use super::summary::{Counted, Summary};
use crate::output::plan::Duplicates;

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn prepare(job: &Job<'_>, output: &mut Output) -> anyhow::Result<Summary> {
    let backing = Backing {
        ledger: Ledger::new(job.plan.store_bytes),
        spill: SpillFile::create(&job.arguments.run.spill_folders(job.output.path()))?,
    };
    let libraries = LibraryTable::new(&job.header)?;
    let names = NameSample::default();
    let collector = collector(job, &backing, &libraries, &names);

    // Ingest.
    let trace = IngestTrace::default();
    let watch = || job.watch("read", trace.records.load(Ordering::Relaxed));
    let options = IngestOptions {
        threads: job.run.threads,
        grouping: job.grouping,
        must_be_sorted: job.claims_sorted,
        steps: &job.steps,
    };
    let totals = ingest::run(&job.source, &collector, &options, &trace, &watch)?;
    job.run.end_phase("ingest");

    // Resolve.
    let Collected { placed, unplaced, stray, ends } = collector.into_collected();
    let resolved = ends.map(|ends| resolve(job, ends, &totals, &backing)).transpose()?;
    job.run.end_phase("resolve");

    // Orders by name: the names are known now.
    let unplaced = redistribute(job, unplaced, &names, &totals, &backing)?;
    job.run.end_phase("redistribute");

    // Recalibrate.
    let marks = resolved.as_ref().map(|(marks, _)| marks);
    let stores = [&placed, &unplaced, &stray];
    let applier = match &job.recalibration {
        Some(asked) => asked.run(&job.header, &job.reference, (&stores, marks), &job.run)?,
        None => None,
    };
    job.run.end_phase("recalibrate");

    // Finish.
    let finish_trace = FinishTrace::default();
    let watch = || job.watch("write", finish_trace.records.load(Ordering::Relaxed));
    let references = job.header.references();
    job.output.write_header(&job.header, output)?;
    let mut index = job.output.index_builder(references.len());
    let tagging = job.arguments.duplicates.tag_duplicates.into();
    let changes = LastChanges {
        duplicates: marks.map(|marks| (marks, tagging)),
        recalibration: applier.as_ref(),
        late: &job.late,
    };
    let reference = job.arguments.changes.reference.is_some().then_some(&*job.reference);
    let metrics = MetricsVisitors::new(job.metrics, reference);
    let options = FinishOptions {
        threads: job.run.threads,
        order: job.arguments.sort,
        encoding: job.output.encoding(),
        references,
        marks,
        editor: (!changes.is_empty()).then_some(&changes),
        observer: (!job.metrics.is_empty()).then_some(&metrics),
        remove_duplicates: job.arguments.duplicates.remove_duplicates,
        watch: &watch,
    };
    let finished = finish::run(&stores, &backing, &options, output, index.as_mut(), &finish_trace)?;
    let index = job.output.close(index, output)?;
    job.run.end_phase("finish");
    let duplicates = resolved.map(|(_, counters)| Duplicates {
        rows: counters.metrics(&libraries),
        histogram: counters.histogram,
    });
    let counted = Counted { duplicates, metrics: metrics.into_metrics() };
    Ok(Summary::new((totals, &trace), (finished, &finish_trace), counted, index, &backing))
}

/// Which records are duplicates, and what was counted of them.
fn resolve(
    job: &Job<'_>,
    ends: EndCollector<'_>,
    totals: &IngestTotals,
    backing: &Backing,
) -> anyhow::Result<(DuplicateMarks, DuplicationCounters)> {
    let watch = || job.watch("duplicates", totals.records);
    let (options, mode, threads) = (duplicate_options(job), mark_mode(job), job.run.threads);
    resolve_all(ends, totals.templates, mode, &options, backing, threads, &watch)
        .map_err(|error| name_inputs(error, job))
}

/// Moves records that are sorted by name to where they will be sorted.
fn redistribute<'a>(
    job: &Job<'_>,
    unplaced: ChunkStore<'a>,
    names: &NameSample,
    totals: &IngestTotals,
    backing: &'a Backing,
) -> anyhow::Result<ChunkStore<'a>> {
    let order = job.arguments.sort;
    if !needs_names(order) {
        return Ok(unplaced);
    }
    let watch = || job.watch("sort", totals.records);
    Ok(redistribute::by_name(unplaced, names, order, backing, job.run.threads, &watch)?)
}

/// Says whose records an error means by their numbers, which run on over all inputs.
fn name_inputs(error: ResolveError, job: &Job<'_>) -> anyhow::Error {
    let is_about_records = matches!(error, ResolveError::Name(_));
    let error = anyhow::Error::from(error);
    if is_about_records { error.context(job.inputs()) } else { error }
}

/// Whether records that have no place on the reference are sorted by name.
fn needs_names(order: SortOrder) -> bool {
    order.is_by_name() || order == SortOrder::CoordinatePicard
}

fn duplicate_options(job: &Job<'_>) -> DuplicateOptions {
    DuplicateOptions {
        optical_distance_px: job.arguments.duplicates.optical_distance.0,
        tells_optical: job.arguments.duplicates.tag_duplicates != DuplicateTags::None,
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
        let locate = job.arguments.duplicates.optical_distance.0.is_some();
        let options =
            ReadEndOptions { mode, locate, barcodes: job.arguments.duplicates.barcodes() };
        let ends = EndCollector::new(backing, chunk_bytes, job.grouping, libraries, options);
        if job.arguments.inputs.len() > 1 { ends.for_merging() } else { ends }
    });
    let order = job.arguments.sort;
    let names = needs_names(order).then_some(names);
    Collector::new(backing, chunk_bytes, Destination { order, bins: &job.bins, names }, ends)
}
