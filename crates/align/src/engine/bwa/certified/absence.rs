//! That no string of [`SEED_BASES`] bases of a read that covers a mismatch occurs in the genome.
//!
//! A string that does not occur is in no longer one that does. So of each search backwards, which
//! ends where nothing is left, it follows for several strings at once.

use super::Tables;
use crate::index::SEED_BASES;
use crate::search::lockstep::Search;
use crate::search::prefetch::prefetch;
use crate::search::rows::Interval;
use crate::search::text::Bases;

/// The search for one run of neighbouring strings of a read.
#[derive(Debug, Clone)]
pub(super) struct AbsenceSearch<'a> {
    pub(super) read: &'a Bases,
    /// The read's number, for the caller.
    pub(super) number: usize,
    /// First string that is not shown to be absent.
    first: usize,
    /// Last string of the run.
    last: usize,
    /// First base of what is searched.
    at: usize,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Start,
    Table,
    Searching(Interval),
    Absent,
    Present,
}

impl<'a> AbsenceSearch<'a> {
    /// For the strings that start at `first` to `last`.
    pub(super) fn new(read: &'a Bases, number: usize, first: usize, last: usize) -> Self {
        Self { read, number, first, last, at: 0, state: State::Start }
    }

    /// The first string of the run that occurs, and the last one of the run.
    pub(super) fn present(&self) -> Option<[usize; 2]> {
        matches!(self.state, State::Present).then_some([self.first, self.last])
    }

    /// What begins at `at` and ends with string `first` occurs as `interval` says.
    #[inline(always)]
    fn go_on(&mut self, interval: Interval, tables: &Tables<'_>) {
        self.state = if interval.count > 0 {
            tables.rows.prefetch(interval);
            if self.at == self.first { State::Present } else { State::Searching(interval) }
        } else if self.at >= self.last {
            State::Absent
        } else {
            self.first = self.at + 1;
            State::Start
        };
    }

    #[inline(always)]
    fn start_number(&self, tables: &Tables<'_>) -> usize {
        self.read.number(self.at, tables.starts.string_bases())
    }
}

impl Search<Tables<'_>> for AbsenceSearch<'_> {
    #[inline(always)]
    fn step(&mut self, tables: &Tables<'_>) -> bool {
        if let State::Table = self.state {
            self.go_on(tables.start(self.start_number(tables)), tables);
        } else if let State::Searching(interval) = self.state {
            self.at -= 1;
            let longer = tables.rows.extend(interval, self.read.base(self.at));
            self.go_on(longer, tables);
        }
        if let State::Start = self.state {
            self.at = self.first + SEED_BASES - tables.starts.string_bases();
            prefetch(tables.starts.start_entry(self.start_number(tables)));
            self.state = State::Table;
        }
        !matches!(self.state, State::Absent | State::Present)
    }
}

/// The runs of strings that cover a mismatch of a read of `length` bases, each as its first and
/// last string.
pub(super) fn runs(mismatches: &[usize], length: usize, mut take: impl FnMut(usize, usize)) {
    let last_string = length - SEED_BASES;
    let mut open: Option<[usize; 2]> = None;
    for &at in mismatches {
        let [first, last] = [(at + 1).saturating_sub(SEED_BASES), at.min(last_string)];
        match &mut open {
            Some([_, end]) if first <= *end + 1 => *end = last,
            _ => {
                if let Some([first, last]) = open.replace([first, last]) {
                    take(first, last);
                }
            }
        }
    }
    if let Some([first, last]) = open {
        take(first, last);
    }
}
