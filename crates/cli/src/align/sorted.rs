//! The sorted flow: ingest to partitions, resolve duplicates, finish partitions in order.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use seqloom_align::engine::AlignmentEngine;
use seqloom_align::ingest::{self, IngestTotals, Ingested};
use seqloom_io::sink::output::Output;
use seqloom_io::source::InputBlock;
use seqloom_io::spill::SpillFile;
use seqloom_prep::duplicates::{DuplicateMarks, LibraryTable, resolve_all};
use seqloom_prep::finish::{
    self, FinishOptions, FinishTrace, OutputTransform, StoredRecords, UnitPlan,
};
use seqloom_prep::input::ReferenceSequences;
use seqloom_prep::metrics::quality::{GcWindows, MetricsVisitors, ReadGroupNames};
use seqloom_prep::partition::{
    Backing, ChunkStore, Collected, Collector, Destination, EndCollector, Grouping, Numbering,
    PhaseResources, SortOrder, StoreScratch, TemplateNumbers, redistribute,
};
use seqloom_prep::recalibrate::Applier;
use seqloom_prep::steps::Steps;
use seqloom_runtime::memory::Ledger;

use super::job::Job;
use super::outcomes::Judged;
use super::sinks::SortedSink;
use super::summary::ingest_stages;
use crate::output::progress::Phase;
use crate::output::summary::{Duplicates, Summary};
use crate::recalibration::{load_reference, reference_bytes};

/// Weights of phases: shares of the wall time of 100,000 pairs 2x150 with 2 threads, level 6.
const PHASES: [Phase; 3] = [("align", 80.0), ("duplicates", 1.0), ("write", 19.0)];
/// The same, with recalibration.
const RECALIBRATED: [Phase; 4] =
    [("align", 70.0), ("duplicates", 1.0), ("recalibrate", 8.0), ("write", 21.0)];

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn align<E: AlignmentEngine>(
    engine: E,
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
    let Ingested { totals, lane_templates } = ingest_lanes(&engine, job, first, &collector)?;
    let numbers = TemplateNumbers::new(&lane_templates);
    job.run.expect_records(totals.records);

    // The engine's memory is free for what follows.
    drop(engine);
    backing.ledger.grow(job.plan.freed_bytes);

    // Resolve.
    let Collected { placed, no_coordinate, no_reference, ends } = collector.into_collected();
    let options = job.arguments.duplicates.options();
    let mode = job.arguments.duplicates.duplicate_mode.into();
    let watch = || job.watch("duplicates", totals.records);
    let threads = job.run.computing_threads();
    let resources = PhaseResources { backing: &backing, threads, watch: &watch };
    let no_coordinate = in_one_order(no_coordinate, &numbers, &resources)?;
    if options.umi_distance.is_some() {
        let bytes = DuplicateMarks::families_bytes(totals.templates);
        placed.spill_for(bytes, &mut StoreScratch::new()?)?;
    }
    let resolved =
        ends.map(|ends| resolve_all(ends, numbers, mode, &options, &resources)).transpose()?;
    job.run.end_phase("resolve");

    // Recalibrate.
    let stores = [&placed, &no_coordinate, &no_reference];
    let marks = resolved.as_ref().map(|(marks, _)| marks);
    let records = StoredRecords { stores: &stores, backing: &backing, marks };
    let mut bases = reference(job, &records)?;
    let applier = recalibrate(job, &bases, &records)?;
    if !job.late.compares && job.arguments.recalibration.counts() {
        bases = Arc::default();
        backing.ledger.release(reference_bytes(job.header.references()));
    }
    job.run.end_phase("recalibrate");

    // Finish.
    let compared = job.late.compares.then_some(&*bases);
    let summary = finish(job, &records, applier.as_ref(), compared, outputs)?;
    let duplicates = resolved.map(|(_, counters)| Duplicates::new(counters, &libraries));
    Ok((totals, Summary { duplicates, ..summary }))
}

/// All lanes to partitions, side by side.
pub(crate) fn ingest_lanes<E: AlignmentEngine>(
    engine: &E,
    job: &Job<'_>,
    first: Vec<Vec<InputBlock>>,
    collector: &Collector<'_>,
) -> seqloom_terminal::Result<Ingested> {
    let watch = || job.watch("align", job.trace.records.load(Ordering::Relaxed));
    let sinks: Vec<_> = (0..job.lanes.len()).map(|lane| SortedSink::new(collector, lane)).collect();
    let outcomes = job.outcomes.as_ref();
    let judged: Vec<_> = sinks.iter().map(|sink| Judged { sink, outcomes }).collect();
    let lanes = job.lane_inputs(first, &judged);
    let ingested = ingest::run(lanes, engine, &job.ingest, &job.trace, &watch)?;
    job.run.end_phase("ingest");
    Ok(ingested)
}

/// Records without a coordinate where they lie in the whole input, of however many lanes.
fn in_one_order<'a>(
    no_coordinate: ChunkStore<'a>,
    numbers: &TemplateNumbers,
    resources: &PhaseResources<'a, '_>,
) -> seqloom_terminal::Result<ChunkStore<'a>> {
    Ok(match numbers.lanes() {
        1 => no_coordinate,
        _ => redistribute::by_number(no_coordinate, numbers, resources)?,
    })
}

/// The bases of the reference, where records are compared with it; they take memory that the index
/// has left.
fn reference(
    job: &Job<'_>,
    records: &StoredRecords<'_>,
) -> seqloom_terminal::Result<Arc<ReferenceSequences>> {
    if !job.late.compares && !job.arguments.recalibration.counts() {
        return Ok(Arc::default());
    }
    let references = job.header.references();
    let bytes = reference_bytes(references);
    if let Some(placed) = records.stores.first() {
        placed.spill_for(bytes, &mut StoreScratch::new()?)?;
    }
    records.backing.ledger.charge(bytes);
    load_reference(job.arguments.fasta(), references)
}

/// Counts covariates and gives what applies them, if recalibration is asked for.
fn recalibrate(
    job: &Job<'_>,
    reference: &ReferenceSequences,
    records: &StoredRecords<'_>,
) -> seqloom_terminal::Result<Option<Applier>> {
    let Some(asked) = &job.late.recalibration else { return Ok(None) };
    let counts = asked.count(&job.header, reference, records, &job.run)?;
    asked.applier(&job.header, (counts.as_ref(), records.backing), job.run.console)
}

/// Writes all records; they are compared with the bases of the reference, if these are given.
fn finish(
    job: &Job<'_>,
    records: &StoredRecords<'_>,
    applier: Option<&Applier>,
    compared: Option<&ReferenceSequences>,
    outputs: &mut [Output],
) -> seqloom_terminal::Result<Summary> {
    let (trace, late) = (FinishTrace::default(), Steps::new());
    let watch = || job.watch("write", trace.records.load(Ordering::Relaxed));
    let (threads, references) = (job.run.computing_threads(), job.header.references());
    let tells_families = job.arguments.duplicates.barcodes.umi_distance().is_some();
    let families = records.marks.filter(|_| tells_families);
    let changes =
        OutputTransform { duplicates: None, families, recalibration: applier, late: &late };
    job.output.write_header(&job.header, outputs)?;
    let mut index = job.output.index_builder(references.len());
    let plan = UnitPlan::new(records.stores);
    let names = ReadGroupNames::of(&job.header);
    let asked = job.late.metrics;
    let metrics = MetricsVisitors::new(asked, compared).with_read_groups(names.clone());
    let options = FinishOptions {
        threads,
        order: SortOrder::Coordinate,
        encoding: job.output.encoding(),
        references,
        remove_duplicates: job.arguments.duplicates.remove_duplicates,
        editor: (!changes.is_empty()).then_some(&changes),
        observer: (!asked.is_empty()).then_some(&metrics),
        trace: &trace,
        watch: &watch,
    };
    let finished = finish::run(records, plan.all(), &options, outputs, index.as_mut())?;
    let index = job.output.close(index, outputs)?;
    job.run.end_phase("finish");
    let gc_windows = compared.filter(|_| asked.gc_bias);
    let gc_windows = gc_windows.map(|bases| GcWindows::count(bases, threads)).transpose()?;
    let sorted = Summary::sorted(ingest_stages(&job.trace), (finished, &trace), records.backing);
    let read_groups = names.ids().collect();
    Ok(Summary { metrics: metrics.into_metrics(), read_groups, gc_windows, index, ..sorted })
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
