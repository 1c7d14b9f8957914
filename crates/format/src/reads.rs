//! A block of unaligned reads: one buffer of bytes and, per read, where its parts lie in it.
//!
//! Every input (FASTQ, unaligned BAM) is parsed into this one shape, so that nothing behind the
//! source knows which format the reads came from. No read owns memory of its own.

/// A part of a [`ReadBlock`]'s buffer: `len` bytes from `start`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The bytes of this span in `buffer`.
    #[must_use]
    pub fn of(self, buffer: &[u8]) -> &[u8] {
        &buffer[self.start as usize..(self.start + self.len) as usize]
    }
}

/// Where one read's parts lie. Bases are ASCII; qualities are ASCII Phred+33, empty when absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadSpans {
    /// Read name without `@`, without `/1` or `/2`, up to the first white space.
    pub name: Span,
    /// Bases as in the input.
    pub bases: Span,
    /// Phred+33 qualities; `len == 0` means none were given (or the read is empty).
    pub qualities: Span,
    /// What else the input said: the FASTQ comment, or the auxiliary fields of an unaligned BAM
    /// record.
    pub extra: Span,
}

/// A run of consecutive reads of one input file.
#[derive(Debug, Default)]
pub struct ReadBlock {
    /// The bytes that `reads` point into.
    pub bytes: Vec<u8>,
    /// The reads, in file order.
    pub reads: Vec<ReadSpans>,
    /// Template flags of each read when the input states them (unaligned BAM): empty for FASTQ.
    pub mate_of_pair: Vec<MateOfPair>,
}

/// What an unaligned BAM record says of its place in the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MateOfPair {
    /// Not paired (FLAG 0x1 clear).
    Unpaired,
    /// First of a pair (0x40).
    First,
    /// Second of a pair (0x80).
    Second,
}

impl ReadBlock {
    /// Name of read `i`.
    #[must_use]
    pub fn name(&self, i: usize) -> &[u8] {
        self.reads[i].name.of(&self.bytes)
    }
    /// Bases of read `i` (ASCII).
    #[must_use]
    pub fn bases(&self, i: usize) -> &[u8] {
        self.reads[i].bases.of(&self.bytes)
    }
    /// Qualities of read `i` (ASCII Phred+33), empty when absent.
    #[must_use]
    pub fn qualities(&self, i: usize) -> &[u8] {
        self.reads[i].qualities.of(&self.bytes)
    }
    /// FASTQ comment, or BAM auxiliary fields, of read `i`.
    #[must_use]
    pub fn extra(&self, i: usize) -> &[u8] {
        self.reads[i].extra.of(&self.bytes)
    }
}
