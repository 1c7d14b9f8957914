//! `shard align`: aligns shards and publishes what was collected of each.

use std::io::{BufRead, Write};
use std::num::NonZeroUsize;
use std::str::FromStr;

use seqloom_align::engine::{CohortEngine, Replicated};
use seqloom_align::index::{self, IndexInfo};
use seqloom_io::spill::SpillFile;
use seqloom_prep::exchange::{self, PartTotals};
use seqloom_prep::partition::{Backing, PhaseResources};
use seqloom_prep::pipeline::Phase;
use seqloom_runtime::memory::Ledger;
use seqloom_runtime::placement::{self, Plan};
use seqloom_terminal::error::Bug;
use seqloom_terminal::exit;
use seqloom_terminal::{Console, UsageError};
use serde::Serialize;

use super::arguments::TaskArguments;
use super::error::ShardError;
use super::folder::{Clock, NewFile, RunFolder, shard_name};
use super::loaded::{check_files, planned_options};
use super::task::ShardTask;
use crate::align::certified::CertifiedRun;
use crate::align::job::{Job, OpenedJob};
use crate::align::lanes::LaneSpecs;
use crate::align::summary::log_outside;
use crate::align::{AlignArguments, EngineChoice, fake, load_bwa, numa, sorted};
use crate::allocator;
use crate::output::arguments::RunArguments;
use crate::output::progress::PhaseWeight;
use crate::output::{read_error, write_error};

/// Weights of phases: shares of the wall time.
const PHASES: [PhaseWeight; 2] = [(Phase::Ingest.name(), 95.0), ("exchange", 5.0)];

/// Options of `shard align`.
#[derive(Debug, clap::Args)]
pub(crate) struct ShardAlignArguments {
    #[command(flatten)]
    task: TaskArguments,
    /// Shard A, shards A to B (`A-B`), or `-`: numbers from standard input, a JSON line of answer
    /// for each, while the index stays loaded
    #[arg(long, value_name = "A[-B]", allow_hyphen_values = true)]
    shard: Which,
}

/// Which shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    FromInput,
    Range(usize, usize),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "-" {
            return Ok(Self::FromInput);
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self::Range(first, last)),
            _ => Err("must be a number, A-B, or -".to_owned()),
        }
    }
}

/// The answer to a number from standard input.
#[derive(Serialize)]
struct Answer {
    shard: Option<usize>,
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Exit code that a process would have had.
    exit_code: u8,
}

/// Runs the command.
pub(super) fn run(
    arguments: &ShardAlignArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    if arguments.task.machine.quiet {
        console.be_quiet();
    }
    let folder = RunFolder::open_early(&arguments.task.folder)?;
    let mut machine = arguments.task.machine.clone();
    // All shards write to one log.
    if let Some(log) = machine.log.take() {
        console.log_to(&log).map_err(write_error(&log))?;
    }
    align_shards(&folder, machine, arguments.shard, console)
}

/// Aligns all shards, but for those that are done.
///
/// # Errors
/// The first failure.
pub(super) fn align_all(
    folder: &RunFolder,
    machine: RunArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    align_shards(folder, machine, Which::Range(0, folder.plan.shards.len() - 1), console)
}

fn align_shards(
    folder: &RunFolder,
    machine: RunArguments,
    which: Which,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let mut align = planned_options(folder)?;
    align.run = machine;
    if let Which::Range(first, last) = which {
        let done: Result<Vec<bool>, _> =
            (first..=last).map(|shard| folder.is_done(shard_task(folder, shard)?)).collect();
        if done?.iter().all(|&done| done) {
            console.info("shard: all of these shards are done already");
            return Ok(());
        }
    }
    let inputs: Vec<_> = align.inputs().cloned().collect();
    let is_index = |path: &std::path::Path| {
        index::IndexPaths::new(&align.reference).all().iter().any(|it| it == path)
    };
    check_files(folder, |path| is_index(path) || inputs.iter().any(|it| it == path))?;
    let index = index::check(&align.reference)?;
    let shards = Shards { folder, align: &align, index: &index, console };
    match &align.algorithm.engine {
        EngineChoice::OfMode => {
            let load = |certified: &_, threads| load_bwa(&align, &index, certified, threads);
            shards.run(load, which)
        }
        EngineChoice::Fake(options) => shards.run(|_, _| Ok(fake(options.clone(), &index)), which),
    }
}

fn shard_task(folder: &RunFolder, shard: usize) -> seqloom_terminal::Result<ShardTask> {
    let shards = folder.plan.shards.len();
    if shard < shards {
        return Ok(ShardTask::Align(shard));
    }
    if !folder.is_planned {
        let path = folder.file(&shard_name(shard));
        return Err(ShardError::NotDone { task: "plan".to_owned(), path }.into());
    }
    Err(UsageError(format!("there is no shard {shard}: the plan has {shards}, from 0")).into())
}

/// State of all shards of this process.
struct Shards<'a> {
    folder: &'a RunFolder,
    align: &'a AlignArguments,
    index: &'a IndexInfo,
    console: &'a Console,
}

impl Shards<'_> {
    /// Loads the engine with the first shard that is not done, and keeps it for the others.
    fn run<E: CohortEngine + Send>(
        &self,
        load: impl Fn(&CertifiedRun, NonZeroUsize) -> seqloom_terminal::Result<E> + Sync,
        which: Which,
    ) -> seqloom_terminal::Result<()> {
        let mut loaded = None;
        match which {
            Which::Range(first, last) => {
                (first..=last).try_for_each(|shard| self.align(shard, &load, &mut loaded))
            }
            Which::FromInput => {
                for line in std::io::stdin().lock().lines() {
                    let line = line.map_err(read_error("standard input".as_ref()))?;
                    self.answer(line.trim(), &load, &mut loaded)?;
                }
                Ok(())
            }
        }
    }

    fn answer<E: CohortEngine + Send>(
        &self,
        line: &str,
        load: &(impl Fn(&CertifiedRun, NonZeroUsize) -> seqloom_terminal::Result<E> + Sync),
        loaded: &mut Option<PlacedEngine<E>>,
    ) -> seqloom_terminal::Result<()> {
        let shard = line.parse::<usize>().ok();
        let outcome = match shard {
            Some(shard) => self.align(shard, load, loaded),
            None => Err(UsageError(format!("'{line}' is not a shard number")).into()),
        };
        let answer = match &outcome {
            Ok(()) => Answer { shard, done: true, error: None, exit_code: 0 },
            Err(error) => {
                let (text, exit_code) = (error.to_string(), exit::code(error.class()));
                Answer { shard, done: false, error: Some(text), exit_code }
            }
        };
        let mut out = std::io::stdout().lock();
        let written = writeln!(out, "{}", serde_json::to_string(&answer).map_err(Bug::new)?);
        written.and_then(|()| out.flush()).map_err(write_error("standard output".as_ref()))?;
        // A signal ends the process, not one shard.
        match outcome {
            Err(error) if seqloom_terminal::signals::interrupted() => Err(error),
            _ => Ok(()),
        }
    }

    fn align<E: CohortEngine + Send>(
        &self,
        shard: usize,
        load: &(impl Fn(&CertifiedRun, NonZeroUsize) -> seqloom_terminal::Result<E> + Sync),
        loaded: &mut Option<PlacedEngine<E>>,
    ) -> seqloom_terminal::Result<()> {
        let clock = Clock::start();
        // The scan may have found it after the folder was opened.
        let is_known = shard < self.folder.plan.shards.len() || self.folder.is_planned;
        let reopened = match is_known {
            true => None,
            false => Some(RunFolder::open_early(&self.folder.path)?),
        };
        let folder = reopened.as_ref().unwrap_or(self.folder);
        let task = shard_task(folder, shard)?;
        if folder.is_done(task)? {
            self.console.info(&format!("shard: {} is done already", task.name()));
            return Ok(());
        }
        let part = folder.part(shard)?;
        let inputs = LaneSpecs::of(self.align)?;
        let OpenedJob { mut job, first, .. } =
            Job::open(self.align, inputs, self.index, Some(part), self.console)?;
        job.run.announce("shard align", &job.inputs().join(" + "), &folder.file(&task.name()));
        let loaded = match loaded {
            Some(loaded) => loaded,
            None => {
                let placement = job.ingest.placement.clone();
                let certified = job.certified.clone();
                let threads = job.run.threads;
                let load = || numa::load(&placement, threads, |threads| load(&certified, threads));
                let (engine, report) = allocator::with_own_mappings(load)?;
                job.announce_placement(&report);
                job.announce_certified();
                loaded.insert(PlacedEngine { engine, placement })
            }
        };
        job.ingest.placement = loaded.placement.clone();
        // The index keeps its huge pages. In workers' memory they would pass the cap.
        placement::with_pages(true, || {
            align_one(&loaded.engine, &job, first, (folder, task), &clock)
        })?;
        job.run.close(&format!("shard: {} is done", task.name()));
        Ok(())
    }
}

/// An engine in its place.
struct PlacedEngine<E: CohortEngine> {
    engine: Replicated<E>,
    placement: Plan,
}

/// Aligns the part of the input that the job is, and publishes it.
fn align_one<E: CohortEngine>(
    engine: &E,
    job: &Job<'_>,
    first: Vec<Vec<seqloom_io::reads::InputBlock>>,
    (folder, task): (&RunFolder, ShardTask),
    clock: &Clock,
) -> seqloom_terminal::Result<()> {
    let backing = Backing {
        ledger: Ledger::new(job.plan.store_bytes),
        spill: SpillFile::create(&job.spill_folders())?,
    };
    let libraries = job.libraries()?;
    let collector = sorted::collector(job, &backing, &libraries);
    job.run.plan_phases(&PHASES);
    let totals = sorted::ingest_lanes(engine, job, first, &collector)?.totals;
    let collected = collector.into_collected();
    log_outside(job, &totals.outside);
    let totals = PartTotals {
        reads: totals.reads,
        templates: totals.templates,
        records: totals.records,
        reads_too_short: totals.outside.too_short.reads,
        reads_too_long: totals.outside.too_long.reads,
    };
    let mut output = folder.create_output(task, "")?;
    let threads = job.run.computing_threads();
    let watch = || job.watch("exchange", totals.records);
    let resources = PhaseResources { backing: &backing, threads, watch: &watch };
    exchange::write(&collected, totals, &mut output, &resources)?;
    folder.publish(task, NewFile::of_output(output).into_iter().collect(), clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbers_ranges_or_given_later() {
        assert_eq!("-".parse(), Ok(Which::FromInput));
        assert_eq!("7".parse(), Ok(Which::Range(7, 7)));
        assert_eq!("0-9".parse(), Ok(Which::Range(0, 9)));
        for text in ["", "a", "3-2", "-1", "1-", "1-2-3"] {
            assert!(text.parse::<Which>().is_err(), "{text}");
        }
    }
}
