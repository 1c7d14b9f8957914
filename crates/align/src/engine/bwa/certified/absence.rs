//! That none of a read's k-mers (of [`SEED_BASES`] bases) over a mismatch occurs in the genome.
//!
//! A k-mer that does not occur is in no longer one that does. So of each search backwards, which
//! ends where nothing is left, it follows for several k-mers at once.

use crate::engine::bwa::seed::SearchIndex;
use crate::index::SEED_BASES;
use crate::search::lockstep::Search;
use crate::search::prefetch::prefetch;
use crate::search::rows::Interval;
use crate::search::text::Bases;

/// The search for one run of neighbouring k-mers of a read.
#[derive(Debug, Clone)]
pub(super) struct AbsenceSearch<'a> {
    pub(super) read: &'a Bases,
    /// The read's number, for the caller.
    pub(super) number: usize,
    /// First k-mer that is not shown to be absent.
    first: usize,
    /// Last k-mer of the run.
    last: usize,
    /// First base of what is searched.
    at: usize,
    state: AbsenceState,
}

#[derive(Debug, Clone, Copy)]
enum AbsenceState {
    Start,
    Table,
    Searching(Interval),
    Absent,
    Present,
}

impl<'a> AbsenceSearch<'a> {
    /// For the k-mers that start at `first` to `last`.
    pub(super) fn new(read: &'a Bases, number: usize, first: usize, last: usize) -> Self {
        Self { read, number, first, last, at: 0, state: AbsenceState::Start }
    }

    /// The first k-mer of the run that occurs, and the last one of the run.
    pub(super) fn present(&self) -> Option<[usize; 2]> {
        matches!(self.state, AbsenceState::Present).then_some([self.first, self.last])
    }

    /// What begins at `at` and ends with k-mer `first` occurs as `interval` says.
    #[inline(always)]
    fn go_on(&mut self, interval: Interval, search_index: &SearchIndex<'_>) {
        self.state = if interval.count > 0 {
            search_index.rows.prefetch(interval);
            if self.at == self.first {
                AbsenceState::Present
            } else {
                AbsenceState::Searching(interval)
            }
        } else if self.at >= self.last {
            AbsenceState::Absent
        } else {
            self.first = self.at + 1;
            AbsenceState::Start
        };
    }

    #[inline(always)]
    fn kmer_number(&self, search_index: &SearchIndex<'_>) -> usize {
        self.read.number(self.at, search_index.kmer_table.kmer_bases())
    }
}

impl Search<SearchIndex<'_>> for AbsenceSearch<'_> {
    #[inline(always)]
    fn step(&mut self, search_index: &SearchIndex<'_>) -> bool {
        if let AbsenceState::Table = self.state {
            self.go_on(search_index.start(self.kmer_number(search_index)), search_index);
        } else if let AbsenceState::Searching(interval) = self.state {
            self.at -= 1;
            let longer = search_index.rows.extend(interval, self.read.base(self.at));
            self.go_on(longer, search_index);
        }
        if let AbsenceState::Start = self.state {
            self.at = self.first + SEED_BASES - search_index.kmer_table.kmer_bases();
            prefetch(search_index.kmer_table.entry(self.kmer_number(search_index)));
            self.state = AbsenceState::Table;
        }
        !matches!(self.state, AbsenceState::Absent | AbsenceState::Present)
    }
}

/// The runs of k-mers that cover a mismatch of a read of `length` bases, each as its first and
/// last k-mer.
pub(super) fn runs(mismatches: &[usize], length: usize, mut take: impl FnMut(usize, usize)) {
    let last_kmer = length - SEED_BASES;
    let mut open: Option<[usize; 2]> = None;
    for &at in mismatches {
        let [first, last] = [(at + 1).saturating_sub(SEED_BASES), at.min(last_kmer)];
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
