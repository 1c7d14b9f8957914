//! What a run prepared, for the report and the closing line.

use seqloom_prep::input::ingest::{IngestTotals, IngestTrace};
use seqloom_prep::steps::Steps;
use seqloom_report::run::{Counts, StageReport};
use seqloom_terminal::error::Bug;

use super::job::Job;
use crate::output::run::stage_row;
use crate::output::summary::{Ingested, Summary};

/// Records in = records out.
pub(super) fn check_none_lost(
    totals: &IngestTotals,
    summary: &Summary,
) -> seqloom_terminal::Result<()> {
    let dropped = totals.steps.removed();
    let (written, removed) = (summary.records_written, summary.records_removed);
    let read = totals.records_read;
    if written + removed + dropped == read {
        return Ok(());
    }
    let text = format!(
        "{read} records were read but {written} written, {removed} removed as duplicates and \
         {dropped} left out by steps"
    );
    Err(Bug(text).into())
}

fn counts(totals: &IngestTotals) -> Counts {
    Counts {
        reads: totals.records_read,
        templates: totals.templates,
        records: totals.records,
        ..Counts::default()
    }
}

pub(super) fn ingested(
    job: &Job<'_>,
    totals: &IngestTotals,
    continued_behind: Option<&'static str>,
) -> Ingested {
    Ingested {
        inputs: job.arguments.inputs.iter().map(|path| path.display().to_string()).collect(),
        counts: counts(totals),
        cohort_bases: None,
        duplicate_mode: job.marks,
        continued_behind,
        placement: None,
        certified: None,
        lanes: Vec::new(),
        index: None,
        engine_seconds: 0.0,
        peak_held_bytes: 0,
        read_bytes: job.source.bytes_read(),
    }
}

pub(super) fn ingest_stages(trace: &IngestTrace) -> Vec<StageReport> {
    [
        ("fetch", &trace.fetch),
        ("steps", &trace.steps),
        ("collect", &trace.collect),
        ("wait", &trace.wait),
    ]
    .map(|(name, stage)| stage_row("ingest", name, stage))
    .into()
}

/// Notes, and the closing line.
pub(super) fn close(job: &Job<'_>, totals: &IngestTotals, summary: &Summary) {
    let counts = summary.counts(&counts(totals));
    summary.log_applied(job.run.console);
    for (path, truncation) in &totals.truncations {
        job.run.console.info(&format!(
            "{}: cut short at byte {}: {}; what is whole was taken",
            path.display(),
            truncation.byte,
            truncation.problem
        ));
    }
    for (path, record) in &totals.unsorted {
        job.run.console.info(&format!(
            "{}: record {record} sorts before its predecessor, although the header says that \
             the file is sorted by coordinate; it was taken as samtools sort would put it",
            path.display(),
        ));
    }
    let names = job.steps.first().into_iter().flat_map(Steps::names);
    for (step, dropped) in names.zip(&totals.steps.dropped).filter(|it| *it.1 > 0) {
        job.run.console.info(&format!("step {step}: {dropped} records left out"));
    }
    job.run.close(&format!(
        "prep: {} records read, {} written, {} marked as duplicates",
        counts.reads, counts.records_written, counts.duplicate_records,
    ));
}
