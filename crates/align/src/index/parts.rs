//! The index in memory, whoever holds it: what searches read.

use bytemuck::{Pod, Zeroable};

/// 64 rows of the transform, as a checkpoint of `.bwt.2bit.64` has them.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
pub struct Block {
    /// How often each base occurs in the rows before.
    pub before: [i64; 4],
    /// One bit a row for each base; the first row is the highest bit.
    pub rows: [u64; 4],
}

/// A sequence's place in the forward strand, in bases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// First base.
    pub start: u64,
    /// One past its last base.
    pub end: u64,
    /// An ALT sequence.
    pub is_alt: bool,
}

/// The loaded index: the transform of the forward strand and its reverse complement.
#[derive(Debug, Clone, Copy)]
pub struct IndexParts<'a> {
    /// Bases of the forward strand.
    pub bases: u64,
    /// First row of each base, then the number of rows.
    pub first_rows: [u64; 5],
    /// The row without a base.
    pub sentinel_row: u64,
    /// A place is kept for every `1 << sample_shift`-th row.
    pub sample_shift: u32,
    /// Rows, 64 to a block.
    pub blocks: &'a [Block],
    /// Low 32 bits of the samples.
    pub samples_low: &'a [u32],
    /// High 8 bits of the samples; none where no place has more than 32.
    pub samples_high: &'a [i8],
    /// Forward strand, four bases a byte, the first in the highest bits.
    pub packed: &'a [u8],
}

/// What searches read, and the sequences that places are in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexView<'a> {
    pub(crate) parts: IndexParts<'a>,
    /// In order, one after the other.
    pub(crate) sequences: &'a [Sequence],
}
