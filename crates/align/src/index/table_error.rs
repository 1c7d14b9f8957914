//! Why a table next to the index is not used.

use std::io;
use std::path::PathBuf;

use seqloom_runtime::pool::Stopped;

use super::read::PartError;

/// Why `PREFIX.fast` or `PREFIX.tsa` is not used.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// There is none.
    #[error("there is no {0}: `seqloom index` makes it")]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("{path} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is not such a file, or another version's.
    #[error("{0} is not a table of this version; make the index anew")]
    Version(PathBuf),
    /// It is of another genome.
    #[error("{0} belongs to another index; make the index anew")]
    Foreign(PathBuf),
    /// Its content is not what was written.
    #[error("{0} is damaged; make the index anew")]
    Damaged(PathBuf),
    /// Its readers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl TableError {
    /// A file that cannot be opened.
    pub(super) fn opening(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            _ => Self::Read { path, source },
        }
    }
}

impl From<PartError> for TableError {
    fn from(error: PartError) -> Self {
        match error {
            PartError::Io { path, source } => Self::Read { path, source },
            PartError::Stopped(stopped) => stopped.into(),
        }
    }
}
