//! What can go wrong while aligned reads are read.

use std::fmt;
use std::path::PathBuf;

use seqloom_format::bam::{HeaderError, RecordError};
use seqloom_format::bgzf::VirtualOffset;
use seqloom_format::sam::SamError;
use seqloom_runtime::error::{Class, Place, RunError};

use crate::cram::ContainerDefect;
use crate::input::error::InputError;
use crate::input::malformed::Malformed;
use crate::input::{MAX_RECORD_BYTES, bam};

/// An error of an [`AlignmentSource`](super::AlignmentSource). Every kind but the first two names
/// the input.
#[derive(Debug, thiserror::Error)]
pub enum AlignmentError {
    /// No input at all.
    #[error("expected at least one file of aligned reads")]
    NoInput,
    /// `-` was given more than once.
    #[error("standard input can be only one of the inputs")]
    StandardInputTwice,
    /// Opening, reading or decompressing failed, or the content is of another kind.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The header is malformed.
    #[error("{}: {source}", path.display())]
    Header {
        /// The input.
        path: PathBuf,
        /// The problem.
        source: HeaderError,
    },
    /// The file does not end with the empty block that complete ones end with.
    #[error("{}: byte {byte}: {problem}; with --allow-truncated what there is is read",
            path.display())]
    MissingEof {
        /// The input.
        path: PathBuf,
        /// Size of the file.
        byte: u64,
        /// The problem.
        problem: &'static str,
    },
    /// An index says that a record begins where none can.
    #[error(
        "{}: no record can begin at virtual offset {}: its index is of another file; `samtools \
         index` makes a new one", path.display(), offset.raw()
    )]
    Start {
        /// The input.
        path: PathBuf,
        /// Expected start of a record.
        offset: VirtualOffset,
    },
    /// A record is malformed or cut off.
    #[error(transparent)]
    Malformed(Box<Malformed>),
}

impl RunError for AlignmentError {
    fn class(&self) -> Class {
        match self {
            Self::NoInput | Self::StandardInputTwice => Class::Usage,
            Self::Input(source) => source.class(),
            Self::Header { .. }
            | Self::MissingEof { .. }
            | Self::Start { .. }
            | Self::Malformed(_) => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::NoInput | Self::StandardInputTwice => Place::default(),
            Self::Input(source) => source.place(),
            Self::Header { path, .. } => Place::of(path),
            Self::MissingEof { path, byte, .. } => Place::of(path).at_byte(*byte),
            Self::Start { path, offset } => Place::of(path).at_byte(offset.block_offset()),
            Self::Malformed(malformed) => malformed.place(),
        }
    }
}

/// The problem of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A BAM record.
    Bam(RecordError),
    /// A line of SAM text.
    Sam(SamError),
    /// `block_size` is below the fixed fields or above [`MAX_RECORD_BYTES`].
    Size(u64),
    /// A header is where a record should be.
    SecondHeader,
    /// A record is longer than [`MAX_RECORD_BYTES`].
    TooLong,
    /// A line of SAM text is longer than it may be, in bytes.
    LongLine(usize),
    /// The input ends within it or right before it, where it may not.
    Truncated {
        /// Offset in the file, compressed as it is, where the data are that are cut.
        byte: u64,
        /// How it shows.
        problem: String,
    },
    /// The data are corrupt here or before the record's end.
    Compressed {
        /// Offset in the file, compressed as it is.
        byte: u64,
        /// The problem.
        problem: String,
    },
    /// The container of a CRAM.
    Container(ContainerDefect),
}

impl Problem {
    pub(super) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Truncated { .. } => Some(
                "the file was probably cut short while it was copied or written; with \
                 --allow-truncated the records before it are read",
            ),
            Self::LongLine(_) => Some(
                "is its end missing? with more memory (-m), of which a line may have a sixteenth, \
                 or as BAM (`samtools view -b`) longer records are read",
            ),
            Self::Bam(RecordError::Name(problem)) | Self::Sam(SamError::Name(problem)) => {
                problem.hint()
            }
            Self::SecondHeader => Some(
                "files of one header are joined by `samtools cat`, sorted ones by `samtools merge`",
            ),
            Self::Container(defect) => defect.hint,
            Self::Compressed { .. } => Some("the file is damaged: copy it again from its source"),
            _ => None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bam(error) => error.fmt(f),
            Self::Sam(error) => error.fmt(f),
            Self::Size(bytes) => write!(
                f,
                "record claims a size of {bytes} bytes; 32 to {MAX_RECORD_BYTES} are possible"
            ),
            Self::SecondHeader => f.write_str(bam::SECOND_HEADER),
            Self::TooLong => write!(f, "record is longer than {MAX_RECORD_BYTES} bytes"),
            Self::LongLine(most) => write!(f, "the line is longer than {most} bytes"),
            Self::Container(defect) => f.write_str(&defect.problem),
            Self::Compressed { byte, problem } | Self::Truncated { byte, problem } => {
                write!(f, "at byte {byte} of the file: {problem}")
            }
        }
    }
}
