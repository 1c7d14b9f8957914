//! What can go wrong while records come in.

use std::path::PathBuf;

use seqloom_io::alignments::AlignmentError;
use seqloom_io::spill::SpillError;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Stopped;

use crate::duplicates::NAME_OF_ITS_OWN;
use crate::duplicates::ReadEndError;
use crate::partition::collect::CollectError;
use crate::steps::StepError;

/// Why ingest failed.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The input cannot be read or is malformed.
    #[error(transparent)]
    Input(#[from] AlignmentError),
    /// The input claims to be sorted by coordinate and is not.
    #[error(
        "{}: record {record} sorts before its predecessor, although the header says that the \
         file is sorted by coordinate; --sort coordinate puts it in order", path.display()
    )]
    Unsorted {
        /// The input.
        path: PathBuf,
        /// Number of the record, from 1.
        record: u64,
    },
    /// The records of a template must be together and are not.
    #[error(
        "{}: record {record} has the name of record {first}, and records of other names are \
         between them, although the records of a template must be together (the header or \
         --duplicate-mode query says so, or --fix-mates wants it); --sort queryname puts them \
         together", path.display()
    )]
    NotGrouped {
        /// The input.
        path: PathBuf,
        /// Number of the record that comes too late, from 1.
        record: u64,
        /// Number of the first record of that name, or of its last run.
        first: u64,
    },
    /// More records of one name than ordinals can distinguish.
    #[error("{}: template {name} has more than 65536 records", path.display())]
    TooManyRecords {
        /// The input.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// A step or the marking of duplicates cannot do with a record.
    #[error("{}: record {record} ({name}): {}", path.display(), without_place(error))]
    At {
        /// The input.
        path: PathBuf,
        /// Number of the record, or of the first one of its template, from 1.
        record: u64,
        /// Its name.
        name: String,
        /// The problem.
        error: Box<IngestError>,
    },
    /// A step failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Records could not be kept.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for IngestError {
    fn class(&self) -> Class {
        match self {
            Self::Input(input) => input.class(),
            Self::Unsorted { .. } | Self::NotGrouped { .. } | Self::TooManyRecords { .. } => {
                Class::Input
            }
            Self::At { error, .. } => error.class(),
            Self::Step(step) => step.class(),
            Self::Collect(collect) => collect.class(),
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Input(input) => input.place(),
            Self::Unsorted { path, record } | Self::NotGrouped { path, record, .. } => {
                Place::of(path).at_record(*record)
            }
            Self::TooManyRecords { path, name } => Place::of(path).at_name(name),
            Self::At { path, record, name, .. } => Place::of(path).at_record(*record).at_name(name),
            Self::Step(step) => step.place(),
            Self::Collect(collect) => collect.place(),
            Self::Stopped(_) => Place::default(),
        }
    }
}

/// What an error says, without the number or name of the template that it may begin with.
fn without_place(error: &IngestError) -> String {
    match error {
        IngestError::Collect(CollectError::ReadEnd(ReadEndError::Record { source, .. })) => {
            source.to_string()
        }
        IngestError::Collect(CollectError::ReadEnd(ReadEndError::TooManyPrimaries { .. })) => {
            format!("more than two mapped primary records have this name: {NAME_OF_ITS_OWN}")
        }
        IngestError::Collect(CollectError::Record { source, .. }) => source.to_string(),
        IngestError::Step(StepError::At { step, source, .. }) => format!("step {step}: {source}"),
        other => other.to_string(),
    }
}

impl From<SpillError> for IngestError {
    fn from(error: SpillError) -> Self {
        Self::Collect(error.into())
    }
}
