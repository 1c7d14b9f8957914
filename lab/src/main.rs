//! `seqloom-lab`: how the ways to read, lock, parse, schedule, place and write that papers compare
//! behave on the machine at hand, and what that says of others. The product uses nothing of this.
//!
//! An experiment is a plan of runs ([`experiment`]), each a program or a piece of code with some
//! factors set; what is measured becomes a table of tab-separated values ([`table`]) and a report
//! with plots. A file in [`commands`] has the arguments of one experiment and runs it.

mod campaign;
mod commands;
mod digest;
mod evict;
mod experiment;
mod latency;
mod locks;
mod methylation;
mod output;
mod paper;
mod parsing;
mod predict;
mod prep_memory;
mod process;
mod programs;
mod random;
mod schedule;
mod shard;
mod signal_io;
mod sinks;
mod table;
mod watch;

use std::process::ExitCode;

use clap::Parser;
use seqloom_terminal::{Console, exit, signals};

/// The allocator of the product, whose code is measured here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures how ways of working compare on this machine, and predicts others.
#[derive(Debug, Parser)]
#[command(name = "seqloom-lab", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: commands::LabCommand,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(ended) = arguments.command.as_worker() {
        return ended;
    }
    // Without a stderr there is nobody to report it to.
    let Ok(console) = Console::open("seqloom-lab") else { return ExitCode::from(exit::FAILED) };
    let Ok(stderr) = console.stderr() else { return ExitCode::from(exit::FAILED) };
    signals::install(stderr, "seqloom-lab");
    exit::report(commands::run(&arguments.command, &console), &console)
}
