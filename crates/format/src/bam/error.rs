//! What can be wrong with a record.

use crate::names::ReadNameProblem;

/// Why bytes are not a good record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The body ends before the fixed fields do.
    #[error("record has {0} bytes, fewer than its 32 bytes of fixed fields")]
    TooShort(usize),
    /// `l_read_name` is 0, or the name does not end in NUL.
    #[error("record has a malformed read name")]
    BadName,
    /// The read's name.
    #[error(transparent)]
    Name(#[from] ReadNameProblem),
    /// The lengths of name, CIGAR, bases and qualities add up to more than the record has.
    #[error("record needs {needed_bytes} bytes for its parts and has {available_bytes}")]
    Overflow {
        /// Sum of the parts.
        needed_bytes: usize,
        /// Length of the body.
        available_bytes: usize,
    },
    /// A reference index or position below -1, or a negative `l_seq`.
    #[error("record has {field} {value}")]
    BadValue {
        /// Name of the field in the SAM specification.
        field: &'static str,
        /// Its value.
        value: i32,
    },
    /// A CIGAR operation code above 8.
    #[error("record has the unknown CIGAR operation {0}")]
    BadCigar(u8),
    /// An auxiliary field that is cut short or has an unknown type, by its offset in the body.
    #[error("record has a malformed auxiliary field at byte {0}")]
    BadAux(usize),
    /// An auxiliary field whose tag, type or value is none.
    #[error("record has a malformed value of tag {} at byte {at}", tag.escape_ascii())]
    BadTag {
        /// The tag.
        tag: [u8; 2],
        /// Its offset in the body.
        at: usize,
    },
    /// A record length that does not fit the bytes after it, by the offset of the length.
    #[error("record at byte {offset} is truncated: {needed_bytes} bytes of {available_bytes}")]
    TruncatedFrame {
        /// Offset of `block_size` in the run.
        offset: usize,
        /// Bytes the record claims (4 where even its length is cut).
        needed_bytes: usize,
        /// Bytes there are.
        available_bytes: usize,
    },
    /// A quality above 93.
    #[error("record has the quality {0}, above 93")]
    BadQuality(u8),
    /// The CIGAR of a mapped record consumes more or fewer bases than there are.
    #[error("record has {bases} bases and a CIGAR of {cigar_bases}")]
    CigarLength {
        /// Bases that the CIGAR consumes.
        cigar_bases: u64,
        /// Length of SEQ.
        bases: usize,
    },
    /// A hard clip between other CIGAR operations.
    #[error("record has a CIGAR with a hard clip that is not at an end")]
    BadClip,
    /// A reference index that the header does not have, in the field that it is in.
    #[error("record has {field} {id}, and the header has {reference_count} references")]
    BadReference {
        /// `refID` or `next_refID`.
        field: &'static str,
        /// The index.
        id: i32,
        /// References of the header.
        reference_count: usize,
    },
    /// A reference index that the header does not have.
    #[error("record refers to reference {0}, which the header does not have")]
    UnknownReference(i32),
}
