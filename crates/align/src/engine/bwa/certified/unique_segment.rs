//! The position of a read, by a segment of it that occurs once.
//!
//! Nothing rests on that: what follows holds of any position where the read has few mismatches. But
//! a place of a segment that occurs twice is often the wrong one, or of a read that is not
//! certified.

use crate::engine::bwa::seed::SearchIndex;
use crate::search::lockstep::Search;
use crate::search::prefetch::prefetch;
use crate::search::rows::{Interval, Walk};
use crate::search::text::Bases;

/// Longest segment that is searched. One that occurs twice is not of a read that can be certified.
const LONGEST_SEGMENT: usize = 40;

/// Where the segments that are tried end, in sixteenths of the read.
const ENDS: [usize; 3] = [9, 5, 13];

/// How often a position is looked for.
pub(super) const TRIES: usize = ENDS.len();

/// The search for a unique segment of a read.
#[derive(Debug, Clone)]
pub(super) struct UniqueSegmentSearch<'a> {
    read: &'a Bases,
    /// The read's number, for the caller.
    pub(super) number: usize,
    /// First base of the segment.
    at: usize,
    /// One past its last.
    end: usize,
    state: SegmentState,
}

#[derive(Debug, Clone, Copy)]
enum SegmentState {
    Start,
    Searching(Interval),
    Walking(Walk),
    /// The place of base `at`.
    Found(u64),
    Lost,
}

impl<'a> UniqueSegmentSearch<'a> {
    /// The `attempt`-th search, from 0, for a read of at least [`LONGEST_SEGMENT`] bases.
    pub(super) fn new(read: &'a Bases, number: usize, attempt: usize) -> Self {
        let end = (read.len() * ENDS[attempt] / 16).max(LONGEST_SEGMENT);
        Self { read, number, at: end, end, state: SegmentState::Start }
    }

    /// Where in doubled coordinates the read's first base would be.
    pub(super) fn position(&self) -> Option<u64> {
        match self.state {
            SegmentState::Found(position) => position.checked_sub(self.at as u64),
            _ => None,
        }
    }

    #[inline(always)]
    fn go_on(&mut self, interval: Interval, search_index: &SearchIndex<'_>) {
        self.state = match interval.count {
            0 => SegmentState::Lost,
            1 => {
                let walk = Walk::from_row(interval.first);
                search_index.rows.prefetch_walk(walk);
                SegmentState::Walking(walk)
            }
            _ if self.end - self.at == LONGEST_SEGMENT || self.at == 0 => SegmentState::Lost,
            _ => {
                search_index.rows.prefetch(interval);
                SegmentState::Searching(interval)
            }
        };
    }
}

impl Search<SearchIndex<'_>> for UniqueSegmentSearch<'_> {
    #[inline(always)]
    fn step(&mut self, search_index: &SearchIndex<'_>) -> bool {
        match &mut self.state {
            SegmentState::Start if self.at == self.end => {
                self.at -= search_index.kmer_table.kmer_bases();
                prefetch(search_index.kmer_table.entry(self.kmer_number(search_index)));
            }
            SegmentState::Start => {
                self.go_on(search_index.start(self.kmer_number(search_index)), search_index)
            }
            SegmentState::Searching(interval) => {
                let longer = search_index.rows.extend(*interval, self.read.base(self.at - 1));
                self.at -= 1;
                self.go_on(longer, search_index);
            }
            SegmentState::Walking(walk) => match search_index.rows.step(walk) {
                Some(position) => self.state = SegmentState::Found(position),
                None => search_index.rows.prefetch_walk(*walk),
            },
            SegmentState::Found(_) | SegmentState::Lost => {}
        }
        !matches!(self.state, SegmentState::Found(_) | SegmentState::Lost)
    }
}

impl UniqueSegmentSearch<'_> {
    #[inline(always)]
    fn kmer_number(&self, search_index: &SearchIndex<'_>) -> usize {
        self.read.number(self.at, search_index.kmer_table.kmer_bases())
    }
}
