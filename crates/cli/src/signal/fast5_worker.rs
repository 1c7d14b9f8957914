//! What reads FAST5: the argument that chooses it, and the hidden command that a worker process of
//! the pool is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use seqloom_signal::pool::{
    self, DEFAULT_MAX_DEATHS, DEFAULT_TIMEOUT, Fast5Pool, Fast5PoolOptions, WorkerOptions,
};
use seqloom_signal::store::Fast5Engine;

/// Name of the hidden command.
pub(crate) const NAME: &str = "__fast5-worker";

/// What reads FAST5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// The program's own reader
    Own,
    /// The same in a process for each thread: one that crashes or hangs costs one read
    Pool,
    /// libhdf5, which reads for one thread at a time
    #[cfg(feature = "libhdf5")]
    Library,
    /// libhdf5 in a process for each thread
    #[cfg(feature = "libhdf5")]
    LibraryPool,
}

/// How FAST5 is read.
#[derive(Debug, clap::Args)]
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
    /// The engine asked for.
    pub(crate) fn engine(&self) -> Fast5Engine {
        engine(self.fast5_engine, Duration::from_secs(self.fast5_timeout))
    }
}

/// An engine; a pool is one of its own, without workers yet.
pub(crate) fn engine(choice: Engine, timeout: Duration) -> Fast5Engine {
    let pool = |library: bool| {
        let mut arguments = vec![OsString::from(NAME)];
        arguments.extend(library.then(|| "--library".into()));
        Fast5Engine::Pool(Arc::new(Fast5Pool::new(Fast5PoolOptions {
            // Not the name of the file, which may be another program by now.
            program: PathBuf::from("/proc/self/exe"),
            arguments,
            timeout,
            max_deaths: DEFAULT_MAX_DEATHS,
        })))
    };
    match choice {
        Engine::Own => Fast5Engine::Own,
        Engine::Pool => pool(false),
        #[cfg(feature = "libhdf5")]
        Engine::Library => Fast5Engine::Library,
        #[cfg(feature = "libhdf5")]
        Engine::LibraryPool => pool(true),
    }
}

/// Arguments of the hidden command.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArguments {
    #[arg(long)]
    shared_descriptor: u32,
    #[arg(long)]
    parent: u32,
    #[arg(long)]
    library: bool,
}

/// Is a worker until the parent ends. There is nobody to tell of an error but the parent, who sees
/// the exit code.
pub(crate) fn run(arguments: &WorkerArguments) -> ExitCode {
    let &WorkerArguments { shared_descriptor, parent, library } = arguments;
    match pool::run_worker(WorkerOptions { shared_descriptor, parent, library }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
