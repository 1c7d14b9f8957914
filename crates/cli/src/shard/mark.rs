//! `shard mark`: duplicates of a part of the read ends of all shards.

use seqloom_format::Persist;
use seqloom_prep::duplicates::resolve_all;
use seqloom_prep::partition::{END_PARTITIONS, PhaseResources};
use seqloom_prep::pipeline::Phase;
use seqloom_terminal::{Console, UsageError};

use super::arguments::{Shares, TaskArguments, check_number};
use super::folder::{Clock, RunFolder};
use super::loaded::{Loaded, MARKS};
use super::sealed::write_sealed;
use super::task::ShardTask;
use crate::output::run::MIN_CHUNK_BYTES;

/// Options of `shard mark`.
#[derive(Debug, clap::Args)]
pub(crate) struct MarkArguments {
    #[command(flatten)]
    pub(super) task: TaskArguments,
    /// Part M of the N of the plan, from 0, or parts L to M (`L-M/N`)
    #[arg(long, value_name = "M/N")]
    pub(super) part: Shares,
}

/// Runs the command.
pub(crate) fn run(arguments: &MarkArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let mut clock = Clock::start();
    let Shares { indices, of } = &arguments.part;
    let tasks = |folder: &RunFolder| {
        check_number(*of, folder.plan.parts, "parts of the read ends")?;
        Ok(indices.clone().map(ShardTask::Mark).collect())
    };
    let Some((loaded, left)) = Loaded::unless_all_done(&arguments.task, tasks, console)? else {
        return Ok(());
    };
    if !loaded.marks_duplicates() {
        let text = "the plan leaves duplicates unmarked (--no-mark-duplicates)";
        return Err(UsageError(text.to_owned()).into());
    }
    for task in left {
        mark(&loaded, task, &clock)?;
        loaded.run.close(&format!("shard: {} is done", task.name()));
        clock = Clock::start();
    }
    Ok(())
}

/// Finds the duplicates of a part and publishes them.
fn mark(loaded: &Loaded<'_>, task: ShardTask, clock: &Clock) -> seqloom_terminal::Result<()> {
    let marks_bytes = loaded.marks_bytes();
    let backing = loaded.backing(marks_bytes)?;
    // They are charged when they are made.
    backing.ledger.grow(marks_bytes);
    let duplicates = &loaded.align.duplicates;
    let parts = loaded.folder.plan.parts;
    let ends = loaded.exchanges.ends(
        (&backing, MIN_CHUNK_BYTES as usize),
        (&loaded.libraries, duplicates.read_ends()),
        |partition| ShardTask::Mark(partition * parts / END_PARTITIONS) == task,
    )?;
    let (templates, mode) = (loaded.folder.plan.templates, duplicates.duplicate_mode.into());
    let watch = || loaded.run.watch(Phase::Resolve.name(), (0, None), 0);
    let threads = loaded.run.computing_threads();
    let resources = PhaseResources { backing: &backing, threads, watch: &watch };
    let options = duplicates.options();
    let (marks, counters) = resolve_all(ends, templates, mode, &options, &resources)?;
    let mut state = marks.to_sparse().to_state();
    counters.save(&mut state);
    let file = loaded.folder.create(task, "")?;
    write_sealed(&file, MARKS, &state)?;
    loaded.folder.publish(task, vec![file.into()], clock)
}
