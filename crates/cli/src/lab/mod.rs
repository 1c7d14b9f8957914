//! `seqloom lab`: experiments on the machine at hand.

mod methylation;
mod signal_io;

use crate::console::Console;

/// Commands of `seqloom lab`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LabCommand {
    /// Methylation calling: the papers' structures and ours, workers, and disks of some latency
    Methylation(methylation::MethylationArguments),
    #[command(name = methylation::CALL, hide = true)]
    MethylationCall(methylation::CallArguments),
    /// Reads of raw signal at random: formats, readers, workers, and disks of some latency
    SignalIo(signal_io::SignalIoArguments),
    #[command(name = signal_io::READ, hide = true)]
    SignalIoRead(signal_io::ReadArguments),
}

/// Runs the command.
pub(crate) fn run(command: &LabCommand, console: &Console) -> anyhow::Result<()> {
    match command {
        LabCommand::Methylation(arguments) => methylation::run(arguments, console),
        LabCommand::MethylationCall(arguments) => methylation::call(arguments),
        LabCommand::SignalIo(arguments) => signal_io::run(arguments, console),
        LabCommand::SignalIoRead(arguments) => signal_io::read(arguments),
    }
}
