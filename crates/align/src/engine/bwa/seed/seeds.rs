//! bwa's seeds of a read.
//!
//! Of a read that is on a diagonal much is known. A match of 19 bases and more is in a segment
//! between mismatches, where the flags of repeated k-mers say whether it may occur twice, or it
//! covers a mismatch; those that do are known.
//!
//! The numbers are bwa's defaults.
//!
//! * Round 1, SMEMs of 19 and more: those over a mismatch, and each segment that is in
//!   none of them. Where all k-mers of a segment are repeated, how often it occurs is searched
//!   for; else it occurs once.
//! * Round 2, for a seed of 28 and more that occurs up to 10 times: the SMEMs of 19 and
//!   more over its middle base that occur more often. All k-mers of such a match are repeated, or
//!   are in a match over a mismatch.
//! * Round 3 goes on from base `x` to the end of the shortest match of 20 and more that occurs
//!   less than 20 times; it is a seed if it occurs.
//!
//! Of other reads nothing is known but the SMEMs, which are the seeds of round 1: all
//! that rounds 2 and 3 require is searched for.

use std::ops::Range;

use super::SearchIndex;
use super::diagonal::{DiagonalFacts, KmerFlags, segments};
use super::longest_match::LongestMatch;
use super::smems::{Kmers, Smem, SmemSearch};
use crate::engine::bwa::settings::SeedOptions;
use crate::index::SEED_BASES;
use crate::search::lockstep::Search;
use crate::search::rows::Interval;
use crate::search::text::Bases;

/// Seeds at least so long are looked into again: 1.5 times the least, rounded (`-r`).
pub(crate) const RESEEDED_BASES: usize = SEED_BASES + SEED_BASES / 2;

impl SeedOptions {
    /// bwa's defaults, for which it can be shown what a read's seeds are.
    pub(crate) const USUAL: Self = Self {
        least_bases: SEED_BASES,
        reseeded_bases: RESEEDED_BASES,
        reseeded_up_to: 10,
        third_below: 20,
    };

    /// Bases of the shortest seed of round 3.
    fn third_bases(&self) -> usize {
        self.least_bases + 1
    }
}

/// A seed: bases of the read, and its suffix array interval if it occurs elsewhere than on the
/// diagonal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeedInterval {
    pub(crate) bases: [usize; 2],
    pub(crate) rows: Option<Interval>,
}

impl SeedInterval {
    /// How often it occurs.
    pub(crate) fn occurrences(&self) -> u64 {
        self.rows.map_or(1, |rows| rows.count)
    }
}

impl From<Smem> for SeedInterval {
    fn from(found: Smem) -> Self {
        Self { bases: found.bases, rows: Some(found.rows) }
    }
}

/// The search for one read's seeds.
#[derive(Debug)]
pub(crate) struct SeedSearch<'a> {
    read: &'a Bases,
    options: SeedOptions,
    /// What is known, if it is on a diagonal.
    known: Option<DiagonalFacts>,
    /// SMEMs over mismatches; if nothing is known, all there are.
    crossing: &'a [(usize, Smem)],
    /// What is found, in no order.
    pub(crate) seeds: &'a mut Vec<SeedInterval>,
    /// How many of them are of round 1, once that is over.
    first_seeds: usize,
    round: Round,
    /// Whether the last match that round 3 searched for occurs too often to be a seed.
    is_frequent: bool,
    state: SeedState<'a>,
    /// What is being searched.
    longest: LongestMatch,
    /// The tables are not of this index.
    pub(crate) gave_up: bool,
}

/// What is to be searched next.
#[derive(Debug, Clone, Copy)]
enum Round {
    /// Of the segment of this number, how often it occurs.
    First(usize),
    /// Of the seed of this number, more frequent matches over its middle.
    Second(usize),
    /// From this base on.
    Third(usize),
    /// Likewise, of the shortest seed on the diagonal, how often it occurs.
    ThirdHere(usize),
    /// How far a frequent match from this base reaches.
    ThirdLongest(usize),
    Done,
}

/// What it is searched for.
#[derive(Debug, Clone)]
enum SeedState<'a> {
    /// Nothing is.
    None,
    /// A match.
    Match,
    /// All SMEMs over some k-mers.
    Smems(SmemSearch<'a>),
}

impl<'a> SeedSearch<'a> {
    /// `crossing` are all SMEMs of the least length and more that cover a mismatch, or, if
    /// nothing is `known`, all there are; each with the read's number. Something is known with the
    /// usual options alone. `seeds` gets what is found, in place of what was there.
    pub(crate) fn new(
        read: &'a Bases,
        options: SeedOptions,
        known: Option<DiagonalFacts>,
        crossing: &'a [(usize, Smem)],
        seeds: &'a mut Vec<SeedInterval>,
    ) -> Self {
        seeds.clear();
        let known = known.map(|known| {
            let repeated = flags(known.repeated, known.mismatches.get(), read.len(), crossing);
            DiagonalFacts { repeated, ..known }
        });
        let mut search = Self {
            read,
            options,
            known,
            crossing,
            seeds,
            first_seeds: 0,
            round: Round::First(0),
            is_frequent: false,
            state: SeedState::None,
            longest: LongestMatch::backwards(0, 0, 0),
            gave_up: false,
        };
        search.next_search();
        search
    }

    fn segment(&self, number: usize) -> Option<[usize; 2]> {
        let known = self.known.as_ref()?;
        segments(known.mismatches.get(), self.read.len()).nth(number)
    }

    /// Whether these bases may occur on no diagonal that is known.
    fn lies_elsewhere(&self, [start, end]: [usize; 2]) -> bool {
        let covers = |known: &DiagonalFacts| {
            known.mismatches.get().iter().any(|at| (start..end).contains(at))
        };
        self.known.as_ref().is_none_or(covers)
    }

    /// Whether all of these k-mers may occur elsewhere than on the diagonal.
    #[inline]
    fn all_may_occur(&self, kmers: Range<usize>) -> bool {
        self.known.as_ref().is_none_or(|known| known.repeated.all(kmers))
    }

    /// Whether any of them may.
    #[inline]
    fn any_may_occur(&self, kmers: Range<usize>) -> bool {
        self.known.as_ref().is_none_or(|known| known.repeated.any(kmers))
    }

    /// What occurs as `rows` says.
    fn seed(&self, bases: [usize; 2], rows: Interval) -> SeedInterval {
        let here_alone = rows.count == 1 && !self.lies_elsewhere(bases);
        SeedInterval { bases, rows: (!here_alone).then_some(rows) }
    }

    /// Whether a k-mer is known not to occur elsewhere than on the diagonal.
    #[inline]
    fn is_excluded(&self, kmer: usize) -> bool {
        self.known.as_ref().is_some_and(|known| !known.repeated.get(kmer))
    }

    /// Searches for a match.
    fn search(&mut self, longest: LongestMatch) {
        (self.longest, self.state) = (longest, SeedState::Match);
    }

    /// Goes on to the next thing that must be searched for.
    fn next_search(&mut self) {
        while matches!(self.state, SeedState::None) {
            match self.round {
                Round::First(number) => self.first_round(number),
                Round::Second(number) => self.second_round(number),
                Round::Third(from) => self.third_round(from),
                Round::ThirdHere(_) | Round::ThirdLongest(_) | Round::Done => return,
            }
        }
    }

    fn first_round(&mut self, number: usize) {
        let Some([start, end]) = self.segment(number) else {
            self.seeds.extend(self.crossing.iter().map(|&(_, found)| SeedInterval::from(found)));
            self.first_seeds = self.seeds.len();
            self.round = Round::Second(0);
            return;
        };
        let lies_in = |found: &Smem| found.bases[0] <= start && end <= found.bases[1];
        if end - start < SEED_BASES || self.crossing.iter().any(|(_, found)| lies_in(found)) {
            self.round = Round::First(number + 1);
        } else if self.all_may_occur(start..end - SEED_BASES + 1) {
            // What occurs once is on the diagonal alone.
            self.search(LongestMatch::backwards(end, start, 2));
        } else {
            self.seeds.push(SeedInterval { bases: [start, end], rows: None });
            self.round = Round::First(number + 1);
        }
    }

    fn second_round(&mut self, number: usize) {
        if number == self.first_seeds {
            self.round = Round::Third(0);
            return;
        }
        self.round = Round::Second(number + 1);
        let seed = self.seeds[number];
        let [start, end] = seed.bases;
        if end - start < self.options.reseeded_bases
            || seed.occurrences() > self.options.reseeded_up_to
        {
            return;
        }
        let middle = start.midpoint(end);
        let bases = self.options.least_bases;
        let first = (middle + 1).saturating_sub(bases);
        let last = middle.min(self.read.len() - bases);
        if self.any_may_occur(first..last + 1) {
            let least = seed.occurrences() + 1;
            let likely = self.known.is_some();
            let kmers = Kmers { bases, positions: [first, last] };
            let mut search = SmemSearch::new(self.read, 0, kmers, least, likely);
            if let Some(longest) = search.next(|kmer| self.is_excluded(kmer)) {
                self.longest = longest;
                self.state = SeedState::Smems(search);
            }
        }
    }

    fn third_round(&mut self, from: usize) {
        let end = from + self.options.third_bases();
        if end > self.read.len() || self.options.third_below == 0 {
            self.round = Round::Done;
        } else if self.all_may_occur(from..from + 2) {
            let is_here = self.known.is_some() && !self.lies_elsewhere([from, end]);
            // Backwards is the shorter way, if it is the last.
            let longest = if is_here && !self.is_frequent {
                self.round = Round::ThirdHere(from);
                LongestMatch::backwards(end, from, 2)
            } else {
                LongestMatch::forwards(from, end, 1)
            };
            self.search(longest);
        } else {
            if !self.lies_elsewhere([from, end]) {
                self.seeds.push(SeedInterval { bases: [from, end], rows: None });
            }
            self.round = Round::Third(end);
        }
    }

    /// The longest match of a round was found.
    fn take_longest(&mut self, longest: LongestMatch) {
        let (at, rows) = (longest.at(), longest.rows());
        match self.round {
            Round::First(number) => {
                if let Some(bases) = self.segment(number) {
                    self.take_here(bases, &longest);
                }
                self.round = Round::First(number + 1);
            }
            Round::ThirdHere(from) => {
                let end = from + self.options.third_bases();
                if at > from || rows.count < self.options.third_below {
                    self.take_here([from, end], &longest);
                    self.round = Round::Third(end);
                } else if end == self.read.len() {
                    self.round = Round::Done;
                } else {
                    self.is_frequent = true;
                    self.round = Round::ThirdLongest(from);
                    let (limit, least) = (self.read.len(), self.options.third_below);
                    self.search(LongestMatch::forwards(from, limit, least));
                }
            }
            Round::Third(from) if at < from + self.options.third_bases() => {
                self.round = Round::Third(from + self.options.third_bases());
            }
            Round::Third(from) if rows.count < self.options.third_below => {
                self.is_frequent = false;
                self.take_third([from, at], rows);
            }
            Round::Third(_) if at == self.read.len() => self.round = Round::Done,
            Round::Third(from) => {
                self.round = Round::ThirdLongest(from);
                self.search(longest.further(self.read.len(), self.options.third_below));
            }
            Round::ThirdLongest(_) if at == self.read.len() => self.round = Round::Done,
            Round::ThirdLongest(from) => self.take_third([from, at + 1], longest.longer()),
            Round::Second(_) | Round::Done => {}
        }
    }

    /// A seed on the diagonal, which was searched for backwards: if its start was not reached, it
    /// occurs nowhere else.
    fn take_here(&mut self, bases: [usize; 2], longest: &LongestMatch) {
        let is_alone = longest.at() > bases[0];
        self.gave_up = is_alone && longest.longer().count == 0;
        self.seeds.push(SeedInterval { bases, rows: (!is_alone).then_some(longest.rows()) });
    }

    /// A seed of round 3, if it occurs.
    fn take_third(&mut self, bases: [usize; 2], rows: Interval) {
        if rows.count > 0 {
            self.seeds.push(self.seed(bases, rows));
        }
        self.round = Round::Third(bases[1]);
    }

    /// Takes what was searched, and goes on to the next thing.
    fn take(&mut self, search_index: &SearchIndex<'_>) {
        match std::mem::replace(&mut self.state, SeedState::None) {
            SeedState::None => {}
            SeedState::Match => self.take_longest(self.longest),
            SeedState::Smems(mut search) => {
                let seeds = &mut *self.seeds;
                let next = search.take(self.longest, search_index, |smem| seeds.push(smem.into()));
                if let Some(longest) = next.or_else(|| search.next(|kmer| self.is_excluded(kmer))) {
                    self.longest = longest;
                    self.state = SeedState::Smems(search);
                }
            }
        }
        self.next_search();
    }
}

/// The k-mers that may occur elsewhere than on the diagonal: in segments the repeated ones, over
/// mismatches those that are in one of the matches `crossing` them.
fn flags(
    repeated: KmerFlags,
    mismatches: &[usize],
    length: usize,
    crossing: &[(usize, Smem)],
) -> KmerFlags {
    let mut flags = repeated;
    for &at in mismatches {
        let first = (at + 1).saturating_sub(SEED_BASES);
        flags.set(first..at.min(length - SEED_BASES) + 1, false);
    }
    for (_, found) in crossing {
        let [start, end] = found.bases;
        flags.set(start..end - SEED_BASES + 1, true);
    }
    flags
}

impl Search<SearchIndex<'_>> for SeedSearch<'_> {
    #[inline(always)]
    fn step(&mut self, search_index: &SearchIndex<'_>) -> bool {
        if matches!(self.state, SeedState::None) {
            return false;
        }
        if self.longest.step(self.read, search_index) {
            return true;
        }
        self.take(search_index);
        !self.gave_up && !matches!(self.state, SeedState::None)
    }
}
