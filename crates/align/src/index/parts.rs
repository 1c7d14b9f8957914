//! The index in memory, whoever holds it: what searches read.

/// 64 rows of the transform, as a checkpoint of `.bwt.2bit.64` has them.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Block {
    /// How often each base stands in the rows in front.
    pub(crate) before: [i64; 4],
    /// One bit a row for each base; the first row is the highest bit.
    pub(crate) rows: [u64; 4],
}

/// A sequence's place in the forward strand, in bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// First base.
    pub(crate) start: u64,
    /// Behind its last base.
    pub(crate) end: u64,
    /// An ALT sequence.
    pub(crate) alternate: bool,
}

/// The loaded index: the transform of the forward strand and its reverse complement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexParts<'a> {
    /// Bases of the forward strand.
    pub(crate) bases: u64,
    /// First row of each base, then the number of rows.
    pub(crate) first_rows: [u64; 5],
    /// The row without a base.
    pub(crate) sentinel_row: u64,
    /// A place is kept for every `1 << sample_shift`-th row.
    pub(crate) sample_shift: u32,
    /// Rows, 64 to a block.
    pub(crate) blocks: &'a [Block],
    /// Low 32 bits of the samples.
    pub(crate) samples_low: &'a [u32],
    /// High 8 bits of the samples.
    pub(crate) samples_high: &'a [i8],
    /// Forward strand, four bases a byte, the first in the highest bits.
    pub(crate) packed: &'a [u8],
}
