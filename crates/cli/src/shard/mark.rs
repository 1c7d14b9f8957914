//! `shard mark`: duplicates of a part of the read ends of all shards.

use seqloom_format::state::State;
use seqloom_prep::duplicates::resolve_all;
use seqloom_prep::partition::collect::END_PARTITIONS;
use seqloom_prep::partition::store::PhaseResources;
use seqloom_terminal::{Console, UsageError, signals};

use super::arguments::{Share, TaskArguments};
use super::folder::{Clock, Task, write_sealed};
use super::loaded::{Loaded, MARKS};
use crate::output::run::MIN_CHUNK_BYTES;

/// Options of `shard mark`.
#[derive(Debug, clap::Args)]
pub(crate) struct MarkArguments {
    #[command(flatten)]
    pub(super) task: TaskArguments,
    /// Part M of the read ends of all shards, from 0
    #[arg(long, value_name = "M/16")]
    pub(super) part: Share,
}

/// Runs the command.
pub(crate) fn run(arguments: &MarkArguments, console: &Console) -> anyhow::Result<()> {
    let clock = Clock::start();
    let part = arguments.part;
    let task = |folder: &super::folder::RunFolder| {
        Ok(Task::Mark(part.check(folder.plan.parts, "parts of the read ends")?))
    };
    let Some((loaded, task)) = Loaded::unless_done(&arguments.task, task, console)? else {
        return Ok(());
    };
    if !loaded.marks_duplicates() {
        let text = "the plan leaves duplicates unmarked (--no-mark-duplicates)";
        return Err(UsageError(text.to_owned()).into());
    }
    signals::defer();
    let marks_bytes = loaded.marks_bytes();
    let backing = loaded.backing(marks_bytes)?;
    // They are charged when they are made.
    backing.ledger.grow(marks_bytes);
    let duplicates = &loaded.align.duplicates;
    let of_part = END_PARTITIONS / part.of;
    let ends = loaded.exchanges.ends(
        (&backing, MIN_CHUNK_BYTES as usize),
        (&loaded.libraries, duplicates.read_ends()),
        |partition| partition / of_part == part.index,
    )?;
    let (templates, mode) = (loaded.folder.plan.templates, duplicates.duplicate_mode.into());
    let watch = || loaded.run.watch("duplicates", (0, None), 0);
    let threads = loaded.run.computing_threads();
    let resources = PhaseResources { backing: &backing, threads, watch: &watch };
    let options = duplicates.options();
    let resolved = resolve_all(ends, templates, mode, &options, &resources)?;
    let (marks, counters) = resolved;
    let mut state = marks.to_sparse().to_state();
    counters.save(&mut state);
    let file = loaded.folder.create(task, "")?;
    write_sealed(&file, MARKS, &state)?;
    loaded.folder.publish(task, vec![file.into()], &clock)?;
    loaded.run.close(&format!("shard: {} is done", task.name()));
    Ok(())
}
