//! Where a read may be: a segment of it that occurs once says.
//!
//! Nothing rests on that: what follows holds of any place where the read has few mismatches. But a
//! place of a segment that occurs twice is often the wrong one, or of a read that is not certified.

use super::Tables;
use crate::search::lockstep::Search;
use crate::search::prefetch::prefetch;
use crate::search::rows::{Interval, Walk};
use crate::search::text::Bases;

/// Longest segment that is searched. One that occurs twice is not of a read that can be certified.
const LONGEST_SEGMENT: usize = 40;

/// Where the segments that are tried end, in sixteenths of the read.
const ENDS: [usize; 3] = [9, 5, 13];

/// How often a place is looked for.
pub(super) const TRIES: usize = ENDS.len();

/// The search for one read's place.
#[derive(Debug, Clone)]
pub(super) struct PlaceSearch<'a> {
    read: &'a Bases,
    /// The read's number, for the caller.
    pub(super) number: usize,
    /// First base of the segment.
    at: usize,
    /// One past its last.
    end: usize,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Start,
    Searching(Interval),
    Walking(Walk),
    /// The place of base `at`.
    Found(u64),
    Lost,
}

impl<'a> PlaceSearch<'a> {
    /// The `attempt`-th search, from 0, for a read of at least [`LONGEST_SEGMENT`] bases.
    pub(super) fn new(read: &'a Bases, number: usize, attempt: usize) -> Self {
        let end = (read.len() * ENDS[attempt] / 16).max(LONGEST_SEGMENT);
        Self { read, number, at: end, end, state: State::Start }
    }

    /// Where in `T` the read's first base would be.
    pub(super) fn place(&self) -> Option<u64> {
        match self.state {
            State::Found(place) => place.checked_sub(self.at as u64),
            _ => None,
        }
    }

    #[inline(always)]
    fn go_on(&mut self, interval: Interval, tables: &Tables<'_>) {
        self.state = match interval.count {
            0 => State::Lost,
            1 => {
                let walk = Walk { row: interval.first, steps: 0 };
                tables.rows.prefetch_walk(walk);
                State::Walking(walk)
            }
            _ if self.end - self.at == LONGEST_SEGMENT || self.at == 0 => State::Lost,
            _ => {
                tables.rows.prefetch(interval);
                State::Searching(interval)
            }
        };
    }
}

impl Search<Tables<'_>> for PlaceSearch<'_> {
    #[inline(always)]
    fn step(&mut self, tables: &Tables<'_>) -> bool {
        match &mut self.state {
            State::Start if self.at == self.end => {
                self.at -= tables.starts.string_bases();
                prefetch(tables.starts.start_entry(self.start_number(tables)));
            }
            State::Start => self.go_on(tables.start(self.start_number(tables)), tables),
            State::Searching(interval) => {
                let longer = tables.rows.extend(*interval, self.read.base(self.at - 1));
                self.at -= 1;
                self.go_on(longer, tables);
            }
            State::Walking(walk) => match tables.rows.step(walk) {
                Some(place) => self.state = State::Found(place),
                None => tables.rows.prefetch_walk(*walk),
            },
            State::Found(_) | State::Lost => {}
        }
        !matches!(self.state, State::Found(_) | State::Lost)
    }
}

impl PlaceSearch<'_> {
    #[inline(always)]
    fn start_number(&self, tables: &Tables<'_>) -> usize {
        self.read.number(self.at, tables.starts.string_bases())
    }
}
