//! What can go wrong while an index is built.

use std::io;
use std::path::PathBuf;

use seqloom_format::fasta::FastaError;
use seqloom_io::reference::fasta_place;
use seqloom_io::{AtomicFileError, InputError};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::pool::Stopped;

use super::layout::MAX_STRIDE_LOG2;

/// Why an index was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The FASTA could not be read or decompressed.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file of the index could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A file of the index could not be made, synced or given its name.
    #[error(transparent)]
    Output(#[from] AtomicFileError),
    /// The FASTA is not one we accept.
    #[error("{}: {source}", path.display())]
    Fasta {
        /// The file.
        path: PathBuf,
        /// Record, line, byte and what is wrong there.
        source: FastaError,
    },
    /// More bases or holes than the format can number.
    #[error("{}: {count} {what}, but the index format holds at most {most}", path.display())]
    TooLarge {
        /// The FASTA.
        path: PathBuf,
        /// "bases" or "runs of ambiguous bases".
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        most: u64,
    },
    /// The stride is out of range.
    #[error("a suffix-array stride of 2^{0} is not possible: 2^0 to 2^{MAX_STRIDE_LOG2}")]
    Stride(u8),
    /// Building would take more memory than allowed.
    #[error(
        "indexing {bases} bases takes at least {} of memory, more than the {} allowed; give -m {0}",
        ByteSize(*needed_bytes), ByteSize(*limit_bytes)
    )]
    MemoryLimit {
        /// The least that it takes.
        needed_bytes: u64,
        /// What is allowed.
        limit_bytes: u64,
        /// Bases read.
        bases: u64,
    },
    /// The system refused to give memory.
    #[error("the system refused {0} bytes of memory for the suffix array")]
    OutOfMemory(u64),
    /// The suffix sorter failed.
    #[error("the suffix array could not be made: {0}")]
    SuffixArray(String),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

impl RunError for BuildError {
    fn class(&self) -> Class {
        match self {
            Self::Output(file) => file.class(),
            Self::Stopped(stop) => stop.class(),
            Self::Write { .. } => Class::Output,
            Self::Input(input) => input.class(),
            Self::Fasta { .. } | Self::TooLarge { .. } => Class::Input,
            Self::Stride(_) | Self::MemoryLimit { .. } => Class::Usage,
            Self::OutOfMemory(_) => Class::System,
            Self::SuffixArray(_) => Class::Bug,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Input(input) => input.place(),
            Self::Write { path, .. } | Self::TooLarge { path, .. } => Place::of(path),
            Self::Fasta { path, source } => fasta_place(path, source),
            Self::Output(file) => file.place(),
            Self::Stride(_)
            | Self::MemoryLimit { .. }
            | Self::OutOfMemory(_)
            | Self::SuffixArray(_)
            | Self::Stopped(_) => Place::default(),
        }
    }
}
