//! Where a read may align, and what becomes of several such places.
//!
//! A region is a local alignment without its path: an interval of the read, one of the reference,
//! and scores. Places are in *doubled* coordinates: the forward strand of all sequences, then its
//! reverse complement, so that a position past the middle is on the reverse strand.

pub(super) mod mapq;
pub(super) mod mark;
pub(super) mod merge;
pub(super) mod redundant;
mod region;
pub(super) mod rescued;

pub(super) use region::{NONE, OF_ALT, Region, WAS_SECONDARY};

/// The orientation of two reads: FF, FR, RF or RR, and how far apart their first bases are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MateDistance {
    /// Index into a model: 0 to 3 for FF, FR, RF and RR.
    pub(super) orientation: usize,
    pub(super) distance: i64,
}

impl MateDistance {
    /// Of reads that begin at two places of a reference of `bases`.
    pub(super) fn of(bases: u64, [first, second]: [i64; 2]) -> Self {
        let bases = bases as i64;
        let same_strand = (first >= bases) == (second >= bases);
        let second = if same_strand { second } else { 2 * bases - 1 - second };
        let strand = usize::from(!same_strand);
        let order = if second > first { 0 } else { 3 };
        Self { orientation: strand ^ order, distance: (second - first).abs() }
    }
}
