//! `seqloom lab`: experiments on the machine at hand.

mod locks;
mod parsing;
mod signal_io;

use crate::console::Console;

/// Commands of `seqloom lab`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LabCommand {
    /// Locks: threads that all want one, hand-overs, cost without contention
    Locks(locks::LocksArguments),
    /// Ways to take reads from files by many threads: O, D, B, L, and the source of `align`
    Parsing(parsing::ParsingArguments),
    /// Reads of raw signal at random: formats, readers, workers, and disks of some latency
    SignalIo(signal_io::SignalIoArguments),
    #[command(name = signal_io::READ, hide = true)]
    SignalIoRead(signal_io::ReadArguments),
}

/// Runs the command.
pub(crate) fn run(command: &LabCommand, console: &Console) -> anyhow::Result<()> {
    match command {
        LabCommand::Locks(arguments) => locks::run(arguments, console),
        LabCommand::Parsing(arguments) => parsing::run(arguments, console),
        LabCommand::SignalIo(arguments) => signal_io::run(arguments, console),
        LabCommand::SignalIoRead(arguments) => signal_io::read(arguments),
    }
}
