//! Why a file, or one read of it, cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use seqloom_runtime::error::{Class, Place, RunError};

const NO_FORMAT: &str =
    "this is not a file of raw signal (it does not begin like any of SLOW5, BLOW5, FAST5 and POD5)";

/// Why a whole file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("cannot read {}: byte {offset}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// From where.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// It is none of the formats.
    #[error("{}: {NO_FORMAT}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// Its header, or what stands for one, is malformed.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
}

impl RunError for StoreError {
    fn class(&self) -> Class {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => Class::of_input(source),
            Self::Unknown { .. } | Self::Malformed { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read { path, offset, .. } => Place::of(path).at_byte(*offset),
            Self::Open { path, .. } | Self::Unknown { path } | Self::Malformed { path, .. } => {
                Place::of(path)
            }
        }
    }
}

impl StoreError {
    /// Whether the file is there and readable, but not what it should be.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Malformed { .. })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path, .. }
            | Self::Read { path, .. }
            | Self::Unknown { path }
            | Self::Malformed { path, .. } => path,
        }
    }

    /// Its problem, without its name.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Open { source, .. } => format!("cannot be opened: {source}"),
            Self::Read { offset, source, .. } => format!("byte {offset}: cannot be read: {source}"),
            Self::Unknown { .. } => NO_FORMAT.to_owned(),
            Self::Malformed { reason, .. } => reason.clone(),
        }
    }

    pub(crate) fn malformed(path: &Path, reason: impl ToString) -> Self {
        Self::Malformed { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// Why one read cannot be decoded, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

impl ReadError {
    /// From whatever a codec says.
    pub(crate) fn new(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}
