//! `seqloom-lab signal-io`: reads of raw signal at random, by format, reader, workers and latency.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::output::Fact;
use crate::signal_io::{self, Outcome, ReadCounts, ReadingOptions, SignalIo, WAYS};
use clap::ValueEnum;
use seqloom_runtime::machine;
use seqloom_signal::pool::DEFAULT_TIMEOUT;
use seqloom_signal::store::Fast5Engine;

use super::fast5::{Engine, engine};
use super::print_counters;
use seqloom_terminal::{Console, UsageError};

/// Name of the hidden command that is one run.
pub(super) const READ: &str = "__signal-io-read";

/// Arguments of `seqloom-lab signal-io`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    seqloom-lab signal-io --source fast5_files/ --out lab/runs/signal-io\n\n\
    The comparison with libhdf5 needs a program built with --features libhdf5; the latency layer \
    needs a C compiler, POD5 needs blue-crab.")]
pub(crate) struct SignalIoArguments {
    /// Folder of single-read FAST5 files; each must have the same auxiliary fields
    #[arg(long, value_name = "DIR", required_unless_present = "again")]
    pub(super) source: Option<PathBuf>,
    /// Run nothing: write the report of this folder once more from its table
    #[arg(long, value_name = "DIR", conflicts_with = "source")]
    pub(super) again: Option<PathBuf>,
    /// Where table, plots and report go
    #[arg(long, value_name = "DIR", default_value = "out/lab/signal-io")]
    pub(super) out: PathBuf,
    /// Where data are made [default: a folder of the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(super) work: Option<PathBuf>,
    /// How often the files are copied
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) copies: u32,
    /// Numbers of workers
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,2,4,8,16,32")]
    pub(super) workers: Vec<u32>,
    /// Only these ways, such as blow5,fast5-own
    #[arg(long, value_name = "WAY,...", value_delimiter = ',')]
    pub(super) ways: Vec<String>,
    /// Only these storages: ssd, raid, nfs (modelled), disk (pages evicted), cached
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) storages: Vec<String>,
    /// Repeats of each run, of which the fastest counts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) repeats: u32,
    /// blue-crab, which makes the POD5 file
    #[arg(long, value_name = "PROGRAM")]
    pub(super) blue_crab: Option<PathBuf>,
    /// Begin no run after so many minutes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) budget_minutes: Option<u64>,
}

/// Arguments of one run.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadArguments {
    #[arg(long)]
    data: PathBuf,
    #[arg(long)]
    way: String,
    #[arg(long)]
    threads: NonZeroUsize,
}

/// Runs the experiment and writes its report.
pub(super) fn run(
    arguments: &SignalIoArguments,
    console: &Console,
) -> seqloom_terminal::Result<()> {
    if let Some(folder) = &arguments.again {
        return Ok(signal_io::RESULTS.write_again(folder)?);
    }
    let experiment = SignalIo {
        program: PathBuf::from("/proc/self/exe"),
        arguments: vec![READ.to_owned()],
        source: arguments.source.clone().unwrap_or_default(),
        work: arguments.work.clone().unwrap_or_else(|| std::env::temp_dir().join("seqloom-lab")),
        blue_crab: arguments.blue_crab.clone(),
        copies: arguments.copies,
        workers: arguments.workers.clone(),
        ways: arguments.ways.clone(),
        storages: arguments.storages.clone(),
        has_library: cfg!(feature = "libhdf5"),
        repeats: arguments.repeats,
        deadline: arguments.budget_minutes.map(super::deadline),
    };
    let Outcome { table, volume, left_out } = experiment.run(&mut |what| console.info(what))?;
    let mut line = format!(
        "seqloom-lab signal-io --source DIR --copies {} --repeats {}",
        arguments.copies, arguments.repeats
    );
    if arguments.blue_crab.is_some() {
        line.push_str(" --blue-crab PROGRAM");
    }
    let build = if cfg!(feature = "libhdf5") { " --features libhdf5" } else { "" };
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let facts = [
        ("machine", format!("{} cores", machine::available_cores())),
        ("load", load()),
        ("reads", volume.reads.to_string()),
        ("single-read FAST5", megabytes(volume.single_bytes)),
        ("BLOW5 (zlib, svb-zd)", megabytes(volume.blow5_bytes)),
        ("program", format!("seqloom {}", env!("CARGO_PKG_VERSION"))),
        (
            "again",
            format!(
                "`cargo build --release -p seqloom-lab{build} && target/release/{line} --out DIR`"
            ),
        ),
    ];
    let mut facts = facts.map(|(name, text)| Fact::new(name, text)).to_vec();
    facts.extend(left_out.into_iter().map(|what| Fact::new("left out", what)));
    signal_io::RESULTS.write(&table, &facts, &arguments.out)?;
    console.info(&format!("report in {}", arguments.out.display()));
    Ok(())
}

/// What else the machine had to do: a busy one shows in times that are not spent waiting.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let averages: Vec<&str> = text.split(' ').take(3).collect();
    format!("{} (1, 5 and 15 minutes, at the end)", averages.join(", "))
}

/// Is one run: reads all and says how much that was.
pub(super) fn read(arguments: &ReadArguments) -> seqloom_terminal::Result<()> {
    let unknown = || UsageError(format!("there is no way {}", arguments.way));
    let way = *WAYS.iter().find(|way| way.name == arguments.way).ok_or_else(unknown)?;
    let engine = match way.engine {
        None => Fast5Engine::Own,
        Some(name) => engine(Engine::from_str(name, false).map_err(UsageError)?, DEFAULT_TIMEOUT),
    };
    let (data, threads) = (arguments.data.clone(), arguments.threads);
    let ReadCounts { reads, samples } =
        signal_io::read_all(&ReadingOptions { data, way, engine, threads })?;
    Ok(print_counters(&[("reads", reads), ("samples", samples)])?)
}
