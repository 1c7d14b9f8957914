//! What can go wrong while columns are made.

use std::path::{Path, PathBuf};

use arrow_schema::ArrowError;
use seqloom_io::alignments::AlignmentError;
use seqloom_io::reads::ReadsError;
use seqloom_io::{AlignmentIndexError, OutputError};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Stopped;
use seqloom_signal::flow::Fault;
use seqloom_signal::store::StoreError;

/// Why there is no stream, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum ColumnsError {
    /// Reading alignments failed.
    #[error(transparent)]
    Alignments(#[from] AlignmentError),
    /// The index of alignments is of no use.
    #[error(transparent)]
    Index(#[from] AlignmentIndexError),
    /// Reading reads failed.
    #[error(transparent)]
    Source(#[from] ReadsError),
    /// A file of raw signal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A read of raw signal is bad.
    #[error(transparent)]
    Fault(Box<Fault>),
    /// A record has a value that its column cannot hold.
    #[error(transparent)]
    Value(Box<BadValue>),
    /// Inputs do not go together.
    #[error("{}: {problem}", path.display())]
    Inputs {
        /// The one at fault.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// The request makes no sense.
    #[error("{0}")]
    Requested(String),
    /// Writing failed.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Encoding failed.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for ColumnsError {
    fn class(&self) -> Class {
        match self {
            Self::Alignments(alignments) => alignments.class(),
            Self::Index(index) => index.class(),
            Self::Source(source) => source.class(),
            Self::Store(store) => store.class(),
            Self::Fault(_) | Self::Value(_) | Self::Inputs { .. } => Class::Input,
            Self::Requested(_) => Class::Usage,
            Self::Output(output) => output.class(),
            Self::Stopped(stop) => stop.class(),
            Self::Arrow(_) => Class::Bug,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Alignments(alignments) => alignments.place(),
            Self::Index(index) => index.place(),
            Self::Source(source) => source.place(),
            Self::Store(store) => store.place(),
            Self::Fault(fault) => fault.place(),
            Self::Value(value) => {
                Place::of(&value.path).at_record(value.record).at_name(&value.name)
            }
            Self::Inputs { path, .. } => Place::of(path),
            Self::Output(output) => output.place(),
            Self::Requested(_) | Self::Stopped(_) | Self::Arrow(_) => Place::default(),
        }
    }
}

/// A value that a column cannot hold, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: record {record} ({name}): {problem}", path.display())]
pub struct BadValue {
    /// The input.
    pub path: PathBuf,
    /// Number of the record, from 1.
    pub record: u64,
    /// Name of the read.
    pub name: String,
    /// The problem.
    pub(crate) problem: String,
}

impl ColumnsError {
    /// A value of a record, preceded by `ordinal` others, that its column cannot hold.
    pub(crate) fn value(path: &Path, ordinal: u64, name: &[u8], problem: String) -> Self {
        Self::Value(Box::new(BadValue {
            path: path.to_path_buf(),
            record: ordinal + 1,
            name: String::from_utf8_lossy(name).escape_debug().to_string(),
            problem,
        }))
    }
}
