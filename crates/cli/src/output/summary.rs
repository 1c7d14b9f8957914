//! What a run with BAM output did, for the metrics files, the JSON report and the closing line.

use std::path::Path;

use seqloom_io::AtomicFile;
use seqloom_prep::duplicates::{
    DuplicateMode, DuplicateSetHistogram, DuplicationCounters, DuplicationMetrics, LibraryTable,
    Saturation,
};
use seqloom_prep::finish::{FinishTrace, Finished};
use seqloom_prep::metrics::{FlagCounts, GatheredMetrics, GcWindows, Tally};
use seqloom_prep::partition::Backing;
use seqloom_prep::recalibrate::{AppliedCounts, QualityRows};
use seqloom_report::run::{
    Bytes, CertifiedReport, Counts, IndexReport, LaneReport, PlacementReport, RunReport, SCHEMA,
    StageReport, ThreadSeconds, UsageReport,
};

use seqloom_terminal::Console;

use super::run::{Peaks, Run, stage_row};
use crate::host;
use crate::recalibration::{applied_report, log_applied};

/// Counts, metrics and times of one run.
#[derive(Default)]
pub(crate) struct Summary {
    pub(crate) tally: Tally,
    /// Metrics of duplicates, if they are marked.
    pub(crate) duplicates: Option<Duplicates>,
    /// Requested metrics.
    pub(crate) metrics: GatheredMetrics,
    /// IDs of the header's read groups.
    pub(crate) read_groups: Vec<String>,
    /// Windows of the reference, where GC bias was counted.
    pub(crate) gc_windows: Option<GcWindows>,
    /// Sums of the table of recalibration.
    pub(crate) recalibration: Option<QualityRows>,
    /// Outcomes of recalibration.
    pub(crate) applied: Option<AppliedCounts>,
    /// Outcomes of the reads, where the mode counts them: lines as Bowtie's.
    pub(crate) outcomes: Option<String>,
    /// Bytes of the index file.
    pub(crate) index: Option<Vec<u8>>,
    /// Further files that are complete and get their names with the output.
    pub(crate) sidecars: Vec<AtomicFile>,
    pub(crate) records_written: u64,
    pub(crate) records_removed: u64,
    pub(crate) stages: Vec<StageReport>,
    /// Of the threads of ingest, where this process did it.
    pub(crate) thread_seconds: Option<ThreadSeconds>,
    pub(crate) spilled_bytes: u64,
    pub(crate) peak_charged_bytes: u64,
}

/// Duplicate metrics.
pub(crate) struct Duplicates {
    pub(crate) rows: Vec<DuplicationMetrics>,
    pub(crate) histogram: DuplicateSetHistogram,
    pub(crate) saturation: Saturation,
}

impl Duplicates {
    /// Of all libraries.
    pub(crate) fn new(counters: DuplicationCounters, libraries: &LibraryTable) -> Self {
        let DuplicationCounters { histogram, saturation, .. } = &counters;
        Self {
            rows: counters.metrics(libraries),
            histogram: histogram.clone(),
            saturation: *saturation,
        }
    }
}

/// Counts and description of the input.
pub(crate) struct Ingested {
    pub(crate) inputs: Vec<String>,
    /// Reads, templates and records; what was written is added.
    pub(crate) counts: Counts,
    pub(crate) index: Option<IndexReport>,
    pub(crate) cohort_bases: Option<u64>,
    pub(crate) duplicate_mode: Option<DuplicateMode>,
    pub(crate) continued_behind: Option<&'static str>,
    pub(crate) placement: Option<PlacementReport>,
    pub(crate) certified: Option<CertifiedReport>,
    /// Lanes of a sheet.
    pub(crate) lanes: Vec<LaneReport>,
    pub(crate) engine_seconds: f64,
    pub(crate) peak_held_bytes: u64,
    pub(crate) read_bytes: u64,
}

impl Summary {
    /// Of records that were sorted: what was finished in what time, after the stages of ingest.
    pub(crate) fn sorted(
        mut stages: Vec<StageReport>,
        (finished, trace): (Finished, &FinishTrace),
        backing: &Backing,
    ) -> Self {
        let finish = [("encode", &trace.encode), ("write", &trace.write), ("wait", &trace.wait)];
        stages.extend(finish.map(|(name, stage)| stage_row("finish", name, stage)));
        Self {
            stages,
            spilled_bytes: backing.spill.bytes_written(),
            peak_charged_bytes: backing.ledger.peak_bytes(),
            ..Self::of(finished)
        }
    }

    /// Of records that were finished, by whichever processes.
    pub(crate) fn of(finished: Finished) -> Self {
        Self {
            tally: finished.tally,
            records_written: finished.records_written,
            records_removed: finished.records_removed,
            applied: (finished.recalibrated != AppliedCounts::default())
                .then_some(finished.recalibrated),
            ..Self::default()
        }
    }

    /// Of records that left in the order of the input.
    pub(crate) fn streamed(stages: Vec<StageReport>, tally: Tally) -> Self {
        let records_written = tally.passed.total + tally.failed.total;
        Self { tally, records_written, stages, ..Self::default() }
    }

    /// Says which records were not recalibrated, where they were to be.
    pub(crate) fn log_applied(&self, console: &Console) {
        self.applied.iter().for_each(|counts| log_applied(console, counts));
    }

    /// `counts` of the input, with what became of its records.
    pub(crate) fn counts(&self, counts: &Counts) -> Counts {
        let both =
            |count: fn(&FlagCounts) -> u64| count(&self.tally.passed) + count(&self.tally.failed);
        Counts {
            reads: counts.reads,
            templates: counts.templates,
            records: counts.records,
            records_written: self.records_written,
            records_removed: self.records_removed,
            duplicate_records: both(|c| c.duplicates),
            mapped_primaries: both(|c| c.primary_mapped),
            reads_too_short: counts.reads_too_short,
            reads_too_long: counts.reads_too_long,
        }
    }

    /// The JSON report.
    pub(crate) fn report(
        &self,
        ingested: Ingested,
        run: &Run<'_>,
        (output, written_bytes): (&Path, u64),
    ) -> RunReport {
        let peaks =
            Peaks { charged_bytes: self.peak_charged_bytes, held_bytes: ingested.peak_held_bytes };
        RunReport {
            schema: SCHEMA,
            program: format!("seqloom {}", env!("CARGO_PKG_VERSION")),
            command: host::command_line(),
            inputs: ingested.inputs,
            output: output.display().to_string(),
            threads: run.threads.get(),
            memory_bytes: run.memory.0,
            continued_behind: ingested.continued_behind,
            index: ingested.index,
            cohort_bases: ingested.cohort_bases,
            placement: ingested.placement,
            certified_path: ingested.certified,
            lanes: ingested.lanes,
            duplicate_mode: ingested.duplicate_mode.map(|mode| match mode {
                DuplicateMode::Query => "query",
                DuplicateMode::Coordinate => "coordinate",
            }),
            counts: self.counts(&ingested.counts),
            recalibration: self.applied.as_ref().map(applied_report),
            qc: None,
            stages: self.stages.clone(),
            usage: UsageReport {
                thread_seconds: self.thread_seconds.into_iter().collect(),
                ..run.usage(ingested.engine_seconds, peaks)
            },
            bytes: Bytes {
                read: ingested.read_bytes,
                written: written_bytes,
                spilled: self.spilled_bytes,
            },
        }
    }
}
