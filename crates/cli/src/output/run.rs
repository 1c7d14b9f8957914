//! One run of a command: its threads and memory, the time of its phases, and what is shown of it.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use seqloom_report::quality::run::{Sample, Samples};
use seqloom_report::run::{StageReport, UsageReport};
use seqloom_runtime::machine;
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::trace::Stage;
use seqloom_terminal::{Console, UsageError, signals};

use super::arguments::RunArguments;

/// Smallest and largest chunk of the stores.
pub(crate) const MIN_CHUNK_BYTES: u64 = 16 << 10;
const MAX_CHUNK_BYTES: u64 = 256 << 10;

/// Threads that compute, on each core.
const MOST_PER_CORE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);

/// Size of chunks where each may have `share_bytes`: a power of two, because the allocator rounds
/// other sizes up by as much as an eighth, which nobody would have counted.
pub(crate) fn chunk_bytes(share_bytes: u64) -> u64 {
    let share = share_bytes.clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
    1 << share.ilog2()
}

/// See the module documentation.
pub(crate) struct Run<'a> {
    pub(crate) console: &'a Console,
    pub(crate) threads: NonZeroUsize,
    /// `-m`, or what the limit of address space leaves of it.
    pub(crate) memory: ByteSize,
    /// The limit of address space, where it leaves less than `-m`.
    space_limit: Option<ByteSize>,
    phase_started: Cell<Instant>,
    phases: RefCell<Vec<(&'static str, Duration)>>,
}

/// The most that two kinds of bookkeeping had charged.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Peaks {
    pub(crate) charged_bytes: u64,
    pub(crate) held_bytes: u64,
}

impl<'a> Run<'a> {
    pub(crate) fn new(arguments: &RunArguments, console: &'a Console) -> Self {
        let threads = arguments.threads.unwrap_or_else(machine::available_cores);
        let memory = arguments.memory.unwrap_or_else(default_memory);
        let (memory, space_limit) = within_address_space(memory, threads);
        let cpu = Duration::ZERO;
        Ok(Self {
            console,
            threads,
            memory,
            space_limit,
            phase_started: Cell::new(now),
            phases: RefCell::default(),
        }
    }

    /// Why a plan that needs `floor_bytes` was refused, where that is for the limit of address
    /// space.
    pub(crate) fn explained(&self, refused: UsageError, floor_bytes: u64) -> UsageError {
        let Some(limit) = self.space_limit else { return refused };
        beyond_address_space(limit, floor_bytes, self.threads)
    }

    /// Says what is about to happen.
    pub(crate) fn announce(&self, command: &str, inputs: &str, output: &Path) {
        self.console.info(&format!(
            "{command}: {} threads, {} of memory, {inputs} to {}",
            self.threads,
            self.memory,
            output.display()
        ));
    }

    /// Threads for work that only computes: more than a few on each core would take memory and
    /// give nothing back.
    pub(crate) fn computing_threads(&self) -> NonZeroUsize {
        self.threads.min(machine::available_cores().saturating_mul(MOST_PER_CORE))
    }

    /// Books the wall time since the last phase ended.
    pub(crate) fn end_phase(&self, name: &'static str) {
        let now = Instant::now();
        self.phases.borrow_mut().push((name, now - self.phase_started.replace(now)));
    }

    /// Draws progress; `false` when a signal asks to stop. `read` and `total` are bytes of input.
    pub(crate) fn watch(
        &self,
        phase: &'static str,
        (read_bytes, total_bytes): (u64, Option<u64>),
        records: u64,
    ) -> bool {
        let share = match total_bytes {
            Some(total) if total > 0 => {
                format!("{:.0} % read, ", 100.0 * read_bytes as f64 / total as f64)
            }
            _ => String::new(),
        };
        let usage = machine::usage();
        let cores = usage.cpu.as_secs_f64() / self.console.wall().as_secs_f64().max(1e-3);
        let memory = ByteSize(usage.peak_rss_bytes);
        self.console.progress(&format!(
            "{phase}: {share}{records} records, {cores:.1} cores busy, {memory} peak"
        ));
        !signals::interrupted()
    }

    /// What the process used so far, for the JSON report.
    pub(crate) fn usage(&self, engine_seconds: f64, peaks: Peaks) -> UsageReport {
        let usage = machine::usage();
        let (wall, cpu) = (self.console.wall().as_secs_f64(), usage.cpu.as_secs_f64());
        let phases = self.phases.borrow();
        UsageReport {
            wall_seconds: wall,
            phase_seconds: phases.iter().map(|(name, time)| (*name, time.as_secs_f64())).collect(),
            cpu_seconds: cpu,
            cores_busy: cpu / wall,
            cpu_utilisation: cpu / wall / self.threads.get() as f64,
            core_hours: cpu / 3600.0,
            engine_seconds,
            peak_rss_bytes: usage.peak_rss_bytes,
            peak_charged_bytes: peaks.charged_bytes,
            peak_held_bytes: peaks.held_bytes,
        }
    }

    /// The closing line: what was done, and what it took.
    pub(crate) fn close(&self, done: &str) {
        let usage = machine::usage();
        let (wall, cpu) = (self.console.wall().as_secs_f64(), usage.cpu.as_secs_f64());
        self.console.info(&format!(
            "{done}; wall {wall:.1} s, CPU {cpu:.1} s, {:.2} cores busy of {}, peak memory {}",
            cpu / wall,
            self.threads,
            ByteSize(usage.peak_rss_bytes),
        ));
    }
}

/// A row of the JSON report.
pub(crate) fn stage_row(phase: &'static str, name: &'static str, stage: &Stage) -> StageReport {
    StageReport { phase, stage: name, seconds: stage.seconds(), visits: stage.visits() }
}

/// Three quarters of what there is.
pub(crate) fn default_memory() -> ByteSize {
    ByteSize(machine::available_memory_bytes() / 4 * 3)
}

/// What the limit of address space leaves of `memory`; with that limit, where it is less.
pub(crate) fn within_address_space(
    memory: ByteSize,
    threads: NonZeroUsize,
) -> (ByteSize, Option<ByteSize>) {
    let Some(limit) = machine::address_space_limit_bytes() else { return (memory, None) };
    let left = ByteSize(machine::memory_within_bytes(limit, threads));
    if left < memory { (left, Some(ByteSize(limit))) } else { (memory, None) }
}

/// A run that needs `least_bytes` does not fit the limit of address space.
pub(crate) fn beyond_address_space(
    limit: ByteSize,
    least_bytes: u64,
    threads: NonZeroUsize,
) -> UsageError {
    let beside = machine::space_beside_bytes(threads);
    UsageError(format!(
        "the limit of address space (ulimit -v) of {limit} is too small: this run needs at least \
         {} (memory {} + {} beside it for the program and {threads} threads); raise it, or ask \
         for fewer threads with -t",
        ByteSize(least_bytes.saturating_add(beside)),
        ByteSize(least_bytes),
        ByteSize(beside),
    ))
}
