//! `seqloom-lab parsing`: ways to take reads from files by many threads.

use std::path::PathBuf;

use crate::output::Fact;
use crate::parsing::{self, Parsing};
use seqloom_locks::Kind;
use seqloom_runtime::machine;

use super::locks::kinds;
use seqloom_terminal::Console;

/// Arguments of `seqloom-lab parsing`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom-lab parsing --out lab/runs/parsing")]
pub(crate) struct ParsingArguments {
    /// Where table, plots and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/parsing")]
    out: PathBuf,
    /// Run nothing: write the report of this folder once more from its table
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "work"])]
    again: Option<PathBuf>,
    /// Where files to read are made [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Reads of each file
    #[arg(long, value_name = "N", default_value_t = 400_000)]
    reads: u64,
    /// Bytes read at a time
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "12288,262144")]
    units: Vec<usize>,
    /// Locks for O, D, B and L, such as standard,mcs
    #[arg(long, value_name = "LOCK,...", value_delimiter = ',', default_value = "standard")]
    locks: Vec<String>,
    /// Numbers of threads
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,64")]
    threads: Vec<u32>,
    /// Repeats of all runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: u32,
}

/// Runs the experiment and writes its report.
pub(super) fn run(arguments: &ParsingArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if let Some(folder) = &arguments.again {
        return Ok(parsing::RESULTS.write_again(folder)?);
    }
    let work = arguments.work.clone();
    let work = work.unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab-parsing"));
    let experiment = Parsing {
        work,
        reads: arguments.reads.max(1),
        units: arguments.units.clone(),
        locks: kinds(&arguments.locks)?.unwrap_or(vec![Kind::Standard]),
        threads: arguments.threads.clone(),
        repeats: arguments.repeats,
    };
    let (table, notes) = experiment.run(&mut |what| console.info(what))?;
    let mut facts = vec![Fact::new("machine", format!("{} cores", machine::available_cores()))];
    facts.extend(notes.into_iter().map(|note| Fact::new("data", note)));
    let again = format!(
        "`make lab && target/release/seqloom-lab parsing --reads {} --repeats {} \
        --out DIR`",
        arguments.reads, arguments.repeats
    );
    facts.push(Fact::new("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))));
    facts.push(Fact::new("again", again));
    parsing::RESULTS.write(&table, &facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}
