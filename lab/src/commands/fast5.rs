//! What reads FAST5 in an experiment, and the hidden command that a worker process of the pool is.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use seqloom_format::hdf5::Hdf5File;
use seqloom_signal::pool::{Fast5Pool, WorkerOptions, run_worker};
use seqloom_signal::store::Fast5Engine;

/// Name of the hidden command.
pub(super) const NAME: &str = "__fast5-worker";
/// The same with libhdf5.
#[cfg(feature = "libhdf5")]
const LIBRARY_NAME: &str = "__fast5-library-worker";

/// What reads FAST5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Engine {
    /// The product's own reader
    Own,
    /// The same in a process for each thread
    Pool,
    /// libhdf5, which reads for one thread at a time
    #[cfg(feature = "libhdf5")]
    Library,
    /// libhdf5 in a process for each thread
    #[cfg(feature = "libhdf5")]
    LibraryPool,
}

/// An engine; a pool is one of its own, without workers yet.
pub(super) fn engine(choice: Engine, timeout: Duration) -> Fast5Engine {
    let pool = |command| Fast5Engine::Pool(Arc::new(Fast5Pool::of_this_program(command, timeout)));
    match choice {
        Engine::Own => Fast5Engine::Own,
        Engine::Pool => pool(NAME),
        #[cfg(feature = "libhdf5")]
        Engine::Library => Fast5Engine::Other(seqloom_libhdf5::open),
        #[cfg(feature = "libhdf5")]
        Engine::LibraryPool => pool(LIBRARY_NAME),
    }
}

/// Arguments of the hidden command.
#[derive(Debug, clap::Args)]
#[cfg_attr(feature = "libhdf5", command(alias = LIBRARY_NAME))]
pub(crate) struct WorkerArguments {
    #[arg(long)]
    shared_descriptor: u32,
    #[arg(long)]
    parent: u32,
}

/// Is a worker until the parent ends. There is nobody to report an error to but the parent, who
/// sees the exit code.
pub(super) fn run(arguments: &WorkerArguments) -> ExitCode {
    let &WorkerArguments { shared_descriptor, parent } = arguments;
    let options = WorkerOptions { shared_descriptor, parent };
    #[cfg(feature = "libhdf5")]
    if std::env::args().nth(1).as_deref() == Some(LIBRARY_NAME) {
        return ending(run_worker::<seqloom_libhdf5::LibraryFile>(options));
    }
    ending(run_worker::<Hdf5File>(options))
}

fn ending<E>(outcome: Result<(), E>) -> ExitCode {
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
