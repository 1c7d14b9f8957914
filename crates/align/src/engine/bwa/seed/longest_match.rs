//! The longest match from a base, backwards or forwards, that occurs often enough.

use super::SearchIndex;
use crate::search::prefetch::prefetch;
use crate::search::rows::{BiInterval, Interval};
use crate::search::text::Bases;

/// A search from one base, in steps. Both ways are the same steps, so that no branch depends on
/// the way: what is made longer backwards is the match, or its reverse complement.
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
    /// The bi-interval of what is made longer; its reverse half is kept up only forwards.
    rows: BiInterval,
    /// The same with one base more, which occurs less often.
    longer: BiInterval,
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
        let (none, phase) = (BiInterval::default(), MatchPhase::Start);
        Self { backwards, from, limit, least, at: from, rows: none, longer: none, phase }
    }

    /// Goes on to another limit. It must not be there yet.
    pub(super) fn further(self, limit: usize, least: u64) -> Self {
        Self { limit, least, ..self }
    }

    /// After the way forwards, the way from the match's first base, which is not `limit`, back to
    /// it.
    pub(super) fn back(self, limit: usize, search_index: &SearchIndex<'_>) -> Self {
        let rows = self.rows.turned();
        search_index.rows.prefetch(rows.rows);
        Self { backwards: true, from: self.at, limit, at: self.from, rows, ..self }
    }

    /// The first base of the match, or after its last if it went forwards. Where it began, if the
    /// k-mers that the table knows are already too long.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The suffix array interval of the match.
    pub(super) fn rows(&self) -> Interval {
        self.of_match(self.rows)
    }

    /// The interval of the match and one base more, where that ended it.
    pub(super) fn longer(&self) -> Interval {
        self.of_match(self.longer)
    }

    fn of_match(&self, searched: BiInterval) -> Interval {
        if self.backwards { searched.rows } else { searched.reverse() }
    }

    /// One step in `read`. False when it goes no further.
    #[inline(always)]
    pub(super) fn step(&mut self, read: &Bases, search_index: &SearchIndex<'_>) -> bool {
        if self.phase != MatchPhase::Searching {
            return self.start(read, search_index);
        }
        let way = usize::from(self.backwards);
        let base = read.base(self.at - way);
        // Its complement is 3 - base.
        let base = base ^ (3 * (1 - way));
        let longer = search_index.rows.extend_backwards(self.rows, base);
        if longer.rows.count < self.least {
            self.longer = longer;
            return false;
        }
        self.rows = longer;
        self.at = self.at + 1 - 2 * way;
        search_index.rows.prefetch(self.rows.rows);
        self.at != self.limit
    }

    /// The steps before the first base is added: the k-mer is looked up.
    fn start(&mut self, read: &Bases, search_index: &SearchIndex<'_>) -> bool {
        let table = search_index.kmer_table;
        let [kmer, reverse] = self.kmers(read, table.kmer_bases());
        if self.phase == MatchPhase::Start {
            prefetch(table.entry(kmer));
            prefetch(table.entry(reverse));
            self.phase = MatchPhase::Table;
            return true;
        }
        let rows = search_index.start(kmer);
        if rows.count < self.least {
            return false;
        }
        let of_kmer = BiInterval { rows, reverse: table.first_row(reverse) };
        if self.backwards {
            self.at -= table.kmer_bases();
            self.rows = of_kmer;
        } else {
            self.at += table.kmer_bases();
            self.rows = of_kmer.turned();
        }
        self.phase = MatchPhase::Searching;
        search_index.rows.prefetch(self.rows.rows);
        self.at != self.limit
    }

    /// The numbers of the k-mer that it starts with, as it is and, if it goes forwards,
    /// reverse-complemented.
    fn kmers(&self, read: &Bases, kmers: usize) -> [usize; 2] {
        if self.backwards {
            [read.number(self.from - kmers, kmers); 2]
        } else {
            [read.number(self.from, kmers), read.complement_number(self.from, kmers)]
        }
    }
}
