//! `seqloom lab`: experiments on the machine at hand.

mod prep_memory;
mod signal_io;

use crate::console::Console;

/// Commands of `seqloom lab`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LabCommand {
    /// Five steps of preparation: time and memory by allocator and program
    PrepMemory(prep_memory::PrepMemoryArguments),
    /// Reads of raw signal at random: formats, readers, workers, and disks of some latency
    SignalIo(signal_io::SignalIoArguments),
    #[command(name = signal_io::READ, hide = true)]
    SignalIoRead(signal_io::ReadArguments),
}

/// Runs the command.
pub(crate) fn run(command: &LabCommand, console: &Console) -> anyhow::Result<()> {
    match command {
        LabCommand::PrepMemory(arguments) => prep_memory::run(arguments, console),
        LabCommand::SignalIo(arguments) => signal_io::run(arguments, console),
        LabCommand::SignalIoRead(arguments) => signal_io::read(arguments),
    }
}
