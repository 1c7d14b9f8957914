//! What an error means to who runs the program: its class, which decides the exit code, and its
//! place in the input or output.
//!
//! Each error enum that can end a run has a [`RunError`] next to it, as a match without a wildcard,
//! so that a new variant cannot be forgotten.

use std::io;
use std::path::Path;

/// Kind of failure of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The command line makes no sense, or its options do not fit the machine or each other.
    Usage,
    /// An input is unreadable, malformed, or not what the options say.
    Input,
    /// An input is not there.
    MissingInput,
    /// An output or a temporary file cannot be written, or read back.
    Output,
    /// Data that a run wrote for itself, or for another process of it, is damaged.
    Damaged,
    /// The reader of the output has closed its pipe: not a failure.
    ClosedPipe,
    /// A signal or the caller stopped the run.
    Interrupted,
    /// The machine, or another process of the run, does not give what is needed: threads, memory,
    /// placement, the result of a task.
    System,
    /// A bug of this program.
    Bug,
}

impl Class {
    /// Class of a failure to open or read an input.
    #[must_use]
    pub fn of_input(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::MissingInput,
            _ => Self::Input,
        }
    }
}

/// Place of an error, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Option<String>,
    /// Number of the record, from 1.
    pub record: Option<u64>,
    /// Name of the read or sequence.
    pub name: Option<String>,
    /// Number of the line, from 1.
    pub line: Option<u64>,
    /// Offset, from 0: in the decompressed text or, where data are damaged, in the file.
    pub byte: Option<u64>,
}

impl Place {
    /// Somewhere in the file at `path`.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        Self { file: Some(path.display().to_string()), ..Self::default() }
    }

    /// This place with `record`, from 1.
    #[must_use]
    pub fn at_record(self, record: u64) -> Self {
        Self { record: Some(record), ..self }
    }

    /// This place with the read or sequence `name`.
    #[must_use]
    pub fn at_name(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// This place with `line`, from 1.
    #[must_use]
    pub fn at_line(self, line: u64) -> Self {
        Self { line: Some(line), ..self }
    }

    /// This place with `byte`, from 0.
    #[must_use]
    pub fn at_byte(self, byte: u64) -> Self {
        Self { byte: Some(byte), ..self }
    }
}

/// An error that can end a run.
pub trait RunError: std::error::Error {
    /// Class of the failure.
    fn class(&self) -> Class;

    /// Its place: that of the error that this one wraps, where that knows more.
    fn place(&self) -> Place {
        Place::default()
    }
}

/// Text could not be formatted in memory.
impl RunError for std::fmt::Error {
    fn class(&self) -> Class {
        Class::Bug
    }
}

/// There is no such error.
impl RunError for std::convert::Infallible {
    fn class(&self) -> Class {
        match *self {}
    }
}

/// Any error that can end a run, from a worker too.
pub type AnyRunError = Box<dyn RunError + Send + Sync>;
