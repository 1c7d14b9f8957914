//! `seqloom fastq`: FASTQ files themselves.

mod check;
mod pad;

use seqloom_terminal::Console;

/// Commands of `seqloom fastq`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum FastqCommand {
    /// Say what files are, how reading them scales, and what to do about it
    Check(check::CheckArguments),
    /// Rewrite files so that blocks of equal size hold equal numbers of reads
    Pad(pad::PadArguments),
}

/// Runs the command.
pub(crate) fn run(command: &FastqCommand, console: &Console) -> seqloom_terminal::Result<()> {
    match command {
        FastqCommand::Check(arguments) => check::run(arguments),
        FastqCommand::Pad(arguments) => pad::run(arguments, console),
    }
}
