//! Reads of a FASTA or FASTQ (plain, gzip, BGZF or zstd), front to back, for those who look them up
//! by name later.

use std::path::{Path, PathBuf};

use seqloom_format::{SequenceScanError, SequenceScanner, SequenceSink};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::pool::Interrupted;

use crate::input::error::InputError;
use crate::text::for_each_chunk;

/// Why reads cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum SequencesError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] InputError),
    /// It is malformed.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem and its place.
        source: SequenceScanError,
    },
    /// The caller wants no more.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl RunError for SequencesError {
    fn class(&self) -> Class {
        match self {
            Self::Source(source) => source.class(),
            Self::Malformed { .. } => Class::Input,
            Self::Interrupted(interrupted) => interrupted.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Source(source) => source.place(),
            Self::Malformed { path, .. } => Place::of(path),
            Self::Interrupted(_) => Place::default(),
        }
    }
}

/// Hands every read of `path` to `sink`; `look` is called after every megabyte of text.
///
/// # Errors
/// [`SequencesError`].
pub fn scan<S: SequenceSink>(
    path: &Path,
    sink: &mut S,
    look: impl Fn(&S) -> Result<(), Interrupted>,
) -> Result<(), SequencesError> {
    let malformed = |source| SequencesError::Malformed { path: path.to_owned(), source };
    let mut scanner = SequenceScanner::default();
    for_each_chunk(path, |chunk| {
        scanner.push(chunk.text, sink).map_err(malformed)?;
        look(sink).map_err(SequencesError::from)
    })?;
    scanner.finish(sink).map_err(malformed)
}
