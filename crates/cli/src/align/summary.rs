//! What a run aligned, for the report and the closing line.

use seqloom_align::ingest::{IngestTotals, IngestTrace};
use seqloom_align::{BamTotals, UnsearchedCount, UnsearchedReads};
use seqloom_report::run::{Counts, LaneReport, StageReport};
use seqloom_terminal::error::Bug;

use super::job::Job;
use super::opened::OpenLane;
use crate::output::run::stage_row;
use crate::output::summary::{Ingested, Summary};

/// Records made = records written + records removed.
pub(crate) fn check_none_lost(
    totals: &IngestTotals,
    summary: &Summary,
) -> seqloom_terminal::Result<()> {
    let written = summary.records_written + summary.records_removed;
    let made = totals.records;
    match written == made {
        true => Ok(()),
        false => Err(Bug(format!("{made} records were made but {written} written")).into()),
    }
}

fn counts(totals: &IngestTotals) -> Counts {
    Counts {
        reads: totals.reads,
        templates: totals.templates,
        records: totals.records,
        reads_too_short: totals.outside.too_short.reads,
        reads_too_long: totals.outside.too_long.reads,
        ..Counts::default()
    }
}

pub(super) fn ingested(job: &Job<'_>, totals: &IngestTotals) -> Ingested {
    let trace: &IngestTrace = &job.trace;
    let duplicate_mode = job.arguments.duplicates.duplicate_mode.into();
    Ingested {
        inputs: job.inputs(),
        counts: counts(totals),
        index: Some(job.index),
        cohort_bases: Some(job.arguments.input.cohort_bases),
        duplicate_mode: job.marks_duplicates().then_some(duplicate_mode),
        continued_behind: None,
        placement: job.placement.clone(),
        certified: Some(job.certified.report()),
        engine_seconds: trace.seed.seconds() + trace.infer.seconds() + trace.emit.seconds(),
        peak_held_bytes: totals.peak_held_bytes,
        lanes: job.lanes.iter().filter_map(lane_report).collect(),
        read_bytes: job.input_bytes().0,
    }
}

/// A lane of a sheet.
fn lane_report(lane: &OpenLane) -> Option<LaneReport> {
    Some(LaneReport { inputs: lane.inputs(), read_group: lane.read_group.clone()? })
}

/// Lines about records of a BAM input that the output has otherwise or not at all.
fn describe_bam(bam: &BamTotals) -> Vec<String> {
    let BamTotals { aligned_reads, left_out_records, reads_without_mate } = *bam;
    let mut lines = Vec::new();
    if aligned_reads + left_out_records > 0 {
        lines.push(format!(
            "align: the input holds alignments: {aligned_reads} reads were aligned anew, \
             {left_out_records} secondary and supplementary records left out"
        ));
    }
    if reads_without_mate > 0 {
        lines.push(format!(
            "align: {reads_without_mate} reads are flagged as paired, but their mates are not in \
             the input; they were aligned as single reads"
        ));
    }
    lines
}

/// Reads that were not searched for because of their length. Short ones are what trimming leaves;
/// long ones are a warning, as they are of another kind than the mode is for.
pub(crate) fn log_outside(job: &Job<'_>, outside: &UnsearchedReads) {
    let (console, mode) = (job.run.console, job.arguments.mode.mode.name());
    let line = |count: &UnsearchedCount, problem: &str| {
        let first = count.first.as_ref()?;
        let (reads, are) = if count.reads == 1 { ("read", "is") } else { ("reads", "are") };
        Some(format!(
            "align: {} {reads} {are} too {problem} for --mode {mode}, and unmapped (YF:Z:LN); the \
             first is '{}' with {} bases",
            count.reads, first.name, first.bases,
        ))
    };
    if let Some(line) = line(&outside.too_short, "short") {
        console.info(&line);
    }
    if let Some(line) = line(&outside.too_long, "long") {
        console.warn(&line);
    }
}

/// The closing lines.
pub(super) fn close(job: &Job<'_>, totals: &IngestTotals, summary: &Summary) {
    describe_bam(&totals.bam).iter().for_each(|line| job.run.console.info(line));
    log_outside(job, &totals.outside);
    summary.log_applied(job.run.console);
    if let Some(share) = job.certified.share() {
        let percent = 100.0 * share;
        job.run.console.info(&format!(
            "align: {percent:.1} % of the reads were certified, without a search for their seeds"
        ));
    }
    let outcomes = summary.outcomes.iter().flat_map(|text| text.lines());
    outcomes.for_each(|line| job.run.console.info(line));
    let counts = summary.counts(&counts(totals));
    job.run.close(&format!(
        "align: {} reads, {} records, {} marked as duplicates",
        counts.reads, counts.records_written, counts.duplicate_records,
    ));
}

pub(super) fn ingest_stages(trace: &IngestTrace) -> Vec<StageReport> {
    [
        ("fetch", &trace.fetch),
        ("seed_extend", &trace.seed),
        ("infer_cohort", &trace.infer),
        ("emit", &trace.emit),
        ("sink", &trace.sink),
        ("wait", &trace.wait),
    ]
    .map(|(name, stage)| stage_row("ingest", name, stage))
    .into()
}
