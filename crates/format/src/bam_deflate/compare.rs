//! Comparisons of many bytes, and of many earlier places, at once: what is different between
//! processors. All forms give the same.
//!
//! A *column* is a byte from some place of the block on. A *slot* is an earlier place that its
//! bytes are compared with, column by column. Which columns differ is one word a slot.

use super::window::COLUMNS;

/// The column that never counts as equal, so that every run of equal columns ends.
pub(super) const LAST_COLUMN: u64 = 1 << (COLUMNS - 1);

/// For each slot, the columns that differ; [`LAST_COLUMN`] is set in all.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(super) struct Differences<const K: usize>(pub(super) [u64; K]);

/// The longest run of equal columns from some column on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Longest {
    /// Columns of the run.
    pub(super) length: u32,
    /// The slots that have it.
    pub(super) slots: u64,
}

/// A way to compare.
pub(super) trait Compare: Copy {
    /// The columns in which `a` and `b` have the same byte.
    fn equal(self, a: &[u8; COLUMNS], b: &[u8; COLUMNS]) -> u64;

    /// The columns from which at least `MIN` columns, 3 or 4, are equal in some slot.
    fn starts<const K: usize, const MIN: u32>(self, differences: &Differences<K>) -> u64;

    /// The longest run from column `from` on, which is below [`COLUMNS`].
    fn longest<const K: usize>(self, differences: &Differences<K>, from: u32) -> Longest;
}

/// Work that is compiled once for each way to compare.
pub(super) trait Comparing {
    /// Does it for `payload`, if that can be done. Inlined whole by who implements it, so that all
    /// of it is compiled for the processor that has that way.
    fn run<C: Compare>(&mut self, payload: &[u8], compare: C) -> Option<()>;
}

/// The form for any processor, which the others must equal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

impl Compare for Plain {
    #[inline(always)]
    fn equal(self, a: &[u8; COLUMNS], b: &[u8; COLUMNS]) -> u64 {
        /// The low seven bits of eight bytes.
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        /// Moves the lowest bits of eight bytes to the highest byte, that of the first byte lowest.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let mut mask = 0;
        let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
        for (word, (a, b)) in a.iter().zip(b).enumerate() {
            let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
            // The highest bit of each byte says whether any of its bits is set.
            let differ = ((differ & LOW) + LOW) | differ;
            let equal = (!differ & !LOW) >> 7;
            mask |= (equal.wrapping_mul(GATHER) >> 56) << (8 * word);
        }
        mask
    }

    #[inline(always)]
    fn starts<const K: usize, const MIN: u32>(self, differences: &Differences<K>) -> u64 {
        differences.0.iter().fold(0, |all, &differ| {
            let runs_end = (0..MIN).fold(0, |ends, column| ends | differ >> column);
            all | !runs_end
        })
    }

    #[inline(always)]
    fn longest<const K: usize>(self, differences: &Differences<K>, from: u32) -> Longest {
        let first = |&differ: &u64| (differ >> from).trailing_zeros();
        let length = differences.0.iter().map(first).max().unwrap_or(0);
        let mut slots = 0;
        for (slot, differ) in differences.0.iter().enumerate() {
            slots |= u64::from(first(differ) == length) << slot;
        }
        Longest { length, slots }
    }
}
