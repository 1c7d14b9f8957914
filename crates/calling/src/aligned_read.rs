//! One alignment of a read to the reference, as the kernels want it.

use crate::events::ReadEvents;

/// A read's alignment and the bases on both sides of it. Everything is borrowed: kernels own
/// nothing.
#[derive(Debug, Clone, Copy)]
pub struct AlignedRead<'a> {
    /// Name of the read.
    pub name: &'a [u8],
    /// Name of the reference sequence.
    pub contig: &'a [u8],
    /// First reference base of the alignment, 0-based.
    pub start: u64,
    /// Whether the alignment is on the reverse strand.
    pub is_reverse: bool,
    /// The whole basecalled sequence, as sequenced (never reverse-complemented).
    pub sequence: &'a [u8],
    /// Reference bases from `start` to one past the alignment's end (nanopolish fetches that one
    /// too), upper case.
    pub reference: &'a [u8],
    /// Aligned bases in the order of the reference.
    pub pairs: &'a [AlignedBase],
}

/// A base of a read, aligned to one of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlignedBase {
    /// On the reference: from the first base of the alignment.
    pub offset: u32,
    /// In the read as the BAM record has it (reverse-complemented on the reverse strand).
    pub position: u32,
}

/// An alignment, and the events of the read's signal on its own bases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AlignedSignal<'a> {
    /// The alignment.
    pub(crate) read: &'a AlignedRead<'a>,
    /// The events.
    pub(crate) events: &'a ReadEvents,
}
