//! The index in memory, whoever holds it: what searches read.

use bytemuck::{Pod, Zeroable};

/// Rows of a superblock, as a power of two: so many that what is counted in it has 32 bits. Tests
/// have small ones, so that small genomes have several.
pub(crate) const SUPERBLOCK_ROWS_LOG2: u32 = if cfg!(test) { 8 } else { 32 };

/// 64 rows of the transform, in a line of the cache.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Block {
    /// How often each base occurs in the rows before, from the start of the superblock on.
    pub before: [u32; 4],
    /// How many of all rows before are sampled.
    pub samples_before: u64,
    /// One bit a row: whether it is sampled. The first row is the highest bit, here and below.
    pub sampled: u64,
    /// One bit a row for each base.
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
    /// For each superblock, the first row of each base, and so many more as it occurs in the
    /// superblocks before.
    pub superblocks: &'a [[u64; 4]],
    /// Rows, 64 to a block.
    pub blocks: &'a [Block],
    /// Low 32 bits of the sampled rows' places, which are divided by `1 << sample_shift`.
    pub samples_low: &'a [u32],
    /// Their high 8 bits; none where no sample has more than 32.
    pub samples_high: &'a [u8],
    /// See `samples_low`.
    pub sample_shift: u32,
    /// Log2 of the distance of sampled rows; `u32::MAX` where blocks alone say which they are.
    pub row_stride_log2: u32,
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
