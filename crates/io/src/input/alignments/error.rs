//! What can go wrong while aligned reads are read.

use std::fmt;
use std::path::PathBuf;

use seqloom_format::bam::{HeaderError, RecordError};
use seqloom_format::bgzf::VirtualOffset;
use seqloom_format::sam::SamError;
use seqloom_runtime::error::{Class, Place, RunError};

use crate::cram::ContainerFault;
use crate::input::error::InputError;
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
        /// Where a record was to begin.
        offset: VirtualOffset,
    },
    /// A record is malformed or cut off.
    #[error(transparent)]
    Malformed(Box<MalformedRecord>),
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

/// A malformed record and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MalformedRecord {
    /// The input.
    pub path: PathBuf,
    /// Number of the record, from 1, header lines not counted.
    pub record: u64,
    /// Name of the read as far as it is known.
    pub name: Option<String>,
    /// Its start.
    pub place: RecordPlace,
    /// The problem.
    pub(crate) problem: Problem,
}

/// Where in an input a record starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPlace {
    /// In a BGZF file that is read at offsets.
    Virtual(VirtualOffset),
    /// Offset in the data, decompressed where they are compressed.
    Byte(u64),
    /// In SAM text.
    Line {
        /// Number of the line, from 1, header lines counted.
        line: u64,
        /// Offset of its start in the decompressed text.
        byte: u64,
    },
    /// In a container of CRAM.
    Container {
        /// Its number, from 1.
        container: u64,
        /// Offset of its start.
        byte: u64,
    },
}

impl fmt::Display for RecordPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Virtual(offset) => write!(
                f,
                "byte {} of the BGZF block at byte {} (virtual offset {})",
                offset.offset_in_block(),
                offset.block_offset(),
                offset.raw()
            ),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Line { line, byte } => write!(f, "line {line}, byte {byte}"),
            Self::Container { container, byte } => {
                write!(f, "container {container}, byte {byte}")
            }
        }
    }
}

/// What is wrong with a record.
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
    Container(ContainerFault),
}

impl Problem {
    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Truncated { .. } => Some(
                "the file was probably cut short while it was copied or written; with \
                 --allow-truncated the records before it are read",
            ),
            Self::LongLine(_) => Some(
                "is its end missing? with more memory (-m), of which a line may have a sixteenth, \
                 or as BAM (`samtools view -b`) longer records are read",
            ),
            Self::Bam(RecordError::Name(fault)) | Self::Sam(SamError::Name(fault)) => fault.hint(),
            Self::SecondHeader => Some(
                "files of one header are joined by `samtools cat`, sorted ones by `samtools merge`",
            ),
            Self::Container(fault) => fault.hint,
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
            Self::Container(fault) => f.write_str(&fault.problem),
            Self::Compressed { byte, problem } | Self::Truncated { byte, problem } => {
                write!(f, "at byte {byte} of the file: {problem}")
            }
        }
    }
}

impl MalformedRecord {
    fn place(&self) -> Place {
        let (line, byte) = match self.place {
            RecordPlace::Virtual(offset) => (None, offset.block_offset()),
            RecordPlace::Byte(byte) | RecordPlace::Container { byte, .. } => (None, byte),
            RecordPlace::Line { line, byte } => (Some(line), byte),
        };
        let (record, byte) = (Some(self.record), Some(byte));
        Place { record, name: self.name.clone(), line, byte, ..Place::of(&self.path) }
    }
}

impl fmt::Display for MalformedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: record {}", self.path.display(), self.record)?;
        if let Some(name) = &self.name {
            write!(f, " ({name})")?;
        }
        write!(f, ", {}: {}", self.place, self.problem)?;
        match self.problem.hint() {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for MalformedRecord {}
