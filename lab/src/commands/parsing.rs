//! `seqloom-lab parsing`: ways to take reads from files by many threads.

use std::fs;
use std::path::PathBuf;

use crate::experiment::LabError;
use crate::output::Fact;
use crate::parsing::{self, END_TO_END, ENGINE, Input, Parsing, THREADS, TIMELINE, Timeline};
use seqloom_locks::Kind;
use seqloom_runtime::machine;

use super::locks::kinds;
use seqloom_terminal::{Console, UsageError};

/// Arguments of `seqloom-lab parsing`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom-lab parsing --out lab/runs/parsing")]
pub(crate) struct ParsingArguments {
    /// Where table, plots and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/parsing")]
    pub(super) out: PathBuf,
    /// Run nothing: write the report of this folder once more from its table
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "work"])]
    pub(super) again: Option<PathBuf>,
    /// Where files to read are made [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(super) work: Option<PathBuf>,
    /// Reads of each file
    #[arg(long, value_name = "N", default_value_t = 400_000)]
    pub(super) reads: u64,
    /// Reads of a file of plain FASTQ, or of two of mates, in place of those that are made
    #[arg(long, value_name = "FASTQ", conflicts_with = "reads")]
    pub(super) input: Vec<PathBuf>,
    /// Index of their genome, as `align` takes it: they are aligned as by --mode end-to-end, each
    /// by itself; else they are given to an engine that does nothing
    #[arg(long, value_name = "PREFIX", requires = "input")]
    pub(super) reference: Option<PathBuf>,
    /// Bytes read at a time
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "12288,262144")]
    pub(super) units: Vec<usize>,
    /// Locks for O, D, B and L, such as standard,mcs
    #[arg(long, value_name = "LOCK,...", value_delimiter = ',', default_value = "standard")]
    pub(super) locks: Vec<String>,
    /// Numbers of threads
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,64")]
    pub(super) threads: Vec<u32>,
    /// Repeats of all runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) repeats: u32,
    /// Begin no round of runs after so many minutes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) budget_minutes: Option<u64>,
}

/// Runs the experiment and writes its report.
pub(super) fn run(arguments: &ParsingArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if let Some(folder) = &arguments.again {
        return Ok(parsing::RESULTS.write_again(folder)?);
    }
    let (table, notes) = experiment(arguments)?.run(&mut |what| console.info(what))?;
    let mut facts = facts(arguments);
    facts.extend(notes.into_iter().map(|note| Fact::new("data", note)));
    let words = match &arguments.input[..] {
        [] => format!("--reads {}", arguments.reads),
        files => {
            files.iter().map(|it| format!("--input {}", it.display())).collect::<Vec<_>>().join(" ")
        }
    };
    let again = format!(
        "`make lab && target/release/seqloom-lab parsing {words} --repeats {} --out DIR`",
        arguments.repeats
    );
    facts.push(Fact::new("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))));
    facts.push(Fact::new("again", again));
    parsing::RESULTS.write(&table, &facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}

/// Traces one run of each way with the first lock and the most threads, and writes the tables.
pub(super) fn trace(
    arguments: &ParsingArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    let mut experiment = experiment(arguments)?;
    experiment.locks.truncate(1);
    let threads = arguments.threads.iter().copied().max().unwrap_or(1);
    let Timeline { counts, mut threads_at } =
        experiment.timeline(threads, &mut |what| console.info(what))?;
    let mut facts = facts(arguments);
    facts.push(Fact::new("threads", threads.to_string()));
    let out = &arguments.out;
    TIMELINE.write(&counts, &facts, out)?;
    threads_at.round();
    let path = out.join(THREADS);
    Ok(fs::write(&path, threads_at.to_tsv()).map_err(LabError::file(&path))?)
}

fn experiment(arguments: &ParsingArguments) -> Result<Parsing, UsageError> {
    let work = arguments.work.clone();
    let work = work.unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab-parsing"));
    let input = match arguments.input.len() {
        0 => Input::Made(arguments.reads.max(1)),
        1 | 2 => Input::Files(arguments.input.clone()),
        _ => return Err(UsageError("--input: a file, or two of mates".to_owned())),
    };
    Ok(Parsing {
        work,
        input,
        reference: arguments.reference.clone(),
        units: arguments.units.clone(),
        locks: kinds(&arguments.locks)?.unwrap_or(vec![Kind::Standard]),
        threads: arguments.threads.clone(),
        repeats: arguments.repeats,
        deadline: arguments.budget_minutes.map(super::deadline),
    })
}

/// Machine and engine.
fn facts(arguments: &ParsingArguments) -> Vec<Fact> {
    let mut facts = vec![Fact::new("machine", format!("{} cores", machine::available_cores()))];
    if arguments.reference.is_some() {
        facts.push(Fact::new(ENGINE, END_TO_END));
    }
    facts
}
