//! `seqloom-lab output`: ways for many threads to write, side by side.

use std::path::PathBuf;

use crate::output::Fact;
use crate::sinks::{self, Outputs, Strategy};
use seqloom_locks::Kind;
use seqloom_runtime::machine;

use super::locks::kinds;
use seqloom_terminal::Console;

/// Arguments of `seqloom-lab output`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom-lab output --out lab/runs/output")]
pub(crate) struct OutputArguments {
    /// Where table, plots and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/output")]
    out: PathBuf,
    /// Run nothing: write the report of this folder once more from its table
    #[arg(long, value_name = "DIR")]
    again: Option<PathBuf>,
    /// Where records are written [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// Records of each run
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    records: u64,
    /// Strategies: locked, striped:N, ordered
    #[arg(
        long,
        value_name = "STRATEGY,...",
        value_delimiter = ',',
        default_value = "locked,striped:2,striped:16,ordered"
    )]
    strategies: Vec<Strategy>,
    /// Locks, such as standard,mcs, for the strategies that have one
    #[arg(
        long,
        value_name = "LOCK,...",
        value_delimiter = ',',
        default_value = "tinythread,standard,mcs,mcs-park"
    )]
    locks: Vec<String>,
    /// Records that are written at a time
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,512")]
    units: Vec<u64>,
    /// Numbers of threads
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,16,64")]
    threads: Vec<u32>,
    /// Repeats of all runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeats: u32,
}

/// Runs the experiment and writes its report.
pub(super) fn run(arguments: &OutputArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if let Some(folder) = &arguments.again {
        return Ok(sinks::RESULTS.write_again(folder)?);
    }
    let work = arguments.work.clone();
    let experiment = Outputs {
        work: work.unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab-output")),
        records: arguments.records.max(1),
        strategies: arguments.strategies.clone(),
        locks: kinds(&arguments.locks)?.unwrap_or(vec![Kind::Standard]),
        units: arguments.units.clone(),
        threads: arguments.threads.clone(),
        repeats: arguments.repeats,
    };
    let table = experiment.run(&mut |what| console.info(what))?;
    let (records, repeats) = (arguments.records, arguments.repeats);
    let facts = [
        ("machine", format!("{} cores", machine::available_cores())),
        ("records", format!("{records} of 100 bases a run; {repeats} repeats")),
        ("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
        (
            "again",
            format!(
                "`make lab && target/release/seqloom-lab output --records {records} \
                 --repeats {repeats} --out DIR`"
            ),
        ),
    ];
    let facts = facts.map(|(name, text)| Fact::new(name, text));
    sinks::RESULTS.write(&table, &facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}
