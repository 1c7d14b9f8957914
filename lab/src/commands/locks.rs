//! `seqloom-lab locks`: locks side by side on this machine.

use std::path::PathBuf;
use std::time::Duration;

use crate::locks::{self, Locks};
use crate::output::Fact;
use seqloom_locks::Kind;
use seqloom_runtime::machine;

use seqloom_terminal::{Console, UsageError};

/// Arguments of `seqloom-lab locks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  seqloom-lab locks --out lab/runs/locks")]
pub(crate) struct LocksArguments {
    /// Where tables, plots and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/locks")]
    out: PathBuf,
    /// Run nothing: write the report of this folder once more from its tables
    #[arg(long, value_name = "DIR")]
    again: Option<PathBuf>,
    /// Numbers of threads
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "1,2,4,8,16,32,64,128,256"
    )]
    threads: Vec<u32>,
    /// Numbers of threads at which hand-overs are timed
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "2,8,64")]
    timed: Vec<u32>,
    /// Only these locks, such as standard,mcs
    #[arg(long, value_name = "LOCK,...", value_delimiter = ',')]
    locks: Vec<String>,
    /// Nodes that threads say they run on, in turn
    #[arg(long, value_name = "N", default_value_t = 2)]
    nodes: usize,
    /// Time of one run in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 200)]
    ms: u64,
    /// Repeats of all runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: u32,
}

/// The locks of these names; `None` if there are none.
pub(super) fn kinds(names: &[String]) -> Result<Option<Vec<Kind>>, UsageError> {
    let kind = |name: &String| {
        let names = || Kind::ALL.map(Kind::name).join(", ");
        Kind::from_name(name).ok_or_else(|| UsageError(format!("no lock {name}: {}", names())))
    };
    let kinds: Result<Vec<Kind>, _> = names.iter().map(kind).collect();
    Ok(Some(kinds?).filter(|kinds| !kinds.is_empty()))
}

/// Runs the experiment and writes its report.
pub(super) fn run(arguments: &LocksArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if let Some(folder) = &arguments.again {
        return Ok(locks::write_again(folder)?);
    }
    let experiment = Locks {
        kinds: kinds(&arguments.locks)?.unwrap_or(Kind::ALL.to_vec()),
        threads: arguments.threads.clone(),
        timed_threads: arguments.timed.clone(),
        nodes: arguments.nodes,
        duration: Duration::from_millis(arguments.ms),
        repeats: arguments.repeats,
    };
    let tables = experiment.run(&mut |what| console.info(what))?;
    let facts = [
        (
            "machine",
            format!("{} cores, {} nodes made up", machine::available_cores(), arguments.nodes),
        ),
        ("runs", format!("{} ms each, {} repeats", arguments.ms, arguments.repeats)),
        ("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
        ("again", "`make lab && target/release/seqloom-lab locks --out DIR`".to_owned()),
    ];
    let facts = facts.map(|(name, text)| Fact::new(name, text));
    locks::write(tables, &facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}
