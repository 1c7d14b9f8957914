//! The reference as the stages read it: bases of either strand, and where sequences are.

use std::ops::Range;

use crate::index::Sequence;
use crate::search::text::{Genome, WORD_BASES, codes_of};

/// The loaded reference. Positions are in doubled coordinates (see [`regions`](super::regions)).
#[derive(Debug, Clone, Copy)]
pub(super) struct Reference<'a> {
    /// Forward strand, four bases a byte.
    pub(super) packed: &'a [u8],
    /// Bases of the forward strand.
    pub(super) bases: u64,
    /// The sequences in order.
    pub(super) sequences: &'a [Sequence],
    /// Their names.
    pub(super) names: &'a [Vec<u8>],
}

impl Reference<'_> {
    /// The place on the forward strand of a base of either.
    pub(super) fn forward(&self, place: i64) -> u64 {
        let place = place as u64;
        if place < self.bases { place } else { 2 * self.bases - 1 - place }
    }

    /// Whether a place is on the reverse strand.
    pub(super) fn is_reverse(&self, place: i64) -> bool {
        place >= self.bases as i64
    }

    /// The sequence that holds a base of either strand.
    pub(super) fn sequence_at(&self, place: i64) -> usize {
        let forward = self.forward(place);
        self.sequences.partition_point(|it| it.start <= forward).saturating_sub(1)
    }

    /// Where a sequence is on the strand of a place.
    pub(super) fn span(&self, sequence: usize, place: i64) -> Range<i64> {
        let Sequence { start, end, .. } = self.sequences[sequence];
        let (start, end) = (start as i64, end as i64);
        let doubled = 2 * self.bases as i64;
        if self.is_reverse(place) { doubled - end..doubled - start } else { start..end }
    }

    pub(super) fn genome(&self) -> Genome<'_> {
        Genome { packed: self.packed, bases: self.bases }
    }

    /// Has the processor fetch the bases of a window of one strand.
    pub(super) fn prefetch(&self, [start, end]: [i64; 2]) {
        self.genome().prefetch(start as u64, (end - start).max(0) as usize);
    }

    /// The bases, as codes 0 to 3, of a window of one strand, in `out`.
    pub(super) fn window(&self, start: i64, end: i64, out: &mut Vec<u8>) {
        out.clear();
        self.append(start, end, out);
    }

    /// Appends the bases, as codes 0 to 3, of a window of one strand to `out`.
    pub(super) fn append(&self, start: i64, end: i64, out: &mut Vec<u8>) {
        let genome = self.genome();
        let (mut at, end) = (start as u64, end as u64);
        while at < end {
            let count = WORD_BASES.min((end - at) as usize);
            out.extend_from_slice(&codes_of(genome.word(at, count))[..count]);
            at += count as u64;
        }
    }

    /// As [`Reference::append`], the last base first.
    pub(super) fn append_backwards(&self, start: i64, end: i64, out: &mut Vec<u8>) {
        let from = out.len();
        self.append(start, end, out);
        out[from..].reverse();
    }
}
