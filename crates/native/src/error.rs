//! Errors as exceptions of Python, which `_signal.py` turns into those of the package.

use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use seqloom_runtime::pool::WorkerPanic;
use seqloom_signal::store::{IndexFileError, StoreError};

/// Why a file or a batch cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NativeError {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("{0}")]
    Index(#[from] IndexFileError),
    #[error("{0}")]
    Worker(#[from] WorkerPanic),
    /// A signal of Python has raised.
    #[error("{0}")]
    Python(#[from] PyErr),
}

impl From<NativeError> for PyErr {
    fn from(error: NativeError) -> Self {
        let message = error.to_string();
        match error {
            NativeError::Python(raised) => raised,
            NativeError::Worker(_) => PyRuntimeError::new_err(message),
            NativeError::Index(IndexFileError::Read { .. }) => PyOSError::new_err(message),
            NativeError::Store(store) if !store.is_malformed() => PyOSError::new_err(message),
            // What is there, but not what it should be.
            NativeError::Store(_) | NativeError::Index(_) => PyValueError::new_err(message),
        }
    }
}
