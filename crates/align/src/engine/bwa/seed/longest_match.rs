//! The longest match from a base, backwards or forwards, that occurs often enough.

use super::SearchIndex;
use crate::search::prefetch::prefetch;
use crate::search::rows::{BiInterval, Interval};
use crate::search::text::Bases;

/// A search from one base, in steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct LongestMatch {
    backwards: bool,
    /// Where it begins: after the match's last base if it goes backwards, else at its first.
    from: usize,
    /// It goes no further.
    limit: usize,
    /// How often the match must occur.
    least: u64,
    at: usize,
    /// The bi-interval of the match; its reverse half is kept up only forwards.
    rows: BiInterval,
    /// The interval of the match and one base more, which occurs less often.
    longer: Interval,
    phase: MatchPhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchPhase {
    Start,
    Table,
    Searching,
}

impl LongestMatch {
    /// From past base `end - 1` down to base `limit`, [`KmerTable::kmer_bases`] away or more.
    ///
    /// [`KmerTable::kmer_bases`]: crate::index::KmerTable::kmer_bases
    pub(super) fn backwards(end: usize, limit: usize, least: u64) -> Self {
        Self::new(true, end, limit, least)
    }

    /// From base `start` to before base `limit`, as far away.
    pub(super) fn forwards(start: usize, limit: usize, least: u64) -> Self {
        Self::new(false, start, limit, least)
    }

    fn new(backwards: bool, from: usize, limit: usize, least: u64) -> Self {
        let (rows, longer, phase) = (BiInterval::default(), Interval::default(), MatchPhase::Start);
        Self { backwards, from, limit, least, at: from, rows, longer, phase }
    }

    /// Goes on to another limit. It must not be there yet.
    pub(super) fn further(self, limit: usize, least: u64) -> Self {
        Self { limit, least, ..self }
    }

    /// After the way forwards, the way from the match's first base, which is not `limit`, back to
    /// it.
    pub(super) fn back(self, limit: usize, search_index: &SearchIndex<'_>) -> Self {
        search_index.rows.prefetch(self.rows.rows);
        Self { backwards: true, from: self.at, limit, at: self.from, ..self }
    }

    /// The first base of the match, or after its last if it went forwards. Where it began, if the
    /// k-mers that the table knows are already too long.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The suffix array interval of the match.
    pub(super) fn rows(&self) -> Interval {
        self.rows.rows
    }

    /// The interval of the match and one base more, where that ended it.
    pub(super) fn longer(&self) -> Interval {
        self.longer
    }

    /// One step in `read`. False when it goes no further.
    #[inline(always)]
    pub(super) fn step(&mut self, read: &Bases, search_index: &SearchIndex<'_>) -> bool {
        match self.phase {
            MatchPhase::Start => {
                let kmers = self.kmers(read, search_index);
                kmers.into_iter().for_each(|kmer| prefetch(search_index.kmer_table.entry(kmer)));
                self.phase = MatchPhase::Table;
                return true;
            }
            MatchPhase::Table => {
                let [kmer, reverse] = self.kmers(read, search_index);
                let rows = search_index.start(kmer);
                if rows.count < self.least {
                    return false;
                }
                let kmers = search_index.kmer_table.kmer_bases();
                if self.backwards {
                    self.at = self.from - kmers;
                    self.rows.rows = rows;
                } else {
                    self.at = self.from + kmers;
                    self.rows =
                        BiInterval { rows, reverse: search_index.kmer_table.first_row(reverse) };
                }
                self.phase = MatchPhase::Searching;
            }
            MatchPhase::Searching => {
                let longer = match self.backwards {
                    true => BiInterval {
                        rows: search_index.rows.extend(self.rows.rows, read.base(self.at - 1)),
                        reverse: 0,
                    },
                    false => search_index.rows.extend_forwards(self.rows, read.base(self.at)),
                };
                if longer.rows.count < self.least {
                    self.longer = longer.rows;
                    return false;
                }
                self.rows = longer;
                self.at = if self.backwards { self.at - 1 } else { self.at + 1 };
            }
        }
        search_index.rows.prefetch(if self.backwards {
            self.rows.rows
        } else {
            self.rows.reverse()
        });
        self.at != self.limit
    }

    /// The numbers of the k-mer that it starts with, as it is and reverse-complemented.
    #[inline(always)]
    fn kmers(&self, read: &Bases, search_index: &SearchIndex<'_>) -> [usize; 2] {
        let kmers = search_index.kmer_table.kmer_bases();
        if self.backwards {
            [read.number(self.from - kmers, kmers); 2]
        } else {
            [read.number(self.from, kmers), read.complement_number(self.from, kmers)]
        }
    }
}
