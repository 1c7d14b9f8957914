//! The sorted flow: ingest to partitions, resolve duplicates, finish partitions in order.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use seqloom_align::engine::AlignmentEngine;
use seqloom_align::ingest;
use seqloom_format::bgzf::{EOF_BLOCK, VirtualOffset};
use seqloom_format::index::IndexBuilder;
use seqloom_io::sink::output::Output;
use seqloom_io::source::InputBlock;
use seqloom_io::spill::SpillFile;
use seqloom_prep::collect::{Collector, EndCollector};
use seqloom_prep::duplicates::{DuplicateOptions, LibraryTable, resolve_all};
use seqloom_prep::encode::Encoding;
use seqloom_prep::finish::{self, FinishOptions, FinishTrace};
use seqloom_prep::order::SortOrder;
use seqloom_prep::read_end::ReadEndOptions;
use seqloom_prep::store::Backing;
use seqloom_runtime::memory::{self, Ledger};

use super::job::Job;
use super::publish;
use super::sinks::SortedSink;
use super::summary::{Duplicates, Summary};

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn align<E: AlignmentEngine>(
    engine: E,
    job: &Job<'_>,
    first: Vec<InputBlock>,
    output: &mut Output,
) -> anyhow::Result<Summary> {
    let backing = Backing {
        ledger: Ledger::new(job.plan.store_bytes),
        spill: SpillFile::create(&spill_folders(job))?,
    };
    let libraries = library_table(job)?;
    let collector = collector(job, &backing, &libraries);

    // Ingest.
    let sink = SortedSink(collector);
    let watch = || job.watch("align", job.trace.records.load(Ordering::Relaxed));
    let totals = ingest::run(&job.source, first, &engine, &sink, &job.ingest, &job.trace, &watch)?;
    job.end_phase("ingest");

    // The engine's memory is free for what follows.
    drop(engine);
    memory::trim_c_heap();
    backing.ledger.grow(job.plan.freed_bytes);

    // Resolve.
    let (placed, unplaced, ends) = sink.0.into_parts();
    let options = DuplicateOptions {
        optical_distance_px: job.arguments.duplicates.optical_distance.0,
        ..DuplicateOptions::default()
    };
    let mode = job.arguments.duplicates.duplicate_mode.into();
    let watch = || job.watch("duplicates", totals.records);
    let resolved = ends
        .map(|ends| {
            resolve_all(ends, totals.templates, mode, &options, &backing, job.threads, &watch)
        })
        .transpose()?;
    job.end_phase("resolve");

    // Finish.
    let trace = FinishTrace::default();
    let watch = || job.watch("write", trace.records.load(Ordering::Relaxed));
    let references = job.header.references();
    publish::write_header(job, output)?;
    let mut index =
        job.index_format.map(|format| IndexBuilder::new(format.scheme, references.len()));
    let finished = finish::run(
        &[&placed, &unplaced],
        &backing,
        &FinishOptions {
            threads: job.threads,
            order: SortOrder::Coordinate,
            encoding: job.encoding(),
            references,
            marks: resolved.as_ref().map(|(marks, _)| marks),
            remove_duplicates: job.arguments.duplicates.remove_duplicates,
            editor: None,
            observer: None,
            watch: &watch,
        },
        output,
        index.as_mut(),
        &trace,
    )?;
    let end = output.written_bytes();
    if matches!(job.encoding(), Encoding::Bam { .. }) {
        output.write(&EOF_BLOCK)?;
    }
    let index = match (index, job.index_format) {
        (Some(builder), Some(format)) => {
            let end = VirtualOffset::new(end, 0).unwrap_or_default();
            Some(publish::index_bytes(builder, format, end)?)
        }
        _ => None,
    };
    job.end_phase("finish");
    let duplicates = resolved.map(|(_, counters)| Duplicates {
        rows: counters.metrics(&libraries),
        histogram: counters.histogram,
    });
    Ok(Summary::sorted(totals, finished, duplicates, index, &backing, &trace))
}

fn spill_folders(job: &Job<'_>) -> Vec<PathBuf> {
    if !job.arguments.run.tmp_dir.is_empty() {
        return job.arguments.run.tmp_dir.clone();
    }
    if let Some(folder) = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty()) {
        return vec![folder.into()];
    }
    let beside = job.arguments.output.output.parent().filter(|p| !p.as_os_str().is_empty());
    vec![beside.map_or_else(|| PathBuf::from("."), PathBuf::from)]
}

fn library_table(job: &Job<'_>) -> anyhow::Result<LibraryTable> {
    let table = LibraryTable::new(&job.header)?;
    let all_alike = job.ingest.tags.read_group.is_some();
    Ok(if all_alike { table.every_record_has_the_only_read_group() } else { table })
}

fn collector<'a>(
    job: &'a Job<'_>,
    backing: &'a Backing,
    libraries: &'a LibraryTable,
) -> Collector<'a> {
    let chunk_bytes = job.plan.chunk_bytes as usize;
    let ends = job.marks_duplicates().then(|| {
        let options = ReadEndOptions {
            mode: job.arguments.duplicates.duplicate_mode.into(),
            locate: job.arguments.duplicates.optical_distance.0.is_some(),
        };
        EndCollector::new(backing, chunk_bytes, libraries, options)
    });
    Collector::new(backing, chunk_bytes, &job.bins, ends)
}
