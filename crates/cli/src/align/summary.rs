//! What a run did, for the metrics files, the JSON report and the closing line.

use seqloom_align::ingest::{IngestTotals, IngestTrace};
use seqloom_prep::duplicates::DuplicateMode;
use seqloom_prep::finish::{FinishTrace, Finished};
use seqloom_prep::store::Backing;
use seqloom_prep::tally::Tally;
use seqloom_report::run::{Bytes, Counts, RunReport, SCHEMA, StageReport};

use super::job::Job;
use crate::output::plan::Duplicates;
use crate::output::run::{Peaks, stage_row};

/// See the module documentation.
pub(super) struct Summary {
    pub(super) tally: Tally,
    pub(super) duplicates: Option<Duplicates>,
    /// Bytes of the index file.
    pub(super) index: Option<Vec<u8>>,
    totals: IngestTotals,
    records_written: u64,
    records_removed: u64,
    finish_stages: Vec<StageReport>,
    spilled_bytes: u64,
    peak_charged_bytes: u64,
}

impl Summary {
    pub(super) fn sorted(
        totals: IngestTotals,
        finished: Finished,
        duplicates: Option<Duplicates>,
        index: Option<Vec<u8>>,
        backing: &Backing,
        trace: &FinishTrace,
    ) -> Self {
        let stages = [("encode", &trace.encode), ("write", &trace.write), ("wait", &trace.wait)];
        Self {
            tally: finished.tally,
            duplicates,
            index,
            totals,
            records_written: finished.records_written,
            records_removed: finished.records_removed,
            finish_stages: stages.map(|(name, stage)| stage_row("finish", name, stage)).into(),
            spilled_bytes: backing.spill.bytes_written(),
            peak_charged_bytes: backing.ledger.peak_bytes(),
        }
    }

    pub(super) fn streamed(totals: IngestTotals, tally: Tally) -> Self {
        let records_written = tally.passed.total + tally.failed.total;
        Self {
            tally,
            duplicates: None,
            index: None,
            totals,
            records_written,
            records_removed: 0,
            finish_stages: Vec::new(),
            spilled_bytes: 0,
            peak_charged_bytes: 0,
        }
    }

    /// Records in = records out.
    pub(super) fn check_none_lost(&self) -> anyhow::Result<()> {
        let written = self.records_written + self.records_removed;
        anyhow::ensure!(
            written == self.totals.records,
            "{} records were made but {written} written: this is a bug",
            self.totals.records
        );
        Ok(())
    }

    fn counts(&self) -> Counts {
        let both = |count: fn(&seqloom_prep::tally::FlagCounts) -> u64| {
            count(&self.tally.passed) + count(&self.tally.failed)
        };
        Counts {
            reads: self.totals.reads,
            templates: self.totals.templates,
            records: self.totals.records,
            records_written: self.records_written,
            records_removed: self.records_removed,
            duplicate_records: both(|c| c.duplicates),
            mapped_primaries: both(|c| c.primary_mapped),
        }
    }

    /// The JSON report.
    pub(super) fn report(&self, job: &Job<'_>, written_bytes: u64) -> RunReport {
        let trace: &IngestTrace = &job.trace;
        let mut stages = ingest_stages(trace);
        stages.extend(self.finish_stages.iter().cloned());
        let path = |lane| job.source.path(lane).display().to_string();
        RunReport {
            schema: SCHEMA,
            program: format!("seqloom {}", env!("CARGO_PKG_VERSION")),
            command: std::env::args().collect(),
            inputs: (0..job.source.lanes()).map(path).collect(),
            output: job.output.path().display().to_string(),
            threads: job.run.threads.get(),
            memory_bytes: job.run.memory.0,
            continued_behind: None,
            cohort_bases: Some(job.arguments.input.cohort_bases),
            duplicate_mode: job.marks_duplicates().then(|| {
                match DuplicateMode::from(job.arguments.duplicates.duplicate_mode) {
                    DuplicateMode::Query => "query",
                    DuplicateMode::Coordinate => "coordinate",
                }
            }),
            placement: job.placement.clone(),
            counts: self.counts(),
            stages,
            usage: job.run.usage(
                trace.seed.seconds() + trace.infer.seconds() + trace.emit.seconds(),
                Peaks {
                    charged_bytes: self.peak_charged_bytes,
                    held_bytes: self.totals.peak_held_bytes,
                },
            ),
            bytes: Bytes {
                read: job.source.bytes_read(),
                written: written_bytes,
                spilled: self.spilled_bytes,
            },
        }
    }

    /// The closing line.
    pub(super) fn close(&self, job: &Job<'_>) {
        let counts = self.counts();
        job.run.close(&format!(
            "align: {} reads, {} records, {} marked as duplicates",
            counts.reads, counts.records_written, counts.duplicate_records,
        ));
    }
}

fn ingest_stages(trace: &IngestTrace) -> Vec<StageReport> {
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
