//! Errors as exceptions of Python, which `_signal.py` turns into those of the package.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyRuntimeError, PyValueError};
use seqloom_runtime::error::{Class, RunError};
use seqloom_runtime::pool::WorkerPanic;
use seqloom_signal::store::{IndexFileError, StoreError};

/// Why a file or a batch cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NativeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] IndexFileError),
    #[error(transparent)]
    Worker(#[from] WorkerPanic),
    /// A signal of Python has raised.
    #[error(transparent)]
    Python(#[from] PyErr),
}

impl From<NativeError> for PyErr {
    fn from(error: NativeError) -> Self {
        let message = error.to_string();
        let class = match error {
            NativeError::Python(raised) => return raised,
            NativeError::Store(store) => store.class(),
            NativeError::Index(index) => index.class(),
            NativeError::Worker(panic) => panic.class(),
        };
        match class {
            Class::MissingInput => PyFileNotFoundError::new_err(message),
            Class::Input => PyValueError::new_err(message),
            _ => PyRuntimeError::new_err(message),
        }
    }
}
