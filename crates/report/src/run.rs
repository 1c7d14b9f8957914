//! The report of one run (`--json`): what was requested, what was done, and what it took.
//!
//! `schema` is raised when a field changes its meaning or goes away; new fields do not raise it.
//! 2: `usage.core_hours` are threads by wall time; they were the CPU time, now `usage.cpu_hours`.

use std::collections::BTreeMap;

use serde::Serialize;

use seqloom_runtime::placement::{PinLevel, Plan};
use seqloom_runtime::trace::{ThreadSpread, ThreadTimes};

/// Version of this layout.
pub const SCHEMA: u32 = 2;

/// The object that `--json` writes. Times in seconds, sizes in bytes.
#[derive(Debug, Serialize)]
pub struct RunReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Program and version.
    pub program: String,
    /// The command line.
    pub command: Vec<String>,
    /// Input files.
    pub inputs: Vec<String>,
    /// Output file.
    pub output: String,
    /// Busy threads requested.
    pub threads: usize,
    /// Memory cap.
    pub memory_bytes: u64,
    /// The index, where reads are aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexReport>,
    /// Bases per cohort, where reads are aligned.
    pub cohort_bases: Option<u64>,
    /// Where a run that was killed was resumed: after which phase. The counts are of all of
    /// it, times and bytes of this process alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_behind: Option<&'static str>,
    /// Whose duplicate semantics, `None` when duplicates were not marked.
    pub duplicate_mode: Option<&'static str>,
    /// Placement of index and workers, where reads are aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementReport>,
    /// Counts of the certified path, where reads are aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_path: Option<CertifiedReport>,
    /// Lanes of a sheet, with the read groups that they got.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<LaneReport>,
    /// Templates, records and duplicates of the run.
    pub counts: Counts,
    /// Outcomes of recalibration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recalibration: Option<AppliedReport>,
    /// The numbers of the page, where one was requested: tables by name, each with `columns` and
    /// `rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qc: Option<serde_json::Value>,
    /// Time per stage.
    pub stages: Vec<StageReport>,
    /// Resources of the process.
    pub usage: UsageReport,
    /// Bytes read and written.
    pub bytes: Bytes,
}

/// The certified path of `align`.
#[derive(Debug, Clone, Serialize)]
pub struct CertifiedReport {
    /// Why it was off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_because: Option<String>,
    /// Reads by what became of them; none where it was off.
    pub reads: BTreeMap<&'static str, u64>,
}

/// Records by what became of their qualities; those that are not recalibrated by why.
#[derive(Debug, Clone, Serialize)]
pub struct AppliedReport {
    /// With new qualities.
    pub recalibrated_records: u64,
    /// Of read groups that the table does not have, by PU, or ID where there is no PU.
    pub missing_read_groups: BTreeMap<String, u64>,
    /// Without read group.
    pub without_read_group: u64,
    /// With skipped reference (N) in the CIGAR.
    pub spliced: u64,
    /// Without bases or qualities.
    pub without_qualities: u64,
    /// With a CIGAR that has other bases than the read.
    pub cigar_of_other_length: u64,
    /// Records that start beyond the end of their sequence.
    pub beyond_sequence: u64,
}

/// Files that were aligned by themselves.
#[derive(Debug, Clone, Serialize)]
pub struct LaneReport {
    /// One file, or two.
    pub inputs: Vec<String>,
    /// Line of the header.
    pub read_group: String,
}

/// The index of a run, and the memory that goes with it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct IndexReport {
    /// Memory of a copy.
    pub memory_bytes: u64,
    /// Every how many-th row has its suffix sampled.
    pub sa_stride: u32,
    /// The least memory that this run, with its copies of the index, could have been given.
    pub least_memory_bytes: u64,
}

/// Numbers of things.
#[derive(Debug, Default, Serialize)]
pub struct Counts {
    /// Reads in the input.
    pub reads: u64,
    /// Templates (pairs, single reads) in the input.
    pub templates: u64,
    /// Records the engine made.
    pub records: u64,
    /// Records written.
    pub records_written: u64,
    /// Records left out as duplicates.
    pub records_removed: u64,
    /// Records written with the duplicate flag.
    pub duplicate_records: u64,
    /// Mapped primary records written.
    pub mapped_primaries: u64,
    /// Reads that were not searched for, as they are too short (YF:Z:LN).
    pub reads_too_short: u64,
    /// Reads that are not searched for because they are too long.
    pub reads_too_long: u64,
}

/// One stage of the flow; its time is summed over workers.
#[derive(Debug, Clone, Serialize)]
pub struct StageReport {
    /// Phase it belongs to: ingest, resolve, finish.
    pub phase: &'static str,
    /// Its name.
    pub stage: &'static str,
    /// Time in it.
    pub seconds: f64,
    /// How often it was entered.
    pub visits: u64,
}

/// Placement of index and workers.
#[derive(Debug, Clone, Serialize)]
pub struct PlacementReport {
    /// default, local, interleave or replicate.
    pub placement: String,
    /// The cause, in words.
    pub reason: &'static str,
    /// Pinning of workers: none, node or core.
    pub pinned_to: &'static str,
    /// Whether huge pages of the index were prevented.
    pub small_pages: bool,
    /// Workers of each replica, in the order of `replicas`.
    pub(crate) workers: Vec<usize>,
    /// The copies of the index.
    pub replicas: Vec<ReplicaReport>,
}

/// A copy of the index and where it really is.
#[derive(Debug, Clone, Serialize)]
pub struct ReplicaReport {
    /// Nodes it belongs on.
    pub nodes: Vec<u32>,
    /// default, local, bind or interleave.
    pub policy: &'static str,
    /// Pages that were looked at, by the node that they were found on.
    pub sampled_pages_of_node: BTreeMap<u32, u64>,
    /// Resident memory.
    pub resident_bytes: u64,
    /// Bytes of that in transparent huge pages.
    pub huge_bytes: u64,
}

impl From<&Plan> for PlacementReport {
    /// The plan; replicas are added as they are loaded.
    fn from(plan: &Plan) -> Self {
        let workers = |group| plan.slots.iter().filter(|slot| slot.group == group).count();
        Self {
            placement: plan.placement.to_string(),
            reason: plan.reason,
            pinned_to: match plan.pin {
                PinLevel::None => "none",
                PinLevel::Node => "node",
                PinLevel::Core => "core",
            },
            small_pages: plan.small_pages,
            workers: (0..plan.groups.len()).map(workers).collect(),
            replicas: Vec::new(),
        }
    }
}

/// Processor and memory.
#[derive(Debug, Serialize)]
pub struct UsageReport {
    /// Wall time.
    pub wall_seconds: f64,
    /// Wall time of each phase, in order: load, ingest, resolve, redistribute, recalibrate,
    /// finish.
    pub phase_seconds: Vec<(&'static str, f64)>,
    /// How long the threads of a phase had something to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub thread_seconds: Vec<ThreadSeconds>,
    /// User and system time of all threads.
    pub cpu_seconds: f64,
    /// CPU time over wall time.
    pub cores_busy: f64,
    /// `cores_busy` over the threads requested.
    pub cpu_utilisation: f64,
    /// CPU time in hours.
    pub cpu_hours: f64,
    /// [`core_hours`].
    pub core_hours: f64,
    /// Time in the engine's three phases.
    pub engine_seconds: f64,
    /// Largest resident set.
    pub peak_rss_bytes: u64,
    /// The most the ledger had charged.
    pub peak_charged_bytes: u64,
    /// The most that candidates held between seeding and emission.
    pub peak_held_bytes: u64,
}

/// Wall time of the threads of a phase, each from its start to the end of its last task: what
/// papers on scaling report, the slowest thread above all (Langmead et al. 2018).
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ThreadSeconds {
    /// The phase, as in `phase_seconds`.
    pub phase: &'static str,
    /// Threads that it had.
    pub threads: usize,
    /// Of the thread that was through first.
    pub least: f64,
    /// Half of the threads took no longer.
    pub median: f64,
    /// Of the slowest thread.
    pub most: f64,
}

impl ThreadSeconds {
    /// Seconds of the threads of a phase, where they were timed.
    #[must_use]
    pub fn of(phase: &'static str, times: &ThreadTimes) -> Option<Self> {
        let ThreadSpread { threads, least, median, most } = times.spread()?;
        Some(Self { phase, threads, least, median, most })
    }
}

/// Core-hours: what a run takes of a machine, whether its threads work or wait. Threads by hours of
/// wall time (Gamaarachchi 2020, sections 1.1 and 1.5.1).
#[must_use]
pub fn core_hours(threads: usize, wall_seconds: f64) -> f64 {
    threads as f64 * wall_seconds / 3600.0
}

/// Bytes in and out.
#[derive(Debug, Default, Serialize)]
pub struct Bytes {
    /// Of the inputs, as they are on disk.
    pub read: u64,
    /// Of the output.
    pub written: u64,
    /// Spilled, compressed.
    pub spilled: u64,
}

impl RunReport {
    /// The report as indented JSON with a newline at its end.
    ///
    /// # Errors
    /// Never for the types above.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}
