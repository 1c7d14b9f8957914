//! What reads FAST5: the argument that chooses it, and the hidden command that a worker process of
//! the pool is.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use seqloom_format::hdf5::Hdf5File;
use seqloom_signal::pool::{self, DEFAULT_TIMEOUT, Fast5Pool, WorkerOptions};
use seqloom_signal::store::Fast5Engine;
use seqloom_terminal::exit;

/// Name of the hidden command.
pub(crate) const NAME: &str = "__fast5-worker";

/// Reader of FAST5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// The program's own reader
    Own,
    /// The same in a process for each thread: one that crashes or hangs costs one read
    Pool,
}

/// How FAST5 is read.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Run")]
pub(crate) struct EngineArguments {
    /// What reads FAST5 files
    #[arg(long, value_name = "ENGINE", default_value = "own")]
    fast5_engine: Engine,
    /// Seconds that a process of the pool may take for one read
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_TIMEOUT.as_secs(),
          value_parser = clap::value_parser!(u64).range(1..=86_400), hide = true)]
    fast5_timeout: u64,
}

impl EngineArguments {
    /// The engine requested.
    pub(crate) fn engine(&self) -> Fast5Engine {
        match self.fast5_engine {
            Engine::Own => Fast5Engine::Own,
            Engine::Pool => {
                let timeout = Duration::from_secs(self.fast5_timeout);
                Fast5Engine::Pool(Arc::new(Fast5Pool::of_this_program(NAME, timeout)))
            }
        }
    }
}

/// Arguments of the hidden command.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArguments {
    #[arg(long)]
    shared_descriptor: u32,
    #[arg(long)]
    parent: u32,
}

/// Is a worker until the parent ends. There is nobody to report an error to but the parent, who
/// sees the exit code.
pub(crate) fn run(arguments: &WorkerArguments) -> ExitCode {
    let &WorkerArguments { shared_descriptor, parent } = arguments;
    match pool::run_worker::<Hdf5File>(WorkerOptions { shared_descriptor, parent }) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(_) => ExitCode::from(exit::FAILED),
    }
}
