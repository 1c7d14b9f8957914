//! What can go wrong while reads are read.

use std::path::PathBuf;

use seqloom_runtime::error::{Class, Place, RunError};

use crate::input::error::InputError;
use crate::input::malformed::Malformed;

/// An error of a [`ReadSource`](super::ReadSource).
#[derive(Debug, thiserror::Error)]
pub enum ReadsError {
    /// Not one or two inputs.
    #[error("expected one or two read files, got {0}")]
    InputCount(usize),
    /// `-` was given for both files.
    #[error("standard input can be only one of the two read files")]
    StandardInputTwice,
    /// The input cannot be opened, read or decompressed, or has something else than reads.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A record is malformed.
    #[error(transparent)]
    Malformed(Box<Malformed>),
    /// Qualities look like Phred+64.
    #[error(
        "{}: qualities look like {encoding}: the first {records} records have only bytes {lowest} \
         to {highest}; read them with --phred64, convert them to Phred+33 (for example with \
         `seqtk seq -Q64 -V`), or say that they are Phred+33", path.display()
    )]
    PhredOffset {
        /// The input.
        path: PathBuf,
        /// Phred+64 or Solexa+64.
        encoding: &'static str,
        /// Records looked at.
        records: u64,
        /// Lowest quality byte in them.
        lowest: u8,
        /// Highest quality byte in them.
        highest: u8,
    },
    /// Blocks do not join, and reading once more finds nothing wrong.
    #[error("{}: text before byte {byte} could not be read twice alike; was it changed meanwhile?",
            path.display())]
    Inconsistent {
        /// The input.
        path: PathBuf,
        /// Offset in the decompressed text.
        byte: u64,
    },
    /// One of two pipes gives nothing while the other is too far ahead.
    #[error(
        "{}: no data for {seconds} s while {} is {ahead_bytes} bytes ahead, the most that is held; \
         write both pipes alternately, or write one of them to a file first",
        path.display(), ahead.display()
    )]
    Skew {
        /// The pipe that gives nothing.
        path: PathBuf,
        /// The pipe that is ahead.
        ahead: PathBuf,
        /// By how many bytes of text.
        ahead_bytes: u64,
        /// How long nothing came.
        seconds: u64,
    },
}

impl RunError for ReadsError {
    fn class(&self) -> Class {
        match self {
            Self::InputCount(_) | Self::StandardInputTwice => Class::Usage,
            Self::Input(error) => error.class(),
            Self::Malformed(_)
            | Self::PhredOffset { .. }
            | Self::Inconsistent { .. }
            | Self::Skew { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::InputCount(_) | Self::StandardInputTwice => Place::default(),
            Self::Input(error) => error.place(),
            Self::PhredOffset { path, .. } | Self::Skew { path, .. } => Place::of(path),
            Self::Inconsistent { path, byte } => Place::of(path).at_byte(*byte),
            Self::Malformed(malformed) => malformed.place(),
        }
    }
}
