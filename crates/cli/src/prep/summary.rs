//! What a run did, for the metrics files, the JSON report and the closing line.

use seqloom_prep::duplicates::DuplicateMode;
use seqloom_prep::finish::{FinishTrace, Finished};
use seqloom_prep::ingest::{IngestTotals, IngestTrace};
use seqloom_prep::quality_metrics::GatheredMetrics;
use seqloom_prep::steps::Steps;
use seqloom_prep::store::Backing;
use seqloom_prep::tally::{FlagCounts, Tally};
use seqloom_report::run::{Bytes, Counts, RunReport, SCHEMA, StageReport};

use super::job::Job;
use crate::output::plan::Duplicates;
use crate::output::run::{Peaks, stage_row};

/// Metrics.
pub(super) struct Counted {
    /// Of duplicates, if they are marked.
    pub(super) duplicates: Option<Duplicates>,
    /// Those that were asked for.
    pub(super) metrics: GatheredMetrics,
}

/// See the module documentation.
pub(super) struct Summary {
    pub(super) tally: Tally,
    pub(super) counted: Counted,
    /// Bytes of the index file.
    pub(super) index: Option<Vec<u8>>,
    pub(super) totals: IngestTotals,
    pub(super) records_written: u64,
    pub(super) records_removed: u64,
    pub(super) stages: Vec<StageReport>,
    pub(super) spilled_bytes: u64,
    pub(super) peak_charged_bytes: u64,
}

impl Summary {
    pub(super) fn new(
        (totals, ingest): (IngestTotals, &IngestTrace),
        (finished, finish): (Finished, &FinishTrace),
        counted: Counted,
        index: Option<Vec<u8>>,
        backing: &Backing,
    ) -> Self {
        let stages = vec![
            stage_row("ingest", "fetch", &ingest.fetch),
            stage_row("ingest", "steps", &ingest.steps),
            stage_row("ingest", "collect", &ingest.collect),
            stage_row("ingest", "wait", &ingest.wait),
            stage_row("finish", "encode", &finish.encode),
            stage_row("finish", "write", &finish.write),
            stage_row("finish", "wait", &finish.wait),
        ];
        Self {
            tally: finished.tally,
            counted,
            index,
            totals,
            records_written: finished.records_written,
            records_removed: finished.records_removed,
            stages,
            spilled_bytes: backing.spill.bytes_written(),
            peak_charged_bytes: backing.ledger.peak_bytes(),
        }
    }

    /// Records in = records out.
    pub(super) fn check_none_lost(&self) -> anyhow::Result<()> {
        let dropped = self.totals.steps.removed();
        let found = self.records_written + self.records_removed + dropped;
        anyhow::ensure!(
            found == self.totals.records_read,
            "{} records were read but {} written, {} removed as duplicates and {dropped} left out \
             by steps: this is a bug",
            self.totals.records_read,
            self.records_written,
            self.records_removed,
        );
        Ok(())
    }

    fn counts(&self) -> Counts {
        let both =
            |count: fn(&FlagCounts) -> u64| count(&self.tally.passed) + count(&self.tally.failed);
        Counts {
            reads: self.totals.records_read,
            templates: self.totals.templates,
            records: self.totals.records,
            records_written: self.records_written,
            records_removed: self.records_removed,
            duplicate_records: both(|c| c.duplicates),
            mapped_primaries: both(|c| c.primary_mapped),
        }
    }

    /// The JSON report.
    pub(super) fn report(
        &self,
        job: &Job<'_>,
        written_bytes: u64,
        continued: Option<&'static str>,
    ) -> RunReport {
        let peaks = Peaks { charged_bytes: self.peak_charged_bytes, held_bytes: 0 };
        RunReport {
            placement: None,
            schema: SCHEMA,
            program: format!("seqloom {}", env!("CARGO_PKG_VERSION")),
            command: std::env::args().collect(),
            inputs: job.arguments.inputs.iter().map(|path| path.display().to_string()).collect(),
            output: job.output.path().display().to_string(),
            threads: job.run.threads.get(),
            memory_bytes: job.run.memory.0,
            cohort_bases: None,
            continued_behind: continued,
            duplicate_mode: job.marks.map(|mode| match mode {
                DuplicateMode::Query => "query",
                DuplicateMode::Coordinate => "coordinate",
            }),
            counts: self.counts(),
            stages: self.stages.clone(),
            usage: job.run.usage(0.0, peaks),
            bytes: Bytes {
                read: job.source.bytes_read(),
                written: written_bytes,
                spilled: self.spilled_bytes,
            },
        }
    }

    /// What is worth knowing, and the closing line.
    pub(super) fn close(&self, job: &Job<'_>) {
        let counts = self.counts();
        for (path, truncation) in &self.totals.truncations {
            job.run.console.info(&format!(
                "{}: cut short at byte {}: {}; what is whole was taken",
                path.display(),
                truncation.byte,
                truncation.problem
            ));
        }
        let names = job.steps.first().into_iter().flat_map(Steps::names);
        for (step, dropped) in names.zip(&self.totals.steps.dropped).filter(|it| *it.1 > 0) {
            job.run.console.info(&format!("step {step}: {dropped} records left out"));
        }
        job.run.close(&format!(
            "prep: {} records read, {} written, {} marked as duplicates",
            counts.reads, counts.records_written, counts.duplicate_records,
        ));
    }
}
