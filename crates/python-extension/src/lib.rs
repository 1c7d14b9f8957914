//! `seqloom._native`, the part of the Python package that runs in the interpreter: reads of raw
//! signal by id, whose samples numpy takes as they are.
//!
//! It knows formats and signal alone. Engine, allocator and signal handlers of the program would
//! break an interpreter; a test reads the tree of dependencies.

mod error;
mod file;
mod read;
mod stage;

use pyo3::prelude::*;

/// See the crate's documentation; `_signal.py` is what users see of it.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::file::{SequentialReads, SignalStore};
    #[pymodule_export]
    use crate::read::{Fault, Read, Samples};
}
