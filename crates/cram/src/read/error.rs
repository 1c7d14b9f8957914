//! Why a CRAM cannot be read.

/// A problem, and its place in its container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Defect {
    /// Offset from the start of the container's header.
    pub byte: usize,
    /// The problem.
    pub problem: Problem,
}

/// Problem of a part of a CRAM.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Data are not CRAM.
    #[error("not CRAM: it does not begin with CRAM")]
    NotCram,
    /// Another version than 3.0 and 3.1.
    #[error("CRAM {major}.{minor} is not read, 3.0 and 3.1 are: `samtools view -C` writes these")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// Something ends before it should.
    #[error("{0} ends early")]
    Ends(&'static str),
    /// A checksum is not that of the data.
    #[error("the CRC of {0} is not that of its bytes")]
    Checksum(&'static str),
    /// A number, or a structure, that cannot be.
    #[error("{0}")]
    Malformed(&'static str),
    /// A count that differs from the number of items.
    #[error("{what} says {said}, and there are {found}")]
    Count {
        /// What has the count.
        what: &'static str,
        /// The stated number.
        said: i64,
        /// The number found.
        found: i64,
    },
    /// Compressed data are not what their compressor writes.
    #[error("{0} data are corrupt")]
    Corrupt(&'static str),
    /// A compressor that there is none of.
    #[error("blocks are compressed by method {0}, which CRAM 3.1 does not have")]
    Method(u8),
    /// An encoding that is not read.
    #[error("encoding {0} is not read")]
    Encoding(i32),
    /// More memory than a container may take.
    #[error("the container's data would take more than {0} bytes")]
    TooLarge(usize),
    /// A record of a slice is malformed.
    #[error("record {record} of its slice: {problem}")]
    Record {
        /// From 1.
        record: u32,
        /// The problem.
        problem: Box<Problem>,
    },
    /// The bases of a sequence are needed and not there.
    #[error("the bases of sequence {sequence} are needed, and no reference has them")]
    NoReference {
        /// Index of the sequence.
        sequence: i32,
    },
    /// The bases of a sequence are others than those that the file was written with.
    #[error(
        "the bases of sequence {sequence} are not those that the file was written with (MD5 of \
         {start} to {end})"
    )]
    OtherReference {
        /// Index of the sequence.
        sequence: i32,
        /// First base, from 1.
        start: i64,
        /// Last base.
        end: i64,
    },
    /// The bases of a sequence cannot be read.
    #[error("the bases of sequence {sequence} cannot be read: {reason}")]
    Bases {
        /// Index of the sequence.
        sequence: i32,
        /// Why not.
        reason: String,
    },
}

impl Problem {
    /// The same with its place.
    pub(crate) fn at(self, byte: usize) -> Defect {
        Defect { byte, problem: self }
    }
}
