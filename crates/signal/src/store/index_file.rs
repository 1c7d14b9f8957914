//! The index file of a SLOW5 or BLOW5 file, and whether it is that file's.

use std::path::{Path, PathBuf};

use seqloom_format::signal::Slow5Version;
use seqloom_format::slow5::{IndexError, index};
use seqloom_io::sidecars::with_suffix;
use seqloom_runtime::error::{Class, Place, RunError};

use super::requests::Location;
use super::{DuplicateReadId, ReadIndex, SignalStore};

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IndexFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The index.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is malformed.
    #[error("{}: {source}", path.display())]
    Malformed {
        /// The index.
        path: PathBuf,
        /// The problem.
        source: IndexError,
    },
    /// It is of another version than the file: slow5lib takes it for another file's.
    #[error(
        "{}: the index is of version {}.{}.{}, its file is not; index the file again",
        path.display(), version.0, version.1, version.2
    )]
    Version {
        /// The index.
        path: PathBuf,
        /// Its version.
        version: Slow5Version,
    },
    /// A read is said to be where the file has none.
    #[error(
        "{}: read {read_id} would end at byte {end} of a file of {size_bytes}; index the file \
         again",
        path.display()
    )]
    PastEnd {
        /// The index.
        path: PathBuf,
        /// The read.
        read_id: String,
        /// Where it would end.
        end: u64,
        /// Bytes of the file.
        size_bytes: u64,
    },
    /// A read id is there twice.
    #[error("{}: {source}", path.display())]
    Duplicate {
        /// The index, or the file that was to be indexed.
        path: PathBuf,
        /// The id and both places of it.
        source: DuplicateReadId,
    },
}

impl RunError for IndexFileError {
    fn class(&self) -> Class {
        match self {
            Self::Read { source, .. } => Class::of_input(source),
            Self::Malformed { .. }
            | Self::Version { .. }
            | Self::PastEnd { .. }
            | Self::Duplicate { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read { path, .. }
            | Self::Malformed { path, .. }
            | Self::Version { path, .. }
            | Self::PastEnd { path, .. }
            | Self::Duplicate { path, .. } => Place::of(path),
        }
    }
}

/// Where the index of a file is: next to it, its name followed by `.idx`.
#[must_use]
pub fn index_path(data: &Path) -> PathBuf {
    with_suffix(data, ".idx")
}

/// Reads the index at `path` of the file `store`.
///
/// # Errors
/// [`IndexFileError`].
pub fn read_index_file(path: &Path, store: &dyn SignalStore) -> Result<ReadIndex, IndexFileError> {
    let failed = |source| IndexFileError::Read { path: path.to_owned(), source };
    check_index(&std::fs::read(path).map_err(failed)?, path, store)
}

/// Reads an index from its bytes; `path` is for messages.
///
/// # Errors
/// [`IndexFileError`].
pub(crate) fn check_index(
    bytes: &[u8],
    path: &Path,
    store: &dyn SignalStore,
) -> Result<ReadIndex, IndexFileError> {
    let mut reads = ReadIndex::default();
    for_each_entry(bytes, path, store, |read_id, location| reads.push(read_id, location))?;
    let duplicate = |source| IndexFileError::Duplicate { path: path.to_owned(), source };
    reads.sort().map_err(duplicate)?;
    Ok(reads)
}

/// Hands every entry of an index to `on_entry`; `path` is for messages.
///
/// # Errors
/// [`IndexFileError`].
pub fn for_each_entry(
    bytes: &[u8],
    path: &Path,
    store: &dyn SignalStore,
    mut on_entry: impl FnMut(&[u8], Location),
) -> Result<(), IndexFileError> {
    let malformed = |source| IndexFileError::Malformed { path: path.to_owned(), source };
    let (version, entries) = index::parse(bytes).map_err(malformed)?;
    if version != store.header().version {
        return Err(IndexFileError::Version { path: path.to_owned(), version });
    }
    let size_bytes = store.size_bytes();
    for entry in entries {
        let entry = entry.map_err(malformed)?;
        let end = entry.offset.saturating_add(entry.size_bytes);
        if end > size_bytes {
            let read_id = String::from_utf8_lossy(entry.read_id).into_owned();
            return Err(IndexFileError::PastEnd {
                path: path.to_owned(),
                read_id,
                end,
                size_bytes,
            });
        }
        let location = Location { offset: entry.offset, size_bytes: entry.size_bytes };
        on_entry(entry.read_id, location);
    }
    Ok(())
}
