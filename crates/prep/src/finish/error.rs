//! What can go wrong while records are counted and written.

use seqloom_format::bam::RecordError;
use seqloom_format::index::IndexError;
use seqloom_io::OutputError;
use seqloom_io::spill::SpillError;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Stopped;

use super::encode::EncodeError;
use super::hooks::HookError;

/// Why the output could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum FinishError {
    /// A spilled chunk could not be written or read back.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// A record is malformed, which can only be damage.
    #[error("a stored record is damaged: {0}")]
    Record(#[from] RecordError),
    /// A record cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The index cannot hold the records.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A visitor or an editor failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// Containers for which nobody counts records.
    #[error("CRAM in stripes; this is a bug")]
    Unnumbered,
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for FinishError {
    fn class(&self) -> Class {
        match self {
            Self::Spill(spill) => spill.class(),
            Self::Record(_) => Class::Damaged,
            Self::Unnumbered => Class::Bug,
            Self::Encode(encode) => encode.class(),
            Self::Index(_) => Class::Input,
            Self::Output(output) => output.class(),
            Self::Hook(hook) => hook.class(),
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Spill(spill) => spill.place(),
            Self::Output(output) => output.place(),
            Self::Hook(hook) => hook.place(),
            Self::Record(_)
            | Self::Encode(_)
            | Self::Index(_)
            | Self::Unnumbered
            | Self::Stopped(_) => Place::default(),
        }
    }
}
