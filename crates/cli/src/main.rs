//! The `seqloom` command line: one file per command, each a readable flow.

mod align;
mod allocator;
mod clash;
mod console;
mod exit;
mod fastq;
mod index;
mod lab;
mod output;
mod prep;
mod recalibration;
mod signal;
mod signals;
mod usage;

use std::process::ExitCode;

use clap::Parser;

/// Turns sequencing reads into analysis-ready data on every core a machine has.
#[derive(Debug, Parser)]
#[command(name = "seqloom", version, propagate_version = false, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Build the reference index that `align` needs
    Index(index::IndexArguments),
    /// Align reads; sort, mark duplicates and index the output in the same run
    Align(Box<align::AlignArguments>),
    /// Sort, mark duplicates, filter and fix aligned reads in one pass
    Prep(Box<prep::PrepArguments>),
    /// FASTQ files: what they are and how they scale; padded blocks
    #[command(subcommand)]
    Fastq(fastq::FastqCommand),
    /// Nanopore raw signal: SLOW5, BLOW5, FAST5, POD5
    #[command(subcommand)]
    Signal(signal::SignalCommand),
    /// Measure how ways of working compare on this machine
    #[command(subcommand)]
    Lab(lab::LabCommand),
    #[command(name = signal::fast5_worker::NAME, hide = true)]
    Fast5Worker(signal::fast5_worker::WorkerArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Command::Fast5Worker(arguments) = arguments.command {
        return signal::fast5_worker::run(&arguments);
    }
    // Without a stderr there is nobody to tell why.
    let Ok(console) = console::Console::open() else { return ExitCode::from(exit::FAILED) };
    let Ok(stderr) = console.stderr() else { return ExitCode::from(exit::FAILED) };
    signals::install(stderr);
    let Ok(stderr) = console.stderr() else { return ExitCode::from(exit::FAILED) };
    allocator::tell(stderr);
    let outcome = match arguments.command {
        Command::Index(arguments) => index::run(&arguments, &console),
        Command::Align(arguments) => align::run(&arguments, &console),
        Command::Prep(arguments) => prep::run(&arguments, &console),
        Command::Fastq(command) => fastq::run(&command, &console),
        Command::Signal(command) => signal::run(&command, &console),
        Command::Lab(command) => lab::run(&command, &console),
        Command::Fast5Worker(_) => Ok(()), // it has run, without a console
    };
    exit::report(outcome, &console)
}
