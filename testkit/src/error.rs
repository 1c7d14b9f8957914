//! The one error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong when test data is made, read or compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A stream without a name failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A file is not what it should be.
    #[error("{what}: {why}")]
    Format {
        /// Which stream or file.
        what: String,
        /// The problem.
        why: String,
    },
    /// Options that contradict each other.
    #[error("{0}")]
    Options(String),
}

impl Error {
    /// An [`Error::File`] for `path`; for `map_err`.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        move |source| Error::File { path: path.to_owned(), source }
    }

    /// An [`Error::Format`].
    pub fn format(what: impl Into<String>, why: impl Into<String>) -> Error {
        Error::Format { what: what.into(), why: why.into() }
    }
}
