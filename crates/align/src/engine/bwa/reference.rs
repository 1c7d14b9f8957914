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
        self.append_words([start, end], |word| word, out);
    }

    /// As [`Reference::append`], the last base first: the bases of the other strand, complemented.
    pub(super) fn append_backwards(&self, start: i64, end: i64, out: &mut Vec<u8>) {
        let doubled = 2 * self.bases as i64;
        self.append_words([doubled - end, doubled - start], |word| !word, out);
    }

    #[inline(always)]
    fn append_words(&self, [start, end]: [i64; 2], of: impl Fn(u64) -> u64, out: &mut Vec<u8>) {
        let genome = self.genome();
        let (mut at, end) = (start as u64, end as u64);
        while at < end {
            let count = WORD_BASES.min((end - at) as usize);
            out.extend_from_slice(&codes_of(of(genome.word(at, count)))[..count]);
            at += count as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_are_read_either_way(
            packed in proptest::collection::vec(any::<u8>(), 1..40),
            on_reverse in any::<bool>(),
            ends in [0_i64..160, 0..160],
        ) {
            let bases = 4 * packed.len() as i64;
            let reference =
                Reference { packed: &packed, bases: bases as u64, sequences: &[], names: &[] };
            let strand = if on_reverse { bases } else { 0 };
            let mut ends = ends.map(|end| strand + end % (bases + 1));
            ends.sort_unstable();
            let code = |place: i64| {
                let forward = reference.forward(place);
                let code = packed[forward as usize / 4] >> (6 - 2 * (forward % 4)) & 3;
                if on_reverse { 3 - code } else { code }
            };
            let mut expected: Vec<u8> = (ends[0]..ends[1]).map(code).collect();
            let mut found = Vec::new();
            reference.window(ends[0], ends[1], &mut found);
            prop_assert_eq!(&found, &expected);
            found.clear();
            reference.append_backwards(ends[0], ends[1], &mut found);
            expected.reverse();
            prop_assert_eq!(&found, &expected);
        }
    }
}
