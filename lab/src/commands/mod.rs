//! A file per command: arguments, experiment, report.

mod fast5;
mod locks;
mod methylation;
mod output;
mod paper;
mod parsing;
mod predict;
mod prep_memory;
mod report;
mod run;
mod scale;
mod schedule;
mod shard;
mod signal_io;

use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use seqloom_io::OutputError;
use seqloom_terminal::error::SystemError;

use seqloom_terminal::{Console, print};

/// Commands of `seqloom-lab`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LabCommand {
    /// Locks: threads that all want one, hand-overs, cost without contention
    Locks(locks::LocksArguments),
    /// Methylation calling: the papers' structures and ours, workers, and disks of some latency
    Methylation(methylation::MethylationArguments),
    #[command(name = methylation::CALL, hide = true)]
    MethylationCall(methylation::CallArguments),
    /// Ways for many threads to write: one file behind a lock, several, one in order
    Output(output::OutputArguments),
    /// The figures and tables of a paper, measured here, on one page
    Paper(paper::PaperArguments),
    /// Five steps of preparation: time and memory by allocator and program
    PrepMemory(prep_memory::PrepMemoryArguments),
    /// Ways to take reads from files by many threads: O, D, B, L, and the source of `align`
    Parsing(parsing::ParsingArguments),
    /// Machines that are not at hand, in bands; and the model against published curves
    Predict(predict::PredictArguments),
    /// Tables and page of `run` once more, from what its folder keeps
    Report(report::ReportArguments),
    /// An experiment that a TOML file describes: plan, runs, tables, page
    Run(run::RunArguments),
    /// How the product and others scale on this machine, in a time that is given
    Scale(scale::ScaleArguments),
    /// Ways to share alignment out: pull, farm, pipeline, processes; more threads than cores
    Schedule(schedule::ScheduleArguments),
    /// One run of one way to share alignment out: prints what it took
    #[command(name = schedule::RUN)]
    ScheduleRun(schedule::RunArguments),
    /// Tasks of a run in shards: timed here, predicted for 1 to 64 nodes
    Shard(shard::ShardArguments),
    /// Reads of raw signal at random: formats, readers, workers, and disks of some latency
    SignalIo(signal_io::SignalIoArguments),
    #[command(name = signal_io::READ, hide = true)]
    SignalIoRead(signal_io::ReadArguments),
    #[command(name = fast5::NAME, hide = true)]
    Fast5Worker(fast5::WorkerArguments),
}

impl LabCommand {
    /// Where the command is a worker process of FAST5's pool: how that ended. It wants no console.
    pub(crate) fn as_worker(&self) -> Option<ExitCode> {
        match self {
            Self::Fast5Worker(arguments) => Some(fast5::run(arguments)),
            _ => None,
        }
    }
}

/// Runs the command.
pub(crate) fn run(command: &LabCommand, console: &Console) -> seqloom_terminal::Result<()> {
    match command {
        LabCommand::Locks(arguments) => locks::run(arguments, console),
        LabCommand::Methylation(arguments) => methylation::run(arguments, console),
        LabCommand::MethylationCall(arguments) => methylation::call(arguments),
        LabCommand::Output(arguments) => output::run(arguments, console),
        LabCommand::Paper(arguments) => paper::run(arguments, console),
        LabCommand::PrepMemory(arguments) => prep_memory::run(arguments, console),
        LabCommand::Parsing(arguments) => parsing::run(arguments, console),
        LabCommand::Predict(arguments) => predict::run(arguments, console),
        LabCommand::Report(arguments) => report::run(arguments, console),
        LabCommand::Run(arguments) => run::run(arguments, console),
        LabCommand::Scale(arguments) => scale::run(arguments, console),
        LabCommand::Schedule(arguments) => schedule::run(arguments, console),
        LabCommand::ScheduleRun(arguments) => schedule::run_one(arguments),
        LabCommand::Shard(arguments) => shard::run(arguments, console),
        LabCommand::SignalIo(arguments) => signal_io::run(arguments, console),
        LabCommand::SignalIoRead(arguments) => signal_io::read(arguments),
        LabCommand::Fast5Worker(_) => Ok(()), // it has run, without a console
    }
}

/// The result of one run, as lines that the experiment which started it reads.
///
/// # Errors
/// When they cannot be written.
fn print_counters<N: Display, V: Display>(counters: &[(N, V)]) -> Result<(), OutputError> {
    let line = |(name, value): &(N, V)| format!("counter\t{name}\t{value}\n");
    print(&counters.iter().map(line).collect::<String>())
}

/// So many minutes from now, after which an experiment begins nothing.
fn deadline(minutes: u64) -> Instant {
    Instant::now() + Duration::from_secs(60 * minutes)
}

/// Another program of this project: the one next to this, else that of the PATH.
fn beside(program: &str) -> Result<PathBuf, SystemError> {
    let beside = std::env::current_exe().map_err(SystemError::new)?.with_file_name(program);
    Ok(if beside.is_file() { beside } else { PathBuf::from(program) })
}

/// The product, which experiments run as it is.
fn product() -> Result<PathBuf, SystemError> {
    beside("seqloom")
}
