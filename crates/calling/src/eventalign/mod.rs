//! Event tables: which event belongs to which base of the reference.
//!
//! [`align`] walks along an alignment piece by piece; [`table`] writes what it found in
//! nanopolish's columns, [`sam`] as nanopolish's SAM.

pub(crate) mod decimal;
pub(crate) mod sam;
pub(crate) mod table;
mod walk;

pub use table::{TableOptions, push_header, push_summary_header};
pub(crate) use walk::{Expected, WalkScratch, align};

/// An event on the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// First base of its k-mer on the reference, from the start of the alignment.
    pub(crate) offset: u32,
    /// Which event of the read.
    pub(crate) event: u32,
    /// Rank of the k-mer in the model, on the strand that was sequenced.
    pub(crate) rank: u32,
    /// The event has no level, and is at this k-mer only for its order.
    pub(crate) is_bad: bool,
}
