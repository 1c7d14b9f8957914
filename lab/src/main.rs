//! The `seqloom-lab` command line: how ways to read, lock, schedule, place and write compare on the
//! machine at hand, and what that says of others.

mod commands;

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
    // Without a stderr there is nobody to tell why.
    let Ok(console) = Console::open("seqloom-lab") else { return ExitCode::from(exit::FAILED) };
    let Ok(stderr) = console.stderr() else { return ExitCode::from(exit::FAILED) };
    signals::install(stderr, "seqloom-lab");
    exit::report(commands::run(&arguments.command, &console), &console, exit::common_code)
}
