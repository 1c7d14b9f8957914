//! The flow: ingest to partitions, resolve duplicates, finish partitions in order.

use std::sync::atomic::Ordering;

use seqloom_io::sink::output::Output;
use seqloom_io::spill::SpillFile;
use seqloom_prep::collect::{Collector, EndCollector, Grouping};
use seqloom_prep::duplicates::{DuplicateMode, DuplicateOptions, LibraryTable, resolve_all};
use seqloom_prep::finish::{self, FinishOptions, FinishTrace};
use seqloom_prep::ingest::{self, IngestOptions, IngestTrace};
use seqloom_prep::read_end::ReadEndOptions;
use seqloom_prep::store::Backing;
use seqloom_runtime::memory::Ledger;

use super::job::Job;
use super::summary::Summary;
use crate::output::plan::Duplicates;

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn prepare(job: &Job<'_>, output: &mut Output) -> anyhow::Result<Summary> {
    let backing = Backing {
        ledger: Ledger::new(job.plan.store_bytes),
        spill: SpillFile::create(&job.arguments.run.spill_folders(job.output.path()))?,
    };
    let libraries = LibraryTable::new(&job.header)?;
    let collector = collector(job, &backing, &libraries);

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
    let (placed, unplaced, ends) = collector.into_parts();
    let watch = || job.watch("duplicates", totals.records);
    let resolved = ends
        .map(|ends| {
            let options = duplicate_options(job);
            let mode = mark_mode(job);
            let threads = job.run.threads;
            resolve_all(ends, totals.templates, mode, &options, &backing, threads, &watch)
        })
        .transpose()?;
    job.run.end_phase("resolve");

    // Finish.
    let finish_trace = FinishTrace::default();
    let watch = || job.watch("write", finish_trace.records.load(Ordering::Relaxed));
    let references = job.header.references();
    job.output.write_header(&job.header, output)?;
    let mut index = job.output.index_builder(references.len());
    let options = FinishOptions {
        threads: job.run.threads,
        encoding: job.output.encoding(),
        references,
        marks: resolved.as_ref().map(|(marks, _)| marks),
        remove_duplicates: job.arguments.duplicates.remove_duplicates,
        watch: &watch,
    };
    let finished = finish::run(
        &placed,
        &unplaced,
        &backing,
        &options,
        output,
        index.as_mut(),
        &finish_trace,
    )?;
    let index = job.output.close(index, output)?;
    job.run.end_phase("finish");
    let duplicates = resolved.map(|(_, counters)| Duplicates {
        rows: counters.metrics(&libraries),
        histogram: counters.histogram,
    });
    Ok(Summary::new((totals, &trace), (finished, &finish_trace), duplicates, index, &backing))
}

fn duplicate_options(job: &Job<'_>) -> DuplicateOptions {
    DuplicateOptions {
        optical_distance_px: job.arguments.duplicates.optical_distance.0,
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
) -> Collector<'a> {
    let chunk_bytes = job.plan.chunk_bytes as usize;
    let ends = job.marks.map(|mode| {
        let locate = job.arguments.duplicates.optical_distance.0.is_some();
        let options = ReadEndOptions { mode, locate };
        EndCollector::new(backing, chunk_bytes, job.grouping, libraries, options)
    });
    Collector::new(backing, chunk_bytes, &job.bins, ends)
}
