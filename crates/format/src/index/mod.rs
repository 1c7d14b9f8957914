//! BAI and CSI indices, built in parallel while a BAM file is written; and what they say of where
//! the records of a region begin.
//!
//! A worker that deflates a run of sorted records collects an [`IndexFragment`] with positions
//! relative to its own bytes; [`IndexBuilder`] puts the fragments together in file order. However
//! the records are cut into fragments, the index is the same. Contents (chunks, linear index,
//! metadata bin, counts) follow what htslib 1.16 writes; the bins of a reference are in
//! ascending order, where htslib's order is that of its hash table.
//!
//! Sources: SAM specification v1, section 5 (binning, BAI) and CSI specification v1.

mod binning;
mod builder;
mod fragment;
mod query;

#[cfg(test)]
mod tests;

pub use binning::BinningScheme;
pub use builder::IndexBuilder;
pub use fragment::IndexFragment;
pub use query::{BadIndex, IndexedRegion, first_offset};

/// Why records cannot be indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// A record starts before its predecessor (or one with a coordinate follows one without).
    #[error(
        "records are not sorted by coordinate: reference {reference_id} position {position} \
         (0-based) comes after a later one"
    )]
    Unsorted {
        /// Reference index of the offending record.
        reference_id: i32,
        /// Its 0-based position.
        position: i64,
    },
    /// A record ends before its start or beyond what the binning scheme can hold.
    #[error(
        "alignment {start}-{end} (0-based) on reference {reference_id} is outside of the \
         index's {limit_bp} bp"
    )]
    OutOfRange {
        /// Reference index.
        reference_id: i32,
        /// 0-based start.
        start: i64,
        /// 0-based end, exclusive.
        end: i64,
        /// Largest position the scheme can hold.
        limit_bp: i64,
    },
    /// A record names a reference that the header does not have.
    #[error("record refers to reference {0}, which the header does not have")]
    UnknownReference(i32),
    /// A fragment made for another binning scheme than the builder's.
    #[error("index fragment and builder use different binning schemes")]
    SchemeMismatch,
    /// A virtual offset beyond 2^48 - 1 compressed bytes.
    #[error("file is larger than an index can address (2^48 bytes)")]
    FileTooLarge,
    /// More references, bins or chunks than a 32-bit count can hold.
    #[error("index has more entries than its format can count")]
    TooManyEntries,
}
