//! Placements with their operations: those of a CIGAR, as BAM has them, in the order of `T`.

use std::ops::Range;

use seqloom_format::bam::cigar;

use crate::reference::{Extent, Segment, Spot};

pub(crate) const MATCH: u32 = cigar::MATCH as u32;
pub(crate) const INSERTION: u32 = cigar::INSERTION as u32;
pub(crate) const DELETION: u32 = cigar::DELETION as u32;
/// An intron.
pub(crate) const SKIP: u32 = cigar::SKIP as u32;
pub(crate) const CLIP: u32 = cigar::SOFT_CLIP as u32;

/// Adds `count` of an operation after those there are.
pub(crate) fn push(ops: &mut Vec<u32>, kind: u32, count: usize) {
    match ops.last_mut() {
        Some(last) if *last & 15 == kind => *last += (count as u32) << 4,
        _ if count > 0 => ops.push((count as u32) << 4 | kind),
        _ => (),
    }
}

/// Bases of the reference from the first to the last of an alignment.
pub(crate) fn span(ops: &[u32]) -> u32 {
    let counts = |op: &&u32| cigar::consumes_reference((**op & 15) as u8);
    ops.iter().filter(counts).map(|op| op >> 4).sum()
}

/// A placement that may be reported.
#[derive(Debug, Clone)]
pub(crate) struct Alignment {
    pub(crate) score: i32,
    pub(crate) segment: Segment,
    /// The first base of `T` that is aligned.
    pub(crate) place: i64,
    /// Its operations in [`Output::ops`].
    pub(crate) ops: Range<usize>,
}

impl Alignment {
    /// It with its operations among all.
    pub(crate) fn with<'a>(&self, ops: &'a [u32]) -> Placement<'a> {
        let Self { score, segment, place, ops: ref own } = *self;
        Placement { score, segment, place, ops: &ops[own.clone()] }
    }
}

/// What a mode knows of an alignment, and more.
pub(crate) trait Aligned {
    fn alignment(&self) -> &Alignment;
}

impl Aligned for Alignment {
    fn alignment(&self) -> &Alignment {
        self
    }
}

/// The placements of a group of reads.
#[derive(Debug)]
pub(crate) struct Output<A> {
    pub(crate) alignments: Vec<A>,
    pub(crate) ops: Vec<u32>,
}

impl<A> Default for Output<A> {
    fn default() -> Self {
        Self { alignments: Vec::new(), ops: Vec::new() }
    }
}

impl<A: Aligned> Output<A> {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.alignments.clear();
        self.ops.clear();
    }

    /// Placement number `number`.
    pub(crate) fn placement(&self, number: usize) -> Placement<'_> {
        self.alignments[number].alignment().with(&self.ops)
    }
}

/// A placement with its operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placement<'a> {
    pub(crate) score: i32,
    pub(crate) segment: Segment,
    /// The first base of `T` that is aligned.
    pub(crate) place: i64,
    pub(crate) ops: &'a [u32],
}

impl Placement<'_> {
    /// One past the last base of `T` that is aligned.
    pub(crate) fn end(&self) -> i64 {
        self.place + i64::from(span(self.ops))
    }

    /// The sequence, and the position there.
    pub(crate) fn spot(&self) -> Spot {
        self.segment.spot(self.place, self.end())
    }

    /// Where its read is, in a genome of so many bases.
    pub(crate) fn extent(&self, bases: u64) -> Extent {
        let clip =
            |op: Option<&u32>| op.filter(|&op| op & 15 == CLIP).map_or(0, |op| i64::from(op >> 4));
        let start = self.place - clip(self.ops.first());
        let end = self.end() + clip(self.ops.last());
        Extent::of(self.segment, start, end - start, bases)
    }
}
