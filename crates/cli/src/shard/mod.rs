//! `seqloom shard`: one run of `align` in many processes, on one machine or many.
//!
//! The processes share a folder, the *run directory* ([`folder`]), and nothing else: each verb
//! reads what others have published there and publishes its own. Every verb may be run twice, at
//! once or one after the other, and killed at any time. What drives them needs `tasks` alone.
//!
//! ```text
//! plan ─► align × shards ─► mark × parts ─► (count × ranges ─► table) ─► finish × ranges
//!      ─► place × ranges ─► gather
//! ```

mod align;
mod arguments;
mod count;
pub(crate) mod error;
mod finish;
mod folder;
mod gather;
mod loaded;
mod mark;
mod piece;
mod place;
mod plan;
mod plan_file;
mod resume;
mod sealed;
mod status;
mod task;
mod tasks;
mod unsupported;

use std::path::PathBuf;

use seqloom_terminal::Console;
use seqloom_terminal::error::SystemError;

pub(crate) use resume::run as resume;

/// One run of `align` in many processes, on one machine or many
#[derive(Debug, clap::Subcommand)]
pub(crate) enum ShardCommand {
    /// Scan the input and cut it into shards; everything else reads what this writes
    Plan(Box<plan::PlanArguments>),
    /// Align shards
    Align(align::ShardAlignArguments),
    /// Find duplicates in a part of the read ends of all shards
    Mark(mark::MarkArguments),
    /// Count covariates in a range of the output, for recalibration
    Count(arguments::RangeArguments),
    /// Make the recalibration table of all counts
    Table(arguments::TaskArguments),
    /// Sort and encode a range of the output
    Finish(arguments::RangeArguments),
    /// Copy a range to its place in the output
    Place(arguments::RangeArguments),
    /// Put the ranges together: the output, its index, metrics
    Gather(Box<gather::GatherArguments>),
    /// What is done, missing or damaged
    Status(status::StatusArguments),
    /// All tasks but gather, one JSON line each: what a driver reads
    Tasks(tasks::TasksArguments),
}

/// Runs the command.
pub(crate) fn run(command: &ShardCommand, console: &Console) -> seqloom_terminal::Result<()> {
    match command {
        ShardCommand::Plan(arguments) => plan::run(arguments, console),
        ShardCommand::Align(arguments) => align::run(arguments, console),
        ShardCommand::Mark(arguments) => mark::run(arguments, console),
        ShardCommand::Count(arguments) => count::count(arguments, console),
        ShardCommand::Table(arguments) => count::table(arguments, console),
        ShardCommand::Finish(arguments) => finish::run(arguments, console),
        ShardCommand::Place(arguments) => place::run(arguments, console),
        ShardCommand::Gather(arguments) => gather::run(arguments, console),
        ShardCommand::Status(arguments) => status::run(arguments),
        ShardCommand::Tasks(arguments) => tasks::run(arguments),
    }
}

/// The folder that relative paths of a plan are in.
fn current_folder() -> seqloom_terminal::Result<PathBuf> {
    let failed = |error| SystemError(format!("the current folder cannot be found: {error}"));
    Ok(std::env::current_dir().map_err(failed)?)
}
