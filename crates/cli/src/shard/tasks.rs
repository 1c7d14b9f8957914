//! `shard tasks`: the graph of a run, which is all that a driver knows of it.

use std::io::Write;
use std::path::PathBuf;

use seqloom_terminal::UsageError;
use seqloom_terminal::error::Bug;
use serde::Serialize;

use super::folder::RunFolder;
use super::loaded::planned_options;
use super::task::ShardTask;
use crate::align::memory::{MIN_STORE_BYTES, PROGRAM_BYTES, WORKER_BYTES};
use crate::output::write_error;

/// Options of `shard tasks`.
#[derive(Debug, clap::Args)]
pub(crate) struct TasksArguments {
    /// The run directory
    #[arg(long = "run", value_name = "RUN")]
    folder: PathBuf,
}

/// A line of the output.
#[derive(Debug, Serialize)]
struct TaskLine {
    id: String,
    verb: &'static str,
    /// Words after `seqloom shard VERB`.
    arguments: Vec<String>,
    /// Tasks that must be done first.
    needs: Vec<String>,
    /// The file that says that it is done.
    done: String,
    /// Threads that are of use.
    cores: usize,
    memory_floor_bytes: u64,
}

/// Every task but `gather`, those that others need before them; while the input is scanned,
/// the shards that are known.
///
/// # Errors
/// Options of the plan that are none.
pub(super) fn all(
    folder: &RunFolder,
) -> seqloom_terminal::Result<Vec<(ShardTask, Vec<ShardTask>)>> {
    let options = planned_options(folder)?;
    let plan = &folder.plan;
    let align: Vec<_> = (0..plan.shards.len()).map(ShardTask::Align).collect();
    let mut needed = align.clone();
    let mut tasks: Vec<(ShardTask, Vec<ShardTask>)> =
        align.iter().map(|&it| (it, Vec::new())).collect();
    if !folder.is_planned {
        return Ok(tasks);
    }
    if !options.duplicates.no_mark_duplicates {
        let marks = (0..plan.parts).map(ShardTask::Mark);
        tasks.extend(marks.clone().map(|it| (it, align.clone())));
        needed = marks.collect();
    }
    if options.recalibration.counts() {
        let counts = (0..plan.ranges).map(ShardTask::Count);
        tasks.extend(counts.clone().map(|it| (it, needed.clone())));
        tasks.push((ShardTask::Table, counts.collect()));
        needed = vec![ShardTask::Table];
    }
    let finish = (0..plan.ranges).map(ShardTask::Finish);
    tasks.extend(finish.clone().map(|it| (it, needed.clone())));
    needed = finish.collect();
    // Containers of CRAM are numbered as they are put together.
    if !options.output.is_cram() {
        tasks.extend((0..plan.ranges).map(|it| (ShardTask::Place(it), needed.clone())));
    }
    Ok(tasks)
}

/// Runs the command.
pub(super) fn run(arguments: &TasksArguments) -> seqloom_terminal::Result<()> {
    let folder = RunFolder::open_early(&arguments.folder)?;
    let Some(path) = folder.path.to_str() else {
        let text = format!("{} is not valid UTF-8, which JSON requires", folder.path.display());
        return Err(UsageError(text).into());
    };
    let mut out = std::io::stdout().lock();
    for (task, needs) in all(&folder)? {
        let plan = &folder.plan;
        let of_run = ["--run".to_owned(), path.to_owned()].into_iter();
        let floor = PROGRAM_BYTES + plan.threads as u64 * WORKER_BYTES + MIN_STORE_BYTES;
        let line = TaskLine {
            id: task.name(),
            verb: task.verb(),
            arguments: of_run.chain(task.option(plan)).collect(),
            needs: needs.into_iter().map(ShardTask::name).collect(),
            done: format!("{}.json", task.name()),
            cores: if matches!(task, ShardTask::Table | ShardTask::Place(_)) {
                1
            } else {
                plan.threads
            },
            memory_floor_bytes: match task {
                ShardTask::Align(_) => plan.align_floor_bytes,
                ShardTask::Place(_) => PROGRAM_BYTES,
                _ => floor,
            },
        };
        let line = serde_json::to_string(&line).map_err(Bug::new)?;
        writeln!(out, "{line}").map_err(write_error("standard output".as_ref()))?;
    }
    Ok(())
}
