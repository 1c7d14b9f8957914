//! One run of a command: its threads and memory, the time of its phases, and what is shown of it.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use seqloom_format::bam::Header;
use seqloom_report::quality::run::{Sample, Samples};
use seqloom_report::run::{StageReport, UsageReport, core_hours};
use seqloom_runtime::machine;
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::pool::Interrupted;
use seqloom_runtime::trace::Stage;
use seqloom_terminal::host::Progress;
use seqloom_terminal::{Console, UsageError, signals};

use super::arguments::RunArguments;
use super::progress::{self, PhaseWeight, Plan, ProgressKind};
use super::write_error;

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

/// Memory of a reference sequence of the header: its line and its name, the header while it is read
/// and while it is written, its part of the index. Measured with 1.5 million of them: 350.
const SEQUENCE_BYTES: u64 = 512;
/// Counts of one by each worker, and their sum.
const SEQUENCE_COUNTS_BYTES: u64 = 16;
/// Of that, what every program's share has room for.
const USUAL_HEADER_BYTES: u64 = 4 << 20;

/// Memory that the sequences of a header take, beyond what is usual.
pub(crate) fn header_bytes(header: &Header, threads: NonZeroUsize) -> u64 {
    let counts = SEQUENCE_COUNTS_BYTES * (threads.get() as u64 + 1);
    let bytes = header.references().len() as u64 * (SEQUENCE_BYTES + counts);
    bytes.saturating_sub(USUAL_HEADER_BYTES)
}

/// Threads, memory, phases and progress of one run.
pub(crate) struct Run<'a> {
    pub(crate) console: &'a Console,
    pub(crate) threads: NonZeroUsize,
    /// `-m`, or what the limit of address space leaves of it.
    pub(crate) memory: ByteSize,
    /// The limit of address space, where it leaves less than `-m`.
    space_limit: Option<ByteSize>,
    phase_started: Cell<Instant>,
    phases: RefCell<Vec<(&'static str, Duration)>>,
    /// Samples of what the process used.
    samples: RefCell<Samples>,
    progress: ProgressKind,
    /// Planned phases, by the names that [`Run::watch`] is called with.
    planned: Cell<Plan>,
    /// Records that later phases have to do with, once they are known.
    total_records: Cell<Option<u64>>,
    shown: Cell<Shown>,
    /// When the first of the phases of this run began, and the share of the work before it.
    first_share: Cell<Option<(Instant, f64)>>,
}

/// When progress was shown, and of which phase.
#[derive(Debug, Clone, Copy)]
struct Shown {
    phase: &'static str,
    /// When the phase began.
    began: Instant,
    line: Instant,
    /// CPU time at `line`.
    cpu: Duration,
}

/// How often a plain progress line is printed.
const PLAIN_INTERVAL: Duration = Duration::from_secs(60);
/// How often a line on a terminal is redrawn.
const DRAW_INTERVAL: Duration = Duration::from_secs(1);

/// The most that two kinds of bookkeeping had charged.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Peaks {
    pub(crate) charged_bytes: u64,
    pub(crate) held_bytes: u64,
}

impl<'a> Run<'a> {
    /// # Errors
    /// The log cannot be written.
    pub(crate) fn new(
        arguments: &RunArguments,
        console: &'a Console,
    ) -> seqloom_terminal::Result<Self> {
        if let Some(log) = &arguments.log {
            console.log_to(log).map_err(write_error(log))?;
        }
        let now = Instant::now();
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
            samples: RefCell::default(),
            progress: arguments.progress,
            planned: Cell::default(),
            total_records: Cell::default(),
            shown: Cell::new(Shown { phase: "", began: now, line: now, cpu }),
            first_share: Cell::default(),
        })
    }

    /// Why a plan that needs `floor_bytes` was refused, where that is for the limit of address
    /// space.
    pub(crate) fn explained(&self, refused: UsageError, floor_bytes: u64) -> UsageError {
        let Some(limit) = self.space_limit else { return refused };
        beyond_address_space(limit, floor_bytes, self.threads)
    }

    /// Logs the start line.
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

    /// Plans the phases, in order.
    pub(crate) fn plan_phases(&self, phases: &'static [PhaseWeight]) {
        self.planned.set(Plan { phases, ..self.planned.get() });
    }

    /// At which level the output is compressed.
    pub(crate) fn compress_at(&self, level: u8) {
        self.planned.set(Plan { is_fast: Plan::is_fast(level), ..self.planned.get() });
    }

    /// How many records the phases after ingest have to do with.
    pub(crate) fn expect_records(&self, records: u64) {
        self.total_records.set(Some(records));
    }

    /// Shows progress, and looks whether a signal stops the run. `read` and `total` are bytes of
    /// input.
    pub(crate) fn watch(
        &self,
        phase: &'static str,
        (read_bytes, total_bytes): (u64, Option<u64>),
        records: u64,
    ) -> Result<(), Interrupted> {
        let (now, usage) = (Instant::now(), machine::usage());
        self.samples.borrow_mut().take(Sample {
            seconds: self.console.wall().as_secs_f64(),
            cpu_seconds: usage.cpu.as_secs_f64(),
            read_bytes,
            records,
        });
        let done = match self.total_records.get() {
            Some(total) => Some(records as f64 / total.max(1) as f64),
            None => total_bytes.map(|total| read_bytes as f64 / total.max(1) as f64),
        };
        let share = self.planned.get().share_of_work(phase, done);
        if self.first_share.get().is_none() {
            let begun = self.planned.get().share_of_work(phase, Some(0.0));
            self.first_share.set(begun.map(|share| (self.phase_started.get(), share)));
        }
        let done_bytes = read_bytes;
        self.console.report_progress(Progress { phase, done_bytes, total_bytes, records, share });
        let mut shown = self.shown.get();
        let is_new = shown.phase != phase;
        if is_new {
            shown = Shown { phase, began: now, ..shown };
        }
        let interval = match self.progress {
            ProgressKind::Auto if self.console.is_terminal() => DRAW_INTERVAL,
            ProgressKind::Plain => PLAIN_INTERVAL,
            ProgressKind::Auto | ProgressKind::Off => Duration::MAX,
        };
        if interval < Duration::MAX && (is_new || now - shown.line >= interval) {
            let seconds = (now - shown.line).as_secs_f64().max(1e-3);
            let cores = usage.cpu.saturating_sub(shown.cpu).as_secs_f64() / seconds;
            let line = self.describe(&shown, (done, records), now, cores);
            match self.progress {
                ProgressKind::Plain => self.console.info(&line),
                ProgressKind::Auto | ProgressKind::Off => self.console.progress(&line),
            }
            shown = Shown { line: now, cpu: usage.cpu, ..shown };
        }
        self.shown.set(shown);
        signals::check()
    }

    /// The progress line.
    fn describe(
        &self,
        shown: &Shown,
        (done, records): (Option<f64>, u64),
        now: Instant,
        cores: f64,
    ) -> String {
        let mut parts = Vec::new();
        let share = self.planned.get().share_of_work(shown.phase, done);
        if let Some(share) = share {
            parts.push(format!("{:.0} % of all work", 100.0 * share));
            let (since, at_first) = self.first_share.get().unwrap_or((now, share));
            if let Some(rest) = progress::to_go(share, at_first, now - since) {
                parts.push(format!("{} to go", progress::readable(rest)));
            }
        }
        let per_second = records as f64 / (now - shown.began).as_secs_f64().max(1e-3);
        parts.push(format!("{records} records"));
        if now > shown.began {
            parts.push(format!("{per_second:.0} a second"));
        }
        parts.push(format!("{cores:.1} cores busy"));
        parts.push(format!("{} peak", ByteSize(machine::usage().peak_rss_bytes)));
        format!("{}: {}", shown.phase, parts.join(", "))
    }

    /// Samples of what the process used.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        self.samples.borrow().as_slice().to_vec()
    }

    /// Resources of the process so far, for the JSON report.
    pub(crate) fn usage(&self, engine_seconds: f64, peaks: Peaks) -> UsageReport {
        let usage = machine::usage();
        let (wall, cpu) = (self.console.wall().as_secs_f64(), usage.cpu.as_secs_f64());
        let phases = self.phases.borrow();
        UsageReport {
            wall_seconds: wall,
            phase_seconds: phases.iter().map(|(name, time)| (*name, time.as_secs_f64())).collect(),
            thread_seconds: Vec::new(),
            cpu_seconds: cpu,
            cores_busy: cpu / wall,
            cpu_utilisation: cpu / wall / self.threads.get() as f64,
            cpu_hours: cpu / 3600.0,
            core_hours: core_hours(self.threads.get(), wall),
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
    let overhead = machine::space_overhead_bytes(threads);
    UsageError(format!(
        "the limit of address space (ulimit -v) of {limit} is too small: this run needs at least \
         {} (memory {} + {} for the program and {threads} threads); raise it, or ask \
         for fewer threads with -t",
        ByteSize(least_bytes.saturating_add(overhead)),
        ByteSize(least_bytes),
        ByteSize(overhead),
    ))
}
