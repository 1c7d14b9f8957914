//! What is known of a read that is on a diagonal: its mismatches, and which k-mers may occur
//! elsewhere.

use std::ops::Range;

/// More mismatches leave too little to show anything by.
pub(crate) const MOST_MISMATCHES: usize = 6;

/// The positions of a read's mismatches, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mismatches {
    positions: [usize; MOST_MISMATCHES],
    count: usize,
}

impl Mismatches {
    pub(crate) fn of(found: &[usize]) -> Self {
        let mut positions = [0; MOST_MISMATCHES];
        positions[..found.len()].copy_from_slice(found);
        Self { positions, count: found.len() }
    }

    pub(crate) fn get(&self) -> &[usize] {
        &self.positions[..self.count]
    }
}

/// The segments between mismatches, each as its first base and one past its last.
pub(crate) fn segments(mismatches: &[usize], length: usize) -> impl Iterator<Item = [usize; 2]> {
    let starts = std::iter::once(0).chain(mismatches.iter().map(|&at| at + 1));
    let ends = mismatches.iter().copied().chain(std::iter::once(length));
    starts.zip(ends).map(|(start, end)| [start, end])
}

/// Words of [`KmerFlags`].
const FLAG_WORDS: usize = 8;

/// One bit for each k-mer of a read, up to 512: whether it may occur elsewhere than on the
/// diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KmerFlags([u64; FLAG_WORDS]);

impl KmerFlags {
    /// The first `count`, of which `word` has some from one on, in its lowest bits: up to 64 of
    /// those before `count`.
    pub(crate) fn of(count: usize, word: impl Fn(usize, usize) -> u64) -> Self {
        let of_word = |at: usize| {
            let first = 64 * at;
            if first < count { word(first, (count - first).min(64)) } else { 0 }
        };
        Self(std::array::from_fn(of_word))
    }

    pub(crate) fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    /// Whether any of these is set.
    #[inline]
    pub(crate) fn any(&self, range: Range<usize>) -> bool {
        words(range).any(|(at, bits)| self.0[at] & bits != 0)
    }

    /// Whether all of these are set.
    #[inline]
    pub(crate) fn all(&self, range: Range<usize>) -> bool {
        words(range).all(|(at, bits)| self.0[at] & bits == bits)
    }

    pub(crate) fn set(&mut self, range: Range<usize>, value: bool) {
        for (at, bits) in words(range) {
            self.0[at] = if value { self.0[at] | bits } else { self.0[at] & !bits };
        }
    }
}

/// The words in which flags are, and their bits there.
#[inline]
fn words(range: Range<usize>) -> impl Iterator<Item = (usize, u64)> {
    let Range { start, end } = range;
    (start / 64..end.div_ceil(64)).filter(move |_| start < end).map(move |at| {
        let [first, last] = [start, end].map(|place| place.saturating_sub(64 * at).min(64));
        // Those below `last`, but for those below `first`.
        let below = |count: usize| u64::MAX.checked_shr(64 - count as u32).unwrap_or(0);
        (at, below(last) & !below(first))
    })
}

/// What is known of a read that is on a diagonal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiagonalFacts {
    pub(crate) mismatches: Mismatches,
    /// The k-mers that occur twice, if they cover no mismatch; once the search has begun, those
    /// that may occur elsewhere than on the diagonal.
    pub(crate) repeated: KmerFlags,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_of_flags_are_those_of_each(
            set in proptest::collection::vec((0_usize..512, 0_usize..140, any::<bool>()), 0..12),
            asked in proptest::collection::vec((0_usize..512, 0_usize..140), 1..40),
        ) {
            let mut expected = vec![false; 512];
            let mut flags = KmerFlags::default();
            for (start, length, value) in set {
                let range = start..(start + length).min(512);
                expected[range.clone()].fill(value);
                flags.set(range, value);
            }
            for (at, &is_set) in expected.iter().enumerate() {
                prop_assert_eq!(flags.get(at), is_set);
            }
            for (start, length) in asked {
                let range = start..(start + length).min(512);
                let of_range = &expected[range.clone()];
                prop_assert_eq!(flags.any(range.clone()), of_range.contains(&true));
                prop_assert_eq!(flags.all(range), !of_range.contains(&false));
            }
            let word = |first: usize, count: usize| {
                let bit = |word: u64, at: usize| word << 1 | u64::from(expected[first + at]);
                (0..count).rev().fold(0, bit)
            };
            for count in [0, 1, 63, 64, 65, 300, 511, 512] {
                let mut first = flags;
                first.set(count..512, false);
                prop_assert_eq!(KmerFlags::of(count, word), first);
            }
        }
    }
}
