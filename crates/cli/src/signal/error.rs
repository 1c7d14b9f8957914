//! Why `signal` commands fail.

use std::path::PathBuf;

use seqloom_calling::flow::{CallError, SignalFilesError};
use seqloom_calling::pore_model::ModelError;
use seqloom_format::slow5::HeaderError;
use seqloom_io::OutputError;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Stopped;
use seqloom_signal::flow::{Account, Fault};
use seqloom_signal::operations::UnionError;
use seqloom_signal::store::fast5::Fast5WriteError;
use seqloom_signal::store::{IndexFileError, StoreError};

/// Reads are missing from the output.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct LostReads(pub(super) Account);

impl RunError for LostReads {
    fn class(&self) -> Class {
        Class::Input
    }
}

/// A read is bad, and `--strict` was requested.
#[derive(Debug, thiserror::Error)]
#[error("{0} (--strict: nothing is written)")]
pub(crate) struct StrictFault(pub(super) Fault);

impl RunError for StrictFault {
    fn class(&self) -> Class {
        Class::Input
    }

    fn place(&self) -> Place {
        self.0.place()
    }
}

/// Why a pass ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Output(#[from] OutputError),
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(transparent)]
    Strict(#[from] StrictFault),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error(transparent)]
    Index(#[from] IndexFileError),
    #[error(transparent)]
    Fast5(#[from] Fast5WriteError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    SignalFiles(#[from] SignalFilesError),
    #[error("{}: {source}", path.display())]
    Model { path: PathBuf, source: ModelError },
    #[error("{0}")]
    Usage(String),
    /// The inputs are not what the command takes.
    #[error("{0}")]
    Input(String),
}

impl RunError for PassError {
    fn class(&self) -> Class {
        match self {
            Self::Store(store) => store.class(),
            Self::Output(output) => output.class(),
            Self::Header(_) | Self::Model { .. } | Self::Input(_) => Class::Input,
            Self::Stopped(stop) => stop.class(),
            Self::Strict(fault) => fault.class(),
            Self::Join(join) => join.class(),
            Self::Index(index) => index.class(),
            Self::Fast5(_) => Class::Input,
            Self::Call(call) => call.class(),
            Self::SignalFiles(files) => files.class(),
            Self::Usage(_) => Class::Usage,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Store(store) => store.place(),
            Self::Output(output) => output.place(),
            Self::Strict(fault) => fault.place(),
            Self::Join(join) => join.place(),
            Self::Index(index) => index.place(),
            Self::Call(call) => call.place(),
            Self::SignalFiles(files) => files.place(),
            Self::Model { path, .. } => Place::of(path),
            Self::Header(_)
            | Self::Stopped(_)
            | Self::Fast5(_)
            | Self::Usage(_)
            | Self::Input(_) => Place::default(),
        }
    }
}

/// Why inputs cannot be joined.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JoinError {
    #[error(transparent)]
    Union(#[from] UnionError),
    #[error("none of the {0} inputs can be read")]
    Nothing(usize),
}

impl RunError for JoinError {
    fn class(&self) -> Class {
        match self {
            Self::Union(_) | Self::Nothing(_) => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Union(union) => union.place(),
            Self::Nothing(_) => Place::default(),
        }
    }
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

impl RunError for NothingCalled {
    fn class(&self) -> Class {
        Class::Input
    }
}
