//! `align --resume`: one run in shards, all of them in this process, in a run directory that is
//! kept in a hidden folder next to the output until that is complete.
//!
//! What `seqloom shard` promises of its tasks holds here, so that a process that is killed leaves
//! nothing that the next one cannot go on from. What is damaged is made again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use seqloom_io::CheckpointFolder;
use seqloom_runtime::error::Class;
use seqloom_terminal::{Console, UsageError};

use super::arguments::{RangeArguments, Share, TaskArguments};
use super::current_folder;
use super::folder::{PLAN, RunFolder, other_program_of};
use super::gather::{self, GatherArguments};
use super::mark::{self, MarkArguments};
use super::plan::{self, Cuts, Request};
use super::plan_file::PlanFile;
use super::task::ShardTask;
use super::{align, count, finish, place, tasks, unsupported};
use crate::align::lanes::LaneSpecs;
use crate::align::{AlignArguments, checks};
use crate::identity::other_program;
use crate::output::arguments::RunArguments;
use crate::output::resume::folder_of;
use crate::output::write_error;

/// Name of the command in refusals.
const WHO: &str = "a run with --resume";
/// The run directory, in the hidden folder.
const RUN: &str = "run";
/// Most damaged files that are made again.
const MOST_REPAIRS: usize = 16;

/// Runs `align --resume`.
///
/// # Errors
/// What `align` and all tasks may say. What is done is kept.
pub(crate) fn run(arguments: &AlignArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if arguments.run.quiet {
        console.be_quiet();
    }
    unsupported::refuse_options(arguments, WHO)?;
    arguments.output.refuse_sam("align --resume")?;
    arguments.output.format()?;
    arguments.output.check_metrics()?;
    let mut machine = arguments.run.clone();
    if let Some(log) = machine.log.take() {
        console.log_to(&log).map_err(write_error(&log))?;
    }
    let kept = CheckpointFolder::open(&folder_of(&arguments.output.output)?)?;
    // Errors name files of the run directory by their whole path.
    let folder = std::path::absolute(kept.path().join(RUN)).map_err(write_error(kept.path()))?;
    if !folder.join(PLAN).exists() {
        clear(&folder)?;
    }
    let mut outcome = make(arguments, &folder, &machine, console);
    for _ in 0..MOST_REPAIRS {
        let Err(error) = &outcome else { break };
        let Some(file) = damaged_file(error, &folder) else { break };
        console.info(&format!("resume: {error:#}; making it again"));
        remove(&file)?;
        outcome = make(arguments, &folder, &machine, console);
    }
    if outcome.is_ok() {
        if let Err(error) = kept.remove() {
            console.error(&format!("seqloom: the output is complete, but: {error}"));
        }
    } else if folder.join(PLAN).exists() {
        console.info(&format!(
            "what is done is kept in {}: the same command goes on from there; to begin anew, \
             remove that folder",
            kept.path().display()
        ));
    } else {
        // There is nothing to go on from, and nobody left to read a report.
        let _ = fs::remove_dir_all(&folder);
    }
    outcome
}

/// Does all that is not done.
fn make(
    arguments: &AlignArguments,
    folder: &Path,
    machine: &RunArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    plan(arguments, folder, machine, console)?;
    let run = RunFolder::open(folder)?;
    align::align_all(&run, machine.clone(), console)?;
    for (task, _) in tasks::all(&run)? {
        if !run.is_done(task)? {
            one(task, &run, machine, console)?;
        }
    }
    let gathered = GatherArguments {
        folder: folder.to_owned(),
        output: arguments.output.output.clone(),
        md5: arguments.output.md5,
        metrics_dir: arguments.output.metrics_dir.clone(),
        json: arguments.output.json.clone(),
        remove: true,
        machine: machine.clone(),
    };
    gather::run(&gathered, console)
}

fn one(
    task: ShardTask,
    run: &RunFolder,
    machine: &RunArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let of_run = TaskArguments { folder: run.path.clone(), machine: machine.clone() };
    let share = |index, of| Share { index, of };
    match task {
        ShardTask::Align(_) => align::align_all(run, machine.clone(), console),
        ShardTask::Mark(part) => {
            let part = share(part, run.plan.parts).into();
            mark::run(&MarkArguments { task: of_run, part }, console)
        }
        ShardTask::Count(range) => {
            let range = share(range, run.plan.ranges);
            count::count(&RangeArguments { task: of_run, range }, console)
        }
        ShardTask::Table => count::table(&of_run, console),
        ShardTask::Finish(range) => {
            let range = share(range, run.plan.ranges);
            finish::run(&RangeArguments { task: of_run, range }, console)
        }
        ShardTask::Place(range) => {
            let range = share(range, run.plan.ranges);
            place::run(&RangeArguments { task: of_run, range }, console)
        }
    }
}

/// Makes the plan, unless this run has one.
fn plan(
    arguments: &AlignArguments,
    folder: &Path,
    machine: &RunArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let here = current_folder()?;
    let text = folder.to_str().ok_or_else(|| {
        UsageError(format!("{} is not valid UTF-8, which a plan requires", folder.display()))
    })?;
    let mut command = vec!["--run".to_owned(), text.to_owned()];
    command.extend(plan::words_behind(1)?);
    let mut align = plan::parsed(&command)?.align;
    align.rebase(&here);
    checks::check_options(&align, &LaneSpecs::of(&align)?)?;
    let files = plan::files(&align)?;
    // The folder is hidden, and goes with the output.
    if let Some(theirs) = fs::read(folder.join(PLAN)).ok().and_then(|it| other_program_of(&it)) {
        let place = folder.parent().unwrap_or(folder).display().to_string();
        return Err(UsageError(other_program(&place, &theirs) + ", or remove the folder").into());
    }
    if let Some(found) = plan::existing(folder)? {
        return match difference(&found, (align, &files))? {
            None => Ok(()),
            Some(what) => Err(UsageError(format!(
                "{} keeps a run that differs in its {what}; go on with that one, or remove the \
                 folder",
                folder.parent().unwrap_or(folder).display()
            ))
            .into()),
        };
    }
    align.run = machine.clone();
    let shard_bases = arguments.resume_bases.unwrap_or(plan::SHARD_BASES);
    let cuts = Cuts {
        shards: None,
        shard_bases,
        parts: None,
        part_bases: plan::PART_BASES.min(shard_bases.get()),
        ranges: None,
        range_bases: plan::RANGE_BASES.min(shard_bases.get()),
        restart_every_bytes: plan::RESTART_EVERY_BYTES,
    };
    let here = here.as_path();
    let request = Request { folder, here, command, align: &align, files, cuts, who: WHO };
    plan::make(request, console)
}

/// Removes what a run left that was killed before it had a plan, or when it was complete and its
/// plan removed: it may have had other options.
fn clear(folder: &Path) -> seqloom_terminal::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(write_error(folder)(error).into())
        }
        _ => Ok(()),
    }
}

/// First difference of the run that was found from this one.
fn difference(
    found: &PlanFile,
    (mut ours, files): (AlignArguments, &[super::plan_file::PlannedFile]),
) -> seqloom_terminal::Result<Option<String>> {
    let mut theirs = plan::parsed(&found.command)?.align;
    theirs.rebase(Path::new(&found.folder));
    // It is the same one, for the folder is next to it.
    theirs.output.output.clone_from(&ours.output.output);
    ours.output.json.clone_from(&theirs.output.json);
    let pairs = ours.identity().into_iter().zip(theirs.identity());
    let option = pairs.into_iter().find(|(ours, theirs)| ours != theirs);
    if let Some(((name, _), _)) = option {
        return Ok(Some(name.to_owned()));
    }
    let differs = |(ours, theirs): &(_, _)| ours != theirs;
    let file = files.iter().zip(&found.files).find(differs);
    let number = (files.len() != found.files.len()).then(|| "number of files".to_owned());
    Ok(file.map(|(ours, _)| format!("file {}", ours.path)).or(number))
}

/// The file of the run directory that is damaged, if that is what is wrong.
fn damaged_file(error: &seqloom_terminal::Error, folder: &Path) -> Option<PathBuf> {
    let file = (error.class() == Class::Damaged).then(|| error.place().file)??;
    Some(PathBuf::from(file)).filter(|path| path.starts_with(folder))
}

/// Removes a task's file and what says that it is done.
fn remove(file: &Path) -> seqloom_terminal::Result<()> {
    // Files of `finish` have a suffix of their own, a description has no other.
    let (parent, name) = (file.parent().unwrap_or(file), file.file_stem().unwrap_or_default());
    let is_of_plan = parent.ends_with("scan");
    let description = match is_of_plan {
        true => parent.with_file_name(PLAN),
        false => parent.join(name).with_extension("json"),
    };
    for path in [description.as_path(), file] {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(write_error(path)(error).into());
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_goes_with_what_says_that_it_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let t = |file: &str, description: &str| {
            for name in [file, description, "align/0002.json"] {
                fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
                fs::write(folder.path().join(name), "x").unwrap();
            }
            remove(&folder.path().join(file)).unwrap();
            assert!(!folder.path().join(file).exists());
            assert!(!folder.path().join(description).exists(), "{description}");
            assert!(folder.path().join("align/0002.json").exists());
        };
        t("align/0001", "align/0001.json");
        t("align/0001.json", "align/0001.json");
        t("finish/0003.bgzf", "finish/0003.json");
        t("finish/0003.parts", "finish/0003.json");
        t("table", "table.json");
        t("scan/0004.1", "plan.json");
    }
}
