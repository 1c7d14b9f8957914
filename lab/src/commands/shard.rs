//! `seqloom-lab shard`: tasks of a run in shards, timed here and predicted for many nodes.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::output::Fact;
use crate::shard::{self, ShardExperiment};
use seqloom_runtime::machine;

use seqloom_terminal::{Console, UsageError, signals};

/// Arguments of `seqloom-lab shard`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    seqloom-lab shard ref.fa R1.fq R2.fq --gzip R1.fq.gz --gzip R2.fq.gz --out lab/runs/shard")]
pub(crate) struct ShardArguments {
    /// Prefix of the index
    #[arg(value_name = "REF")]
    reference: PathBuf,
    /// Reads, plain or BGZF
    #[arg(value_name = "R1")]
    first: PathBuf,
    /// Their mates
    #[arg(value_name = "R2")]
    second: PathBuf,
    /// The same reads as gzip, both files: their scan is timed, too
    #[arg(long, value_name = "FILE")]
    gzip: Vec<PathBuf>,
    /// Bases of a cohort
    #[arg(short = 'K', long, value_name = "BASES", default_value_t = 10_000_000)]
    cohort_bases: u64,
    /// Shards of the run
    #[arg(long, value_name = "N", default_value = "8")]
    shards: NonZeroUsize,
    /// Ranges of the run
    #[arg(long, value_name = "N", default_value = "8")]
    ranges: NonZeroUsize,
    /// Busy threads
    #[arg(short, long, value_name = "N", default_value_t = machine::available_cores())]
    threads: NonZeroUsize,
    /// Where table and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/shard")]
    out: PathBuf,
    /// Where run directories go [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
    /// What else is to be said of the machine, such as what ran next to
    #[arg(long, value_name = "TEXT")]
    remark: Option<String>,
}

/// Runs the experiment and writes its report.
pub(super) fn run(arguments: &ShardArguments, console: &Console) -> seqloom_terminal::Result<()> {
    let gzip = match arguments.gzip.as_slice() {
        [] => None,
        [first, second] => Some([first.clone(), second.clone()]),
        _ => return Err(UsageError("--gzip is given twice, or not at all".to_owned()).into()),
    };
    let experiment = ShardExperiment {
        program: super::product()?,
        reference: arguments.reference.clone(),
        reads: [arguments.first.clone(), arguments.second.clone()],
        gzip,
        cohort_bases: arguments.cohort_bases,
        parts: (arguments.shards.get(), arguments.ranges.get()),
        threads: arguments.threads.get(),
        work: arguments.work.clone().unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab")),
    };
    // Programs run in groups of their own: a signal that ended this process would leave them.
    signals::defer();
    let table = experiment.run(&mut |what| console.info(what), &signals::interrupted)?;
    let mut facts = vec![
        Fact::new("machine", format!("{} cores", machine::available_cores())),
        Fact::new("threads of a task", arguments.threads.to_string()),
        Fact::new("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
    ];
    facts.extend(arguments.remark.iter().map(|remark| Fact::new("remark", remark)));
    shard::RESULTS.write(&table, &facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}
