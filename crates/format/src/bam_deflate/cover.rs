//! Copies from many earlier places at once: the longest one from column to column.

use std::ops::Range;

use super::compare::{Compare, Differences, LAST_COLUMN};
use super::tokens::{Class, Tokens};
use super::window::{COLUMNS, Window};

/// A block and a way to compare its bytes.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a, C> {
    pub(super) window: &'a Window,
    pub(super) compare: C,
}

/// Earlier places at fixed distances, of which the last record's comes first where runs are equally
/// long: near ones have short codes.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a, const K: usize> {
    /// By slot; 0 for none.
    pub(super) distances: &'a [u32; K],
    /// The slot of the last record.
    pub(super) newest: usize,
}

/// Result of [`Bytes::farthest`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Farthest {
    pub(super) slot: usize,
    /// Bytes that it has.
    pub(super) bytes: usize,
}

/// Slots that are compared beyond the columns, where all of these are equal in them.
const MAX_TRIES: usize = 16;

/// Span that [`Bytes::cover`] covers.
#[derive(Debug, Clone)]
pub(super) struct CoverSpan {
    pub(super) range: Range<usize>,
    /// Copies start before this place; they may be longer.
    pub(super) starts_before: usize,
    /// Of what the bytes are.
    pub(super) class: Class,
}

impl CoverSpan {
    pub(super) fn whole(range: Range<usize>, class: Class) -> Self {
        Self { starts_before: range.end, range, class }
    }
}

impl<C: Compare> Bytes<'_, C> {
    /// Columns in which the bytes from `at` and from `earlier` on are equal.
    #[inline(always)]
    pub(super) fn equal(self, at: usize, earlier: usize) -> u64 {
        self.compare.equal(self.window.columns(at), self.window.columns(earlier))
    }

    /// Bytes from `at` on that are those from `earlier` on, at most `most`.
    #[inline(always)]
    pub(super) fn common(self, at: usize, earlier: usize, most: usize) -> usize {
        let mut length = 0;
        while length < most {
            let differ = !self.equal(at + length, earlier + length);
            if differ != 0 {
                return (length + differ.trailing_zeros() as usize).min(most);
            }
            length += COLUMNS;
        }
        most
    }

    /// Which of the `slots` has most of the bytes from `at` on, at most `most`: the newest one, or
    /// if `LAZY` the best of the newest ones.
    #[inline(always)]
    pub(super) fn farthest<const K: usize, const LAZY: bool>(
        self,
        at: usize,
        slots: u64,
        sources: Sources<'_, K>,
        most: usize,
    ) -> Farthest {
        let tries = if LAZY { MAX_TRIES } else { 1 };
        let (mut best, mut slots) = (Farthest::default(), slots);
        for attempt in 0..tries {
            let slot = newest_of(slots, sources.newest);
            let distance = sources.distances[slot % K] as usize;
            let bytes = self.common(at, at.saturating_sub(distance), most);
            if attempt == 0 || bytes > best.bytes {
                best = Farthest { slot, bytes };
            }
            slots &= !(1 << slot);
            if slots == 0 || best.bytes == most {
                break;
            }
        }
        best
    }

    /// Which of the columns from `at` on differ from those of each source; those of `columns` that
    /// are not set count as different.
    #[inline(always)]
    pub(super) fn differences<const K: usize>(
        self,
        at: usize,
        distances: &[u32; K],
        columns: u64,
    ) -> Differences<K> {
        let here = self.window.columns(at);
        let mut differences = Differences([0; K]);
        for (may_be_equal, &distance) in differences.0.iter_mut().zip(distances) {
            // A distance may reach beyond the start of the block. No branch: half of them would be
            // taken at random.
            let is_there = u64::from(distance.wrapping_sub(1) < at as u32).wrapping_neg();
            *may_be_equal = columns & is_there;
        }
        // A loop of its own: that above is a few instructions for many slots.
        for (differ, &distance) in differences.0.iter_mut().zip(distances) {
            let earlier = self.window.columns(at.wrapping_sub(distance as usize));
            *differ = !(self.compare.equal(here, earlier) & *differ);
        }
        differences
    }

    /// Covers a region with copies of at least `MIN` bytes (3 or 4) from the sources, and leaves
    /// what is between them to the next token. From left to right, the longest copy from each
    /// column; if `LAZY`, the next column's instead while that is longer by two or more.
    #[inline(always)]
    pub(super) fn cover<const K: usize, const LAZY: bool, const MIN: u32>(
        self,
        region: CoverSpan,
        sources: Sources<'_, K>,
        tokens: &mut Tokens,
    ) {
        let CoverSpan { range, starts_before, class } = region;
        let mut at = range.start;
        while at < starts_before {
            let columns = first_columns(range.end - at);
            let differences = self.differences(at, sources.distances, columns);
            let mut starts = self.compare.starts::<K, MIN>(&differences);
            starts &= first_columns(starts_before - at);
            // A copy that starts in the last columns is met again with all of its columns.
            let mut next = at + COLUMNS - MIN as usize;
            while starts != 0 {
                let mut column = starts.trailing_zeros();
                let mut longest = self.compare.longest(&differences, column);
                while LAZY && starts >> (column + 1) & 1 == 1 {
                    let later = self.compare.longest(&differences, column + 1);
                    if later.length <= longest.length + 1 {
                        break;
                    }
                    (column, longest) = (column + 1, later);
                }
                let (from, mut length) = (at + column as usize, longest.length as usize);
                let is_cut = column as usize + length >= COLUMNS - 1;
                let slot = if is_cut {
                    let most = range.end.saturating_sub(from + length);
                    let farthest =
                        self.farthest::<K, LAZY>(from + length, longest.slots, sources, most);
                    length += farthest.bytes;
                    farthest.slot
                } else {
                    newest_of(longest.slots, sources.newest)
                };
                let distance = sources.distances[slot % K] as usize;
                tokens.copy(from, length, distance, class);
                next = next.max(from + length);
                if is_cut {
                    break;
                }
                starts &= u64::MAX << (column as usize + length);
            }
            at = next;
        }
    }

    /// Covers `range` with runs of at least `min` (2 to 8) equal bytes after the first one of each.
    #[inline(always)]
    pub(super) fn cover_runs(
        self,
        range: Range<usize>,
        min: u32,
        class: Class,
        tokens: &mut Tokens,
    ) {
        let mut at = range.start.max(tokens.covered()) + 1;
        while at < range.end {
            let left = range.end - at;
            let mut equal = self.equal(at, at - 1);
            if left < COLUMNS {
                equal &= (1 << left) - 1;
            }
            let mut starts = (1..min).fold(equal, |starts, column| starts & equal >> column);
            let mut next =
                if left <= COLUMNS { range.end } else { at + COLUMNS + 1 - min as usize };
            while starts != 0 {
                let column = starts.trailing_zeros() as usize;
                let mut length = (!(equal >> column)).trailing_zeros() as usize;
                let from = at + column;
                let is_cut = column + length >= COLUMNS;
                if is_cut {
                    length = COLUMNS - column;
                    let end = from + length;
                    length += self.common(end, end - 1, range.end.saturating_sub(end));
                }
                tokens.copy(from, length, 1, class);
                next = next.max(from + length);
                if is_cut {
                    break;
                }
                starts &= u64::MAX << (column + length);
            }
            at = next;
        }
    }
}

/// The first `count` columns, without [`LAST_COLUMN`].
#[inline(always)]
pub(super) fn first_columns(count: usize) -> u64 {
    if count < COLUMNS - 1 { (1 << count) - 1 } else { !LAST_COLUMN }
}

/// The most recently filled of `slots`, which is not empty. Slots are a ring buffer: the first one
/// at or below `newest`, else the highest one.
#[inline(always)]
pub(super) fn newest_of(slots: u64, newest: usize) -> usize {
    let before = slots & u64::MAX >> (COLUMNS - 1 - newest % COLUMNS);
    let among = if before != 0 { before } else { slots };
    (COLUMNS - 1).saturating_sub(among.leading_zeros() as usize)
}
