//! What can go wrong while an input is opened, read and decompressed, whatever is in it.

use std::io;
use std::path::PathBuf;

use seqloom_format::bam::HeaderError;
use seqloom_runtime::error::{Class, Place, RunError};

use crate::cram::MalformedContainer;

/// An error of an input. Every kind names it.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The input cannot be opened.
    #[error("{}: cannot open: {source}", path.display())]
    Open {
        /// The input.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The operating system failed to read.
    #[error("{}: cannot read at byte {byte}: {source}", path.display())]
    Read {
        /// The input.
        path: PathBuf,
        /// Offset in the file, compressed as it is.
        byte: u64,
        /// The cause.
        source: io::Error,
    },
    /// The content is not of a format that is read here.
    #[error("{}: {problem}; {hint}", path.display())]
    Unsupported {
        /// The input.
        path: PathBuf,
        /// Format or content found.
        problem: String,
        /// A hint.
        hint: &'static str,
    },
    /// Compressed data are truncated or corrupt.
    #[error("{}: byte {byte} of the compressed file: {problem}", path.display())]
    Compressed {
        /// The input.
        path: PathBuf,
        /// Offset in the compressed file at or shortly before the fault.
        byte: u64,
        /// The problem.
        problem: String,
        /// The input ends where it may not; all before that is good.
        is_truncation: bool,
    },
    /// A container of CRAM cannot be read.
    #[error(transparent)]
    Container(Box<MalformedContainer>),
    /// A regular file has another size than when it was opened.
    #[error("{}: the file changed while it was read: {was_bytes} bytes at first, {now_bytes} now",
            path.display())]
    Changed {
        /// The input.
        path: PathBuf,
        /// Size at open.
        was_bytes: u64,
        /// Size now.
        now_bytes: u64,
    },
}

impl RunError for InputError {
    fn class(&self) -> Class {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => Class::of_input(source),
            Self::Unsupported { .. }
            | Self::Compressed { .. }
            | Self::Container(_)
            | Self::Changed { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Open { path, .. }
            | Self::Unsupported { path, .. }
            | Self::Changed { path, .. } => Place::of(path),
            Self::Read { path, byte, .. } | Self::Compressed { path, byte, .. } => {
                Place::of(path).at_byte(*byte)
            }
            Self::Container(container) => container.place(),
        }
    }
}

impl From<MalformedContainer> for InputError {
    fn from(container: MalformedContainer) -> Self {
        Self::Container(Box::new(container))
    }
}

/// Why the header of BAM, CRAM or SAM cannot be read.
#[derive(Debug)]
pub(crate) enum HeaderProblem {
    /// The container that it is in.
    Input(InputError),
    /// Its text.
    Text(HeaderError),
}
