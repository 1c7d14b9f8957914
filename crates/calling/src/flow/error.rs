//! Why calling fails.

use std::path::{Path, PathBuf};

use seqloom_io::alignments::AlignmentError;
use seqloom_io::{IndexedFastaError, TextError};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Stopped;

/// Why calling ended early.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The BAM cannot be read or is malformed.
    #[error(transparent)]
    Alignments(#[from] AlignmentError),
    /// It is not sorted by coordinate.
    #[error(
        "{}: record {name} sorts before its predecessor; calling wants reads sorted by \
         coordinate: `seqloom prep` or `samtools sort` sorts them", path.display()
    )]
    Unsorted {
        /// The BAM.
        path: PathBuf,
        /// Name of the record.
        name: String,
    },
    /// The reference cannot be read.
    #[error(transparent)]
    Reference(#[from] IndexedFastaError),
    /// The reads cannot be read.
    #[error(transparent)]
    Sequences(#[from] TextError),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for CallError {
    fn class(&self) -> Class {
        match self {
            Self::Alignments(alignments) => alignments.class(),
            Self::Unsorted { .. } => Class::Input,
            Self::Reference(reference) => reference.class(),
            Self::Sequences(sequences) => sequences.class(),
            Self::Stopped(stop) => stop.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Alignments(alignments) => alignments.place(),
            Self::Unsorted { path, name } => Place::of(path).at_name(name),
            Self::Reference(reference) => reference.place(),
            Self::Sequences(sequences) => sequences.place(),
            Self::Stopped(_) => Place::default(),
        }
    }
}

impl CallError {
    /// `name` is the record's.
    pub(super) fn unsorted(path: &Path, name: &[u8]) -> Self {
        let name = String::from_utf8_lossy(name).escape_debug().to_string();
        Self::Unsorted { path: path.to_owned(), name }
    }
}
