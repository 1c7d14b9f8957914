//! `seqloom lab`: experiments on the machine at hand.

mod locks;
mod methylation;
mod output;
mod parsing;
mod predict;
mod prep_memory;
mod report;
mod run;
mod schedule;
mod signal_io;
mod topology;

use std::fmt::Display;

use seqloom_io::sink::output::OutputError;

use crate::console::{Console, print};

/// Commands of `seqloom lab`.
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
    /// Five steps of preparation: time and memory by allocator and program
    PrepMemory(prep_memory::PrepMemoryArguments),
    /// Ways to take reads from files by many threads: O, D, B, L, and the source of `align`
    Parsing(parsing::ParsingArguments),
    /// Machines that are not at hand, in bands; and the model against published curves
    Predict(predict::PredictArguments),
    /// Tables and page of `lab run` once more, from what its folder keeps
    Report(report::ReportArguments),
    /// An experiment that a TOML file describes: plan, runs, tables, page
    Run(run::RunArguments),
    /// Ways to share alignment out: pull, farm, pipeline, processes; more threads than cores
    Schedule(schedule::ScheduleArguments),
    /// One run of one way to share alignment out: prints what it took
    #[command(name = schedule::RUN)]
    ScheduleRun(schedule::RunArguments),
    /// Reads of raw signal at random: formats, readers, workers, and disks of some latency
    SignalIo(signal_io::SignalIoArguments),
    /// The machine: nodes, cores, distances, memory, page sizes, and what of it may be used
    Topology(topology::TopologyArguments),
    #[command(name = signal_io::READ, hide = true)]
    SignalIoRead(signal_io::ReadArguments),
}

/// Runs the command.
pub(crate) fn run(command: &LabCommand, console: &Console) -> anyhow::Result<()> {
    match command {
        LabCommand::Locks(arguments) => locks::run(arguments, console),
        LabCommand::Methylation(arguments) => methylation::run(arguments, console),
        LabCommand::MethylationCall(arguments) => methylation::call(arguments),
        LabCommand::Output(arguments) => output::run(arguments, console),
        LabCommand::PrepMemory(arguments) => prep_memory::run(arguments, console),
        LabCommand::Parsing(arguments) => parsing::run(arguments, console),
        LabCommand::Predict(arguments) => predict::run(arguments, console),
        LabCommand::Report(arguments) => report::run(arguments, console),
        LabCommand::Run(arguments) => run::run(arguments, console),
        LabCommand::Schedule(arguments) => schedule::run(arguments, console),
        LabCommand::ScheduleRun(arguments) => schedule::run_one(arguments),
        LabCommand::SignalIo(arguments) => signal_io::run(arguments, console),
        LabCommand::Topology(arguments) => topology::run(arguments, console),
        LabCommand::SignalIoRead(arguments) => signal_io::read(arguments),
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
