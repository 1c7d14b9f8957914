//! Ways to share alignment out among threads, over the source, engines and records of `align`: each
//! is one short flow.
//!
//! * `pull`: workers claim; the flow of `align`.
//! * `farm`: an emitter hands out (Misale 2014); plain, pinned, and with the index interleaved.
//! * `pipeline`: masters read and write in turn, workers steal (BWA-MEM).
//! * `processes`: so many of 16 threads (Langmead 2018's baseline).
//!
//! Records are those of `align`. It learns a model from each cohort of pairs, which makes all pairs
//! of a cohort wait for the last; that would be a barrier in all schedules alike, so none
//! but `pull` has it, and bwa is given the insert sizes.
//!
//! [`run_one`] is one run in this process; [`Schedules`] runs a program for each, so that memory,
//! processor time and context switches are the run's own.

mod aligning;
mod counters;
mod engines;
mod farm;
mod input;
mod one;
mod pipeline;
mod processes;
mod pull;
mod report;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::time::Instant;

use seqloom_align::engine::bwa;

pub(crate) use self::counters::{COUNTED, empty_counted};
pub(crate) use self::engines::PRESETS;
pub(crate) use self::engines::Subject;
pub(crate) use self::input::made;
pub(crate) use self::one::{Configuration, run_one};
pub(crate) use self::processes::READY;
pub(crate) use self::processes::THREADS_PER_PROCESS;
pub(crate) use self::report::RESULTS;

/// Insert sizes of pairs, as bwa takes them.
pub(crate) use bwa::InsertSize;

use crate::experiment::{Counters, LabError, Run, Work, perform};
use crate::output::load_average;
use crate::table::Table;

/// Bases that a pipeline reads at a time for each worker. BWA-MEM has 10 million; this makes
/// several chunks of a small input.
pub(crate) const CHUNK_BASES: u64 = 250_000;

/// Factors of the table.
pub(crate) const FACTORS: [&str; 3] = ["schedule", "engine", "threads"];
/// The fact that says why there are no counters of processors.
pub(crate) const NO_COUNTERS: &str = "hardware counters";
/// Counters of the table; see [`run_one`].
pub(crate) const COUNTERS: [&str; 15] = [
    "align_us",
    "reads",
    "records",
    "threads_all",
    "engine_busy_us",
    "master_busy_us",
    "flow_cpu_s",
    "sleeps",
    "output_held_ns",
    "output_wait_ns",
    "contended_rmws",
    "voluntary_switches",
    "involuntary_switches",
    "peak_rss_bytes",
    "load_average",
];

/// A way to share alignment out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// Workers claim.
    Pull,
    /// A farm, its workers wherever the kernel puts them.
    Farm,
    /// A farm, each worker pinned to a core.
    FarmPinned,
    /// The same, with the index's pages interleaved over the nodes.
    FarmInterleaved,
    /// A pipeline.
    Pipeline,
    /// Processes of 16 threads, which pull.
    Multiprocess,
}

impl Schedule {
    /// All, in the order in which reports show them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Pull,
        Self::Farm,
        Self::FarmPinned,
        Self::FarmInterleaved,
        Self::Pipeline,
        Self::Multiprocess,
    ];

    /// Its name.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Farm => "farm",
            Self::FarmPinned => "farm-pinned",
            Self::FarmInterleaved => "farm-interleaved",
            Self::Pipeline => "pipeline",
            Self::Multiprocess => "multiprocess",
        }
    }

    /// Whether it needs the kernel's leave to place memory.
    #[must_use]
    pub(crate) fn is_placed(self) -> bool {
        matches!(self, Self::FarmPinned | Self::FarmInterleaved)
    }

    /// All threads of a run with so many workers.
    fn threads(self, workers: NonZeroUsize) -> usize {
        match self {
            Self::Pull | Self::Multiprocess => workers.get(),
            Self::Farm | Self::FarmPinned | Self::FarmInterleaved => workers.get() + 1,
            Self::Pipeline => pipeline::threads(workers),
        }
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|schedule| schedule.name() == text);
        found.ok_or_else(|| format!("must be one of {}", names()))
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs of all schedules.
#[derive(Debug, Clone)]
pub(crate) struct Schedules {
    /// Program and arguments that make it one run.
    pub(crate) run: Vec<String>,
    /// Folder for what is read and written.
    pub(crate) work: PathBuf,
    /// What is aligned.
    pub(crate) input: Input,
    /// An index of the genome that the reads are of, for engines that align.
    pub(crate) reference: Option<PathBuf>,
    /// Schedules.
    pub(crate) schedules: Vec<Schedule>,
    /// Engines, by their names on the command line.
    pub(crate) engines: Vec<String>,
    /// Numbers of workers.
    pub(crate) threads: Vec<u32>,
    /// Repeats of all runs.
    pub(crate) repeats: u32,
    /// No round of runs is begun later.
    pub(crate) deadline: Option<Instant>,
}

/// What runs came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) table: Table,
    /// Counters of processors; see [`COUNTED`].
    pub(crate) counted: Table,
    /// Why there are none, if there are none.
    pub(crate) no_counters: Option<String>,
}

/// The reads of all runs.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    /// Random ones, which are made: so many, in pairs if need be.
    Made { reads: u64, is_paired: bool },
    /// Of files, one or two of a pair.
    Files(Vec<PathBuf>),
}

/// The levels of a run's factors.
#[derive(Clone, Copy)]
struct Factors<'a> {
    schedule: Schedule,
    /// By its name on the command line.
    engine: &'a str,
    threads: u32,
}

impl Schedules {
    /// Checks that all schedules give the same records, then makes all runs; `progress` is called
    /// with what is done next.
    ///
    /// # Errors
    /// A run fails, or one gives other records.
    pub(crate) fn run(&self, tell: &mut dyn FnMut(&str)) -> Result<Outcome, LabError> {
        tell("data");
        let inputs = match &self.input {
            Input::Made { reads, is_paired } => made(&self.work, *reads, *is_paired)?,
            Input::Files(files) => files.clone(),
        };
        tell("that all schedules give the same records");
        self.compare(&inputs)?;
        let mut table = RESULTS.empty_table();
        for repeat in 1..=self.repeats {
            for &threads in &self.threads {
                if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    tell("no time is left");
                    break;
                }
                for engine in &self.engines {
                    tell(&format!("repeat {repeat}, {threads} threads, {engine}"));
                    for &schedule in &self.schedules {
                        self.one(&inputs, Factors { schedule, engine, threads }, &[], &mut table)?;
                    }
                }
            }
        }
        let is_late = self.deadline.is_some_and(|deadline| deadline <= Instant::now());
        let no_counters = counters::obstacle().or(is_late.then(|| "no time was left".to_owned()));
        let counted = match no_counters {
            None => self.counted(&inputs, tell)?,
            Some(_) => empty_counted(),
        };
        fs::remove_dir_all(self.output()).map_err(LabError::file(&self.output()))?;
        Ok(Outcome { table, counted, no_counters })
    }

    fn output(&self) -> PathBuf {
        self.work.join("output")
    }

    fn one(
        &self,
        inputs: &[PathBuf],
        factors: Factors<'_>,
        more: &[&str],
        table: &mut Table,
    ) -> Result<(), LabError> {
        let Factors { schedule, engine, threads } = factors;
        let mut command = self.command(inputs, factors, &[]);
        command.args(more);
        let factors = [schedule.name(), engine, &threads.to_string()].map(str::to_owned).to_vec();
        let after = || -> Counters { vec![("load_average".to_owned(), load_average())] };
        let work = Work::Program(Box::new(command));
        perform(&mut Run { factors, work, after: Box::new(after) }, table)
    }

    /// The program of a run, after the words `before` it.
    fn command(&self, inputs: &[PathBuf], factors: Factors<'_>, before: &[String]) -> Command {
        let Factors { schedule, engine, threads } = factors;
        let mut words = before.iter().chain(&self.run);
        let mut command = Command::new(words.next().map_or("", String::as_str));
        command.args(words).args(["--schedule", schedule.name(), "--engine", engine]);
        command.args(["--threads", &threads.to_string()]).arg("--output").arg(self.output());
        inputs.iter().for_each(|input| {
            command.arg("--input").arg(input);
        });
        if engine.parse::<Subject>().is_ok_and(|subject| subject.aligns()) {
            command.args(
                self.reference.iter().flat_map(|it| [OsStr::new("--reference"), it.as_os_str()]),
            );
        }
        command
    }

    /// Runs every schedule with more threads than one process has, in order where that is possible.
    fn compare(&self, inputs: &[PathBuf]) -> Result<(), LabError> {
        let mut table = Table::new(&FACTORS, &["records", "digest"]);
        let threads = THREADS_PER_PROCESS as u32 + 1;
        for &schedule in &self.schedules {
            let factors = Factors { schedule, engine: "null", threads };
            self.one(inputs, factors, &["--digest"], &mut table)?;
        }
        let first = table.rows.first().map(|row| row.values.clone());
        let other = table.rows.iter().find(|row| Some(&row.values) != first.as_ref());
        other.map_or(Ok(()), |row| {
            let why = "gives other records than the first schedule".to_owned();
            Err(LabError::Failed { factors: row.factors.join(" "), why })
        })
    }
}
