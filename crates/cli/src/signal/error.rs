//! Why `signal` commands fail.

use std::path::PathBuf;

use seqloom_calling::flow::{CallError, SignalFilesError};
use seqloom_calling::pore_model::ModelError;
use seqloom_format::slow5::HeaderError;
use seqloom_io::sink::output::OutputError;
use seqloom_runtime::pool::WorkerPanic;
use seqloom_signal::flow::{Account, Fault};
use seqloom_signal::operations::UnionError;
use seqloom_signal::store::fast5::Fast5WriteError;
use seqloom_signal::store::{IndexFileError, StoreError};

/// Reads are missing from the output.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LostReads(pub(super) Account);

/// A read is bad, and `--strict` was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{0} (--strict: nothing is written)")]
pub(crate) struct StrictFault(pub(super) Fault);

/// Why a pass ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Output(#[from] OutputError),
    #[error("{0}")]
    Header(#[from] HeaderError),
    #[error("{0}")]
    Worker(#[from] WorkerPanic),
    #[error("{0}")]
    Strict(#[from] StrictFault),
    #[error("{0}")]
    Join(#[from] JoinError),
    #[error("{0}")]
    Index(#[from] IndexFileError),
    #[error("{0}")]
    Fast5(#[from] Fast5WriteError),
    #[error("{0}")]
    Call(#[from] CallError),
    #[error("{0}")]
    SignalFiles(#[from] SignalFilesError),
    #[error("{}: {source}", path.display())]
    Model { path: PathBuf, source: ModelError },
    #[error("{0}")]
    Refused(String),
    #[error("interrupted")]
    Interrupted,
}

/// Why inputs cannot be joined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    #[error("{0}")]
    Union(#[from] UnionError),
    #[error("none of the {0} inputs can be read")]
    Nothing(usize),
}

/// Reads were there to be called, and none was.
#[derive(Debug, thiserror::Error)]
#[error(
    "none of {records} records could be called; {missed} of them: {text} (first: {example}); \
     nothing is written"
)]
pub(crate) struct NothingCalled {
    pub(super) records: u64,
    pub(super) missed: u64,
    pub(super) text: String,
    pub(super) example: String,
}
