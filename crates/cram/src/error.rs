//! Why records cannot be CRAM.

use seqloom_format::bam::RecordError;

/// Why records could not be encoded.
#[derive(Debug, thiserror::Error)]
pub enum CramError {
    /// A record is malformed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A record's CIGAR covers more or fewer bases than it has: a CRAM, which has no other count of
    /// them, would give back another record.
    #[error(
        "record {name}: its CIGAR covers {cigar_bases} of {bases} bases, which CRAM cannot hold"
    )]
    CigarLength {
        /// The read.
        name: String,
        /// Bases that its CIGAR covers.
        cigar_bases: u64,
        /// Bases that it has.
        bases: u64,
    },
    /// A record that no reader of CRAM takes.
    #[error(
        "record {name}: it begins or deletes past the end of its reference, which readers of \
         CRAM refuse; prep's --clean-sam clips such records"
    )]
    OutsideReference {
        /// The read.
        name: String,
    },
    /// A reference whose bases nobody has given.
    #[error("record {name} is on reference {reference_id}, which the header does not have")]
    UnknownReference {
        /// The read.
        name: String,
        /// Index of the reference.
        reference_id: i32,
    },
    /// A name, tag or header that a 32-bit size cannot hold.
    #[error("{0} is larger than CRAM can hold (2 GiB)")]
    TooLarge(&'static str),
    /// gzip failed.
    #[error("deflate failed; this is a bug")]
    Deflate,
}
