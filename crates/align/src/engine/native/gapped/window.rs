//! The reference under a read: bases, N where it has none, and walls where its sequence ends.

use std::ops::Range;

use crate::engine::native::query::UNKNOWN;
use crate::engine::native::ungapped::Strands;
use crate::index::Sequence;
use crate::search::text::{Genome, WORD_BASES};

/// What stands outside of a sequence: no alignment passes it.
pub(in crate::engine::native) const WALL: u8 = 5;

/// The genome with its sequences, and the holes that have random bases in the index.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::native) struct Reference<'a> {
    pub(in crate::engine::native) genome: Genome<'a>,
    pub(in crate::engine::native) sequences: &'a [Sequence],
    pub(in crate::engine::native) holes: &'a [Range<u64>],
    /// On which placements are wanted.
    pub(in crate::engine::native) strands: Strands,
}

/// A sequence on one strand, in places of `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::native) struct Stretch {
    pub(in crate::engine::native) sequence: u32,
    pub(in crate::engine::native) is_reverse: bool,
    pub(in crate::engine::native) start: i64,
    pub(in crate::engine::native) end: i64,
}

impl Reference<'_> {
    /// Has the processor fetch the bases from `start`, where a read of `length` may be.
    #[inline(always)]
    pub(in crate::engine::native) fn prefetch(&self, start: i64, length: usize) {
        let last = 2 * self.genome.bases as i64 - length as i64;
        if (0..=last).contains(&start) {
            self.genome.prefetch(start as u64, length);
        }
    }

    /// The sequence and strand, if it is wanted, on which all of `[from, end)` of `T` lies.
    pub(in crate::engine::native) fn stretch(&self, from: i64, end: i64) -> Option<Stretch> {
        let bases = self.genome.bases as i64;
        let is_reverse = from >= bases;
        let forward = if is_reverse { 2 * bases - end } else { from };
        let number = self.sequences.partition_point(|it| (it.end as i64) <= forward);
        let stretch = self.stretch_of(u32::try_from(number).ok()?, is_reverse)?;
        (from >= stretch.start && end <= stretch.end).then_some(stretch)
    }

    /// A sequence on a strand, if that is wanted.
    pub(in crate::engine::native) fn stretch_of(
        &self,
        number: u32,
        is_reverse: bool,
    ) -> Option<Stretch> {
        let sequence = self.sequences.get(number as usize)?;
        let (first, last) = (sequence.start as i64, sequence.end as i64);
        let bases = self.genome.bases as i64;
        let [start, end] =
            if is_reverse { [2 * bases - last, 2 * bases - first] } else { [first, last] };
        let is_wanted = match self.strands {
            Strands::Both => true,
            Strands::Forward => !is_reverse,
            Strands::Reverse => is_reverse,
        };
        is_wanted.then_some(Stretch { sequence: number, is_reverse, start, end })
    }

    /// Holes that `[from, end)` of `T`, on one strand, may lie over, on the forward strand.
    fn holes_under(&self, from: i64, end: i64) -> &[Range<u64>] {
        let bases = self.genome.bases as i64;
        let [from, end] =
            if from >= bases { [2 * bases - end, 2 * bases - from] } else { [from, end] };
        let first = self.holes.partition_point(|hole| (hole.end as i64) <= from);
        let holes = &self.holes[first..];
        &holes[..holes.partition_point(|hole| (hole.start as i64) < end)]
    }

    /// Whether `[from, end)` of `T`, on one strand, lies over a hole.
    #[inline(always)]
    pub(in crate::engine::native) fn has_hole(&self, from: i64, end: i64) -> bool {
        !self.holes_under(from, end).is_empty()
    }

    /// The codes of `length` places from `from`: bases, [`UNKNOWN`], or [`WALL`]. Whether all of
    /// them are bases.
    #[inline(always)]
    pub(in crate::engine::native) fn codes(
        &self,
        stretch: Stretch,
        from: i64,
        length: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        out.clear();
        let end = from + length as i64;
        let [inside, behind] = [from, end].map(|at| at.clamp(stretch.start, stretch.end));
        out.resize((inside - from) as usize, WALL);
        for at in (inside..behind).step_by(WORD_BASES) {
            let count = ((behind - at) as usize).min(WORD_BASES);
            let word = self.genome.word(at as u64, count);
            let bases: [u8; WORD_BASES] =
                std::array::from_fn(|base| (word >> (62 - 2 * base)) as u8 & 3);
            out.extend_from_slice(&bases[..count]);
        }
        out.resize(length, WALL);
        let holes = self.holes_under(inside, behind);
        for hole in holes {
            let bases = self.genome.bases;
            let hole = if stretch.is_reverse {
                2 * bases - hole.end..2 * bases - hole.start
            } else {
                hole.clone()
            };
            let [first, last] =
                [hole.start, hole.end].map(|at| (at as i64).clamp(inside, behind) - from);
            out[first as usize..last as usize].fill(UNKNOWN);
        }
        holes.is_empty() && inside == from && behind == end
    }
}
