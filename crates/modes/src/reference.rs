//! The reference as modes read it: where on its sequences a read is, and what is under the read:
//! bases, N where it has none, and walls where its sequence ends.

use std::ops::Range;

use super::options::Strands;
use super::query::UNKNOWN;
use seqloom_align::index::Sequence;
use seqloom_align::search::{Genome, WORD_BASES};

/// What is outside of a sequence: no alignment passes it.
pub(super) const WALL: u8 = 5;

/// The genome with its sequences, and the holes that have random bases in the index.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference<'a> {
    pub(super) genome: Genome<'a>,
    pub(super) sequences: &'a [Sequence],
    pub(super) holes: &'a [Range<u64>],
    /// On which placements are requested.
    pub(super) strands: Strands,
}

/// A sequence on one strand, in places of `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) sequence: u32,
    pub(super) is_reverse: bool,
    pub(super) start: i64,
    pub(super) end: i64,
}

/// Where bases are on the forward strand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    /// Number of the sequence.
    pub(super) sequence: u32,
    /// First base there.
    pub(super) position: i64,
    /// Their reverse complement is there.
    pub(super) is_reverse: bool,
}

impl Segment {
    /// Where `[from, end)` of it is.
    pub(super) fn spot(&self, from: i64, end: i64) -> Spot {
        let Self { sequence, is_reverse, .. } = *self;
        let position = if is_reverse { self.end - end } else { from - self.start };
        Spot { sequence, position, is_reverse }
    }
}

/// Where a whole read is, with what is clipped, on the forward strand of all sequences.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) sequence: u32,
    pub(super) is_reverse: bool,
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Extent {
    /// Of a read of `length` bases whose first one is at `start` of `T`, in a genome of so many
    /// bases.
    pub(super) fn of(segment: Segment, start: i64, length: i64, bases: u64) -> Self {
        let Segment { sequence, is_reverse, .. } = segment;
        let start = if is_reverse { 2 * bases as i64 - start - length } else { start };
        Self { sequence, is_reverse, start, end: start + length }
    }
}

impl Reference<'_> {
    /// Has the processor fetch the bases from `start`, where a read of `length` may be.
    #[inline(always)]
    pub(super) fn prefetch(&self, start: i64, length: usize) {
        let last = 2 * self.genome.bases as i64 - length as i64;
        if (0..=last).contains(&start) {
            self.genome.prefetch(start as u64, length);
        }
    }

    /// The sequence and strand, if it is requested, on which all of `[from, end)` of `T` is.
    pub(super) fn segment(&self, from: i64, end: i64) -> Option<Segment> {
        let bases = self.genome.bases as i64;
        let is_reverse = from >= bases;
        let forward = if is_reverse { 2 * bases - end } else { from };
        let number = self.sequences.partition_point(|it| (it.end as i64) <= forward);
        let segment = self.segment_of(u32::try_from(number).ok()?, is_reverse)?;
        (from >= segment.start && end <= segment.end).then_some(segment)
    }

    /// A sequence on a strand, if that is requested.
    pub(super) fn segment_of(&self, number: u32, is_reverse: bool) -> Option<Segment> {
        let sequence = self.sequences.get(number as usize)?;
        let (first, last) = (sequence.start as i64, sequence.end as i64);
        let bases = self.genome.bases as i64;
        let [start, end] =
            if is_reverse { [2 * bases - last, 2 * bases - first] } else { [first, last] };
        let is_requested = match self.strands {
            Strands::Both => true,
            Strands::Forward => !is_reverse,
            Strands::Reverse => is_reverse,
        };
        is_requested.then_some(Segment { sequence: number, is_reverse, start, end })
    }

    /// Where `length` bases from `place` of `T` are, which must be on one strand; `None` where they
    /// reach over the end of a sequence or over a hole, or on a strand that is not requested.
    pub(super) fn spot(&self, place: u64, length: usize) -> Option<Spot> {
        let (from, end) = (place as i64, place as i64 + length as i64);
        let segment = self.segment(from, end).filter(|_| !self.has_hole(from, end))?;
        Some(segment.spot(from, end))
    }

    /// Holes that `[from, end)` of `T`, on one strand, may be over, on the forward strand.
    #[inline(always)]
    fn holes_under(&self, from: i64, end: i64) -> impl Iterator<Item = &Range<u64>> {
        let both = 2 * self.genome.bases as i64;
        let [from, end] = if from >= both / 2 { [both - end, both - from] } else { [from, end] };
        let first = self.holes.partition_point(|hole| (hole.end as i64) <= from);
        self.holes[first..].iter().take_while(move |hole| (hole.start as i64) < end)
    }

    /// Whether `[from, end)` of `T`, on one strand, is over a hole.
    #[inline(always)]
    pub(super) fn has_hole(&self, from: i64, end: i64) -> bool {
        self.holes_under(from, end).next().is_some()
    }

    /// The codes of `length` places from `from`: bases, [`UNKNOWN`], or [`WALL`]. Whether all of
    /// them are bases.
    #[inline(always)]
    pub(super) fn codes(
        &self,
        segment: Segment,
        from: i64,
        length: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        out.clear();
        self.add_codes(segment, from, length, out)
    }

    /// The same after what is there.
    #[inline(always)]
    pub(super) fn add_codes(
        &self,
        segment: Segment,
        from: i64,
        length: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let (end, before) = (from + length as i64, out.len());
        let [inside, after] = [from, end].map(|at| at.clamp(segment.start, segment.end));
        out.resize(before + (inside - from) as usize, WALL);
        for at in (inside..after).step_by(WORD_BASES) {
            let count = ((after - at) as usize).min(WORD_BASES);
            let word = self.genome.word(at as u64, count);
            let bases: [u8; WORD_BASES] =
                std::array::from_fn(|base| (word >> (62 - 2 * base)) as u8 & 3);
            out.extend_from_slice(&bases[..count]);
        }
        out.resize(before + length, WALL);
        let mut is_known = true;
        for hole in self.holes_under(inside, after) {
            is_known = false;
            let bases = self.genome.bases;
            let hole = if segment.is_reverse {
                2 * bases - hole.end..2 * bases - hole.start
            } else {
                hole.clone()
            };
            let [first, last] =
                [hole.start, hole.end].map(|at| (at as i64).clamp(inside, after) - from);
            out[before + first as usize..before + last as usize].fill(UNKNOWN);
        }
        is_known && inside == from && after == end
    }
}
