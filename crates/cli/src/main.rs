//! The `seqloom` command line: a file or folder per command, each a readable flow.

mod align;
mod allocator;
#[cfg(feature = "columns")]
mod columns;
mod cram_input;
mod fastq;
mod host;
mod identity;
mod index;
mod manual_pages;
mod options;
mod options_given;
mod options_page;
mod output;
mod prep;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod processor;
mod read_names;
mod recalibration;
#[cfg(feature = "signal")]
mod region;
mod same_file;
mod shard;
#[cfg(feature = "signal")]
mod signal;
mod topology;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use seqloom_terminal::{Console, exit, signals};

/// Turns sequencing reads into analysis-ready data on every core a machine has.
#[derive(Debug, Parser)]
#[command(name = "seqloom", version, propagate_version = false, arg_required_else_help = true)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Print how to cite seqloom and what it is built on (CITATION.cff)
    #[arg(long)]
    citation: bool,
    /// Print what commands and options there are, as JSON, for programs that call them
    #[arg(long, hide = true)]
    dump_options: bool,
    #[command(flatten)]
    host: host::HostArguments,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Build the reference index that `align` needs
    Index(index::IndexArguments),
    /// Align reads; sort, mark duplicates and index the output in the same run
    Align(Box<align::AlignArguments>),
    /// Sort, mark duplicates, filter and fix aligned reads in one pass
    Prep(Box<prep::PrepArguments>),
    /// Alignments, reads or raw signal as columns: a stream of Arrow record batches
    #[cfg(feature = "columns")]
    Columns(columns::ColumnsArguments),
    /// One run of `align` in many processes, on one machine or many
    #[command(subcommand)]
    Shard(shard::ShardCommand),
    /// FASTQ files: what they are and how they scale; padded blocks
    #[command(subcommand)]
    Fastq(fastq::FastqCommand),
    /// Nanopore raw signal: SLOW5, BLOW5, FAST5, POD5
    #[cfg(feature = "signal")]
    #[command(subcommand)]
    Signal(signal::SignalCommand),
    /// The machine: nodes, cores, distances, memory, page sizes, and what of it may be used
    Topology(topology::TopologyArguments),
    /// Completions of commands and options for a shell: bash, zsh, fish
    Completions(manual_pages::CompletionsArguments),
    /// Write the man pages
    #[command(hide = true)]
    Manual(manual_pages::ManualArguments),
    #[cfg(feature = "signal")]
    #[command(name = signal::fast5_worker::NAME, hide = true)]
    Fast5Worker(signal::fast5_worker::WorkerArguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    #[cfg(feature = "signal")]
    if let Some(Command::Fast5Worker(arguments)) = arguments.command {
        return signal::fast5_worker::run(&arguments);
    }
    // Without a stderr there is nobody to report it to.
    let Ok(console) = Console::open("seqloom") else { return ExitCode::from(exit::FAILED) };
    let Ok(stderr) = console.stderr() else { return ExitCode::from(exit::FAILED) };
    signals::install(stderr, "seqloom");
    let Ok(stderr) = console.stderr() else { return ExitCode::from(exit::FAILED) };
    allocator::set_stderr(stderr);
    let outcome = arguments.host.apply(&console).and_then(|()| match arguments.command {
        Some(command) => run(command, &console),
        None if arguments.dump_options => options::dump(Arguments::command()),
        // Without any argument there is the help.
        None => manual_pages::cite(),
    });
    exit::report(outcome, &console)
}

fn run(command: Command, console: &Console) -> seqloom_terminal::Result<()> {
    match command {
        Command::Index(arguments) => index::run(&arguments, console),
        Command::Align(arguments) if arguments.resume => shard::resume(&arguments, console),
        Command::Align(arguments) => align::run(&arguments, console),
        Command::Prep(arguments) => prep::run(&arguments, console),
        #[cfg(feature = "columns")]
        Command::Columns(arguments) => columns::run(&arguments, console),
        Command::Shard(command) => shard::run(&command, console),
        Command::Fastq(command) => fastq::run(&command, console),
        #[cfg(feature = "signal")]
        Command::Signal(command) => signal::run(&command, console),
        Command::Topology(arguments) => topology::run(&arguments, console),
        Command::Completions(arguments) => {
            manual_pages::completions(&arguments, Arguments::command())
        }
        Command::Manual(arguments) => {
            manual_pages::manual(&arguments, Arguments::command(), console)
        }
        #[cfg(feature = "signal")]
        Command::Fast5Worker(_) => Ok(()), // it has run, without a console
    }
}
