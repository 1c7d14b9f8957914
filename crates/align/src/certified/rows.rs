//! Rows of the index: searching backwards, and from a row to its place.

use super::prefetch::prefetch;
use crate::engine::bwa::{Block, IndexParts};

/// Rows whose suffixes begin with what has been searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Interval {
    pub(super) first: u64,
    pub(super) count: u64,
}

/// The loaded index's transform and samples.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    parts: IndexParts<'a>,
}

/// A row on its way to a sampled one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walk {
    pub(super) row: u64,
    pub(super) steps: u64,
}

impl<'a> Rows<'a> {
    pub(super) fn new(parts: IndexParts<'a>) -> Self {
        Self { parts }
    }

    #[inline]
    fn block(&self, row: u64) -> &'a Block {
        &self.parts.blocks[(row >> 6) as usize]
    }

    /// How often `base` stands in front of `row` in the transform.
    #[inline]
    fn before(&self, base: usize, row: u64) -> u64 {
        let block = self.block(row);
        let in_front = !(u64::MAX >> (row & 63));
        block.before[base] as u64 + u64::from((block.rows[base] & in_front).count_ones())
    }

    /// The rows of what `interval` has with `base` in front of it. (`first` of none is of no use.)
    #[inline]
    pub(super) fn extend(&self, interval: Interval, base: usize) -> Interval {
        let first = self.before(base, interval.first);
        let last = self.before(base, interval.first + interval.count);
        Interval { first: self.parts.first_rows[base] + first, count: last - first }
    }

    /// Has the processor fetch what [`Rows::extend`] will read.
    #[inline]
    pub(super) fn prefetch(&self, interval: Interval) {
        prefetch(self.block(interval.first));
        prefetch(self.block(interval.first + interval.count));
    }

    /// The place of a walk's row, if it is known here; else the walk goes one step on.
    #[inline]
    pub(super) fn step(&self, walk: &mut Walk) -> Option<u64> {
        let row = walk.row;
        if row & ((1 << self.parts.sample_shift) - 1) == 0 {
            let at = (row >> self.parts.sample_shift) as usize;
            let high = (self.parts.samples_high[at] as u8 as u64) << 32;
            return Some((high | u64::from(self.parts.samples_low[at])) + walk.steps);
        }
        if row == self.parts.sentinel_row {
            return Some(walk.steps);
        }
        let bit = 1 << 63 >> (row & 63);
        let base = self.block(row).rows.iter().position(|rows| rows & bit != 0).unwrap_or(0);
        walk.row = self.parts.first_rows[base] + self.before(base, row);
        walk.steps += 1;
        None
    }

    /// Has the processor fetch what [`Rows::step`] will read.
    #[inline]
    pub(super) fn prefetch_walk(&self, walk: Walk) {
        if walk.row & ((1 << self.parts.sample_shift) - 1) == 0 {
            let at = (walk.row >> self.parts.sample_shift) as usize;
            prefetch(&self.parts.samples_low[at]);
            prefetch(&self.parts.samples_high[at]);
        } else {
            prefetch(self.block(walk.row));
        }
    }
}
