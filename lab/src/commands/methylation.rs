//! `seqloom-lab methylation`: methylation calling by structure, workers and latency.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::methylation::{self, Methylation, Outcome, StructureOptions, WAYS};
use crate::output::Fact;
use clap::ValueEnum;
use seqloom_runtime::machine;
use seqloom_signal::pool::DEFAULT_TIMEOUT;

use super::fast5::{Engine, engine};
use super::print_counters;
use seqloom_terminal::{Console, UsageError};

/// Name of the hidden command that is one run of a structure.
pub(super) const CALL: &str = "__methylation-call";

/// Arguments of `seqloom-lab methylation`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    seqloom-lab methylation --source fast5_files/ --bam reads.bam --reference ref.fa \
    --out lab/runs/methylation\n\n\
    The latency layer needs a C compiler; nanopolish itself is run where it and samtools are on \
    the PATH.")]
pub(crate) struct MethylationArguments {
    /// Folder of single-read FAST5 files, each read once
    #[arg(long, value_name = "DIR", required_unless_present = "again")]
    pub(super) source: Option<PathBuf>,
    /// Their alignments, sorted by coordinate, with the bases of the reads
    #[arg(long, value_name = "FILE", required_unless_present = "again")]
    pub(super) bam: Option<PathBuf>,
    /// Their reference
    #[arg(long, value_name = "FASTA", required_unless_present = "again")]
    pub(super) reference: Option<PathBuf>,
    /// Run nothing: write the report of this folder once more from its table
    #[arg(long, value_name = "DIR", conflicts_with_all = ["source", "bam", "reference"])]
    pub(super) again: Option<PathBuf>,
    /// Where table, plots and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/methylation")]
    pub(super) out: PathBuf,
    /// Where data are made [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(super) work: Option<PathBuf>,
    /// Numbers of workers
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16,32")]
    pub(super) workers: Vec<u32>,
    /// Reads of a batch, in the structures that have one
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub(super) batch: u32,
    /// Only these ways, such as batches,flow-blow5
    #[arg(long, value_name = "WAY,...", value_delimiter = ',')]
    pub(super) ways: Vec<String>,
    /// Only these storages: ssd, raid, nfs (modelled), disk (pages evicted), cached
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) storages: Vec<String>,
    /// Repeats of each run, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) repeats: u32,
    /// Begin no run after so many minutes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) budget_minutes: Option<u64>,
}

/// Arguments of one run of a structure.
#[derive(Debug, clap::Args)]
pub(crate) struct CallArguments {
    #[arg(long)]
    bam: PathBuf,
    #[arg(long)]
    reference: PathBuf,
    #[arg(long)]
    index: PathBuf,
    #[arg(long)]
    way: String,
    #[arg(long)]
    threads: NonZeroUsize,
    #[arg(long)]
    batch: NonZeroUsize,
    #[arg(short, long)]
    output: PathBuf,
}

/// Runs the experiment and writes its report.
pub(super) fn run(
    arguments: &MethylationArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    if let Some(folder) = &arguments.again {
        return Ok(methylation::RESULTS.write_again(folder)?);
    }
    let experiment = Methylation {
        seqloom: super::product()?,
        program: PathBuf::from("/proc/self/exe"),
        structure_arguments: vec![CALL.to_owned()],
        source: arguments.source.clone().unwrap_or_default(),
        bam: arguments.bam.clone().unwrap_or_default(),
        reference: arguments.reference.clone().unwrap_or_default(),
        work: arguments.work.clone().unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab")),
        workers: arguments.workers.clone(),
        batch: arguments.batch,
        ways: arguments.ways.clone(),
        storages: arguments.storages.clone(),
        repeats: arguments.repeats,
        deadline: arguments.budget_minutes.map(super::deadline),
    };
    let Outcome { table, left_out } = experiment.run(&mut |what| console.info(what))?;
    let called = table.columns.iter().position(|name| name == "reads");
    let called = table.rows.first().zip(called).map_or(0.0, |(row, at)| row.values[at]);
    let facts = [
        ("machine", format!("{} cores", machine::available_cores())),
        ("reads that are called", format!("{called:.0}")),
        ("reads of a batch", arguments.batch.to_string()),
        ("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
        (
            "again",
            format!(
                "`seqloom-lab methylation --source DIR --bam FILE --reference FASTA --batch {} \
                 --repeats {} --out DIR`",
                arguments.batch, arguments.repeats
            ),
        ),
    ];
    let mut facts = facts.map(|(name, text)| Fact::new(name, text)).to_vec();
    facts.extend(left_out.into_iter().map(|what| Fact::new("left out", what)));
    methylation::RESULTS.write(&table, &facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}

/// Is one run of a structure: calls all reads and says what that took.
pub(super) fn call(arguments: &CallArguments) -> seqloom_terminal::Result<()> {
    let unknown = || UsageError(format!("there is no way {}", arguments.way));
    let way = *WAYS.iter().find(|way| way.name == arguments.way).ok_or_else(unknown)?;
    let choice = Engine::from_str(way.engine, false).map_err(UsageError)?;
    let counters = methylation::call(&StructureOptions {
        bam: arguments.bam.clone(),
        reference: arguments.reference.clone(),
        index: arguments.index.clone(),
        way,
        engine: engine(choice, DEFAULT_TIMEOUT),
        threads: arguments.threads,
        batch: arguments.batch,
        output: arguments.output.clone(),
    })?;
    Ok(print_counters(&counters)?)
}
