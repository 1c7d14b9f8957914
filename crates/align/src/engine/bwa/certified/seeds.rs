//! bwa's seeds of a read.
//!
//! Of a read that is on a diagonal much is known. A match of 19 bases and more is in a segment
//! between mismatches, where the flags of repeated strings say whether it may occur twice, or it
//! covers a mismatch; those that do are known.
//!
//! The numbers are bwa's defaults.
//!
//! * Round 1, maximal matches of 19 and more: those over a mismatch, and each segment that is in
//!   none of them. Where all strings of a segment are repeated, how often it occurs is searched
//!   for; else it occurs once.
//! * Round 2, for a seed of 28 and more that occurs up to 10 times: the maximal matches of 19 and
//!   more over its middle base that occur more often. All strings of such a match are repeated, or
//!   are in a match over a mismatch.
//! * Round 3 goes on from base `x` to the end of the shortest match of 20 and more that occurs
//!   less than 20 times; it is a seed if it occurs.
//!
//! Of other reads nothing is known but the maximal matches, which are the seeds of round 1: all
//! that rounds 2 and 3 ask for is searched for.

use super::matches::{Match, MatchSearch, Strings};
use super::reach::Reach;
use super::rules::{RESEEDED_BASES, segments};
use super::{Mismatches, Tables};
use crate::index::SEED_BASES;
use crate::search::lockstep::Search;
use crate::search::rows::Interval;
use crate::search::text::Bases;

/// What bwa's three rounds ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeedOptions {
    /// Bases of the shortest seed (`-k`).
    pub(crate) least_bases: usize,
    /// Seeds of round 1 with so many bases are looked into again by round 2 (`-r`) ...
    pub(crate) reseeded_bases: usize,
    /// ... if they occur no more often than this (`split_width`).
    pub(crate) reseeded_up_to: u64,
    /// A match that occurs less often than this is a seed of round 3 (`-y`); 0 for no such round.
    pub(crate) third_below: u64,
}

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

/// A seed: bases of the read, and the rows where it occurs if that is not the diagonal alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed {
    pub(crate) bases: [usize; 2],
    pub(crate) rows: Option<Interval>,
}

impl Seed {
    /// How often it occurs.
    pub(crate) fn occurrences(&self) -> u64 {
        self.rows.map_or(1, |rows| rows.count)
    }
}

impl From<Match> for Seed {
    fn from(found: Match) -> Self {
        Self { bases: found.bases, rows: Some(found.rows) }
    }
}

/// One bit for each string of a read, up to 512: whether it may occur elsewhere than on the
/// diagonal.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags([u64; 8]);

impl Flags {
    pub(super) fn get(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 != 0
    }

    pub(super) fn set(&mut self, at: usize, value: bool) {
        let bit = 1 << (at % 64);
        self.0[at / 64] = if value { self.0[at / 64] | bit } else { self.0[at / 64] & !bit };
    }
}

/// What is known of a read that is on a diagonal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnDiagonal {
    pub(super) mismatches: Mismatches,
    /// The strings that occur twice, if they cover no mismatch; once the search has begun, those
    /// that may occur elsewhere than on the diagonal.
    pub(super) repeated: Flags,
}

/// The search for one read's seeds.
#[derive(Debug)]
pub(crate) struct SeedSearch<'a> {
    read: &'a Bases,
    options: SeedOptions,
    /// What is known, if it is on a diagonal.
    known: Option<OnDiagonal>,
    /// Maximal matches over mismatches; if nothing is known, all there are.
    over: &'a [(usize, Match)],
    /// What is found, in no order.
    pub(crate) seeds: &'a mut Vec<Seed>,
    /// How many of them are of round 1, once that is over.
    first_seeds: usize,
    round: Round,
    task: Task<'a>,
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
    /// How far a frequent match from this base reaches.
    ThirdReach(usize),
    Done,
}

/// What is being searched.
#[derive(Debug, Clone)]
enum Task<'a> {
    None,
    Reach(Reach),
    Matches(MatchSearch<'a>),
}

impl<'a> SeedSearch<'a> {
    /// `over` are all maximal matches of the least length and more that cover a mismatch, or, if
    /// nothing is `known`, all there are; each with the read's number. Something is known with the
    /// usual options alone. `seeds` gets what is found, in place of what was there.
    pub(crate) fn new(
        read: &'a Bases,
        options: SeedOptions,
        known: Option<OnDiagonal>,
        over: &'a [(usize, Match)],
        seeds: &'a mut Vec<Seed>,
    ) -> Self {
        seeds.clear();
        let known = known.map(|known| {
            let repeated = flags(known.repeated, known.mismatches.get(), read.len(), over);
            OnDiagonal { repeated, ..known }
        });
        let mut search = Self {
            read,
            options,
            known,
            over,
            seeds,
            first_seeds: 0,
            round: Round::First(0),
            task: Task::None,
            gave_up: false,
        };
        search.next_task();
        search
    }

    fn segment(&self, number: usize) -> Option<[usize; 2]> {
        let known = self.known.as_ref()?;
        segments(known.mismatches.get(), self.read.len()).nth(number)
    }

    /// Whether these bases may occur on no diagonal that is known.
    fn lies_elsewhere(&self, [start, end]: [usize; 2]) -> bool {
        let covers =
            |known: &OnDiagonal| known.mismatches.get().iter().any(|at| (start..end).contains(at));
        self.known.as_ref().is_none_or(covers)
    }

    /// Whether string `at` may occur elsewhere than on the diagonal.
    #[inline]
    fn may_occur(&self, at: usize) -> bool {
        self.known.as_ref().is_none_or(|known| known.repeated.get(at))
    }

    /// What occurs as `rows` says.
    fn seed(&self, bases: [usize; 2], rows: Interval) -> Seed {
        let here_alone = rows.count == 1 && !self.lies_elsewhere(bases);
        Seed { bases, rows: (!here_alone).then_some(rows) }
    }

    /// Goes on to the next thing that must be searched for.
    fn next_task(&mut self) {
        while matches!(self.task, Task::None) {
            match self.round {
                Round::First(number) => self.first_round(number),
                Round::Second(number) => self.second_round(number),
                Round::Third(from) => self.third_round(from),
                Round::ThirdReach(_) | Round::Done => return,
            }
        }
    }

    fn first_round(&mut self, number: usize) {
        let Some([start, end]) = self.segment(number) else {
            self.seeds.extend(self.over.iter().map(|&(_, found)| Seed::from(found)));
            self.first_seeds = self.seeds.len();
            self.round = Round::Second(0);
            return;
        };
        let lies_in = |found: &Match| found.bases[0] <= start && end <= found.bases[1];
        if end - start < SEED_BASES || self.over.iter().any(|(_, found)| lies_in(found)) {
            self.round = Round::First(number + 1);
        } else if (start..=end - SEED_BASES).all(|at| self.may_occur(at)) {
            self.task = Task::Reach(Reach::backwards(end, start, 1));
        } else {
            self.seeds.push(Seed { bases: [start, end], rows: None });
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
        if (first..=last).any(|at| self.may_occur(at)) {
            let least = seed.occurrences() + 1;
            let likely = self.known.is_some();
            let strings = Strings { bases, places: [first, last] };
            let search = MatchSearch::new(self.read, 0, strings, least, likely);
            self.task = Task::Matches(search);
        }
    }

    fn third_round(&mut self, from: usize) {
        let end = from + self.options.third_bases();
        if end > self.read.len() || self.options.third_below == 0 {
            self.round = Round::Done;
        } else if self.may_occur(from) && self.may_occur(from + 1) {
            self.task = Task::Reach(Reach::forwards(from, end, 1));
        } else {
            if !self.lies_elsewhere([from, end]) {
                self.seeds.push(Seed { bases: [from, end], rows: None });
            }
            self.round = Round::Third(end);
        }
    }

    /// What was searched for reaches as far as `reach` says.
    fn take_reach(&mut self, reach: Reach) {
        self.task = Task::None;
        let (at, rows) = (reach.at(), reach.rows());
        match self.round {
            Round::First(number) => {
                let bases = self.segment(number);
                self.gave_up = bases.is_none_or(|[start, _]| at != start);
                self.seeds.extend(bases.map(|bases| self.seed(bases, rows)));
                self.round = Round::First(number + 1);
            }
            Round::Third(from) if at < from + self.options.third_bases() => {
                self.round = Round::Third(from + self.options.third_bases());
            }
            Round::Third(from) if rows.count < self.options.third_below => {
                self.take_third([from, at], rows);
            }
            Round::Third(_) if at == self.read.len() => self.round = Round::Done,
            Round::Third(from) => {
                self.round = Round::ThirdReach(from);
                self.task = Task::Reach(reach.further(self.read.len(), self.options.third_below));
            }
            Round::ThirdReach(_) if at == self.read.len() => self.round = Round::Done,
            Round::ThirdReach(from) => self.take_third([from, at + 1], reach.longer()),
            Round::Second(_) | Round::Done => {}
        }
    }

    /// A seed of round 3, if it occurs.
    fn take_third(&mut self, bases: [usize; 2], rows: Interval) {
        if rows.count > 0 {
            self.seeds.push(self.seed(bases, rows));
        }
        self.round = Round::Third(bases[1]);
    }
}

/// The strings that may occur elsewhere than on the diagonal: in segments the repeated ones, over
/// mismatches those that are in one of the matches `over` them.
fn flags(repeated: Flags, mismatches: &[usize], length: usize, over: &[(usize, Match)]) -> Flags {
    let mut flags = repeated;
    for &at in mismatches {
        let first = (at + 1).saturating_sub(SEED_BASES);
        (first..=at.min(length - SEED_BASES)).for_each(|string| flags.set(string, false));
    }
    for (_, found) in over {
        let [start, end] = found.bases;
        (start..=end - SEED_BASES).for_each(|string| flags.set(string, true));
    }
    flags
}

impl Search<Tables<'_>> for SeedSearch<'_> {
    #[inline(always)]
    fn step(&mut self, tables: &Tables<'_>) -> bool {
        match &mut self.task {
            Task::None => return false,
            Task::Reach(reach) => {
                if reach.step(self.read, tables) {
                    return true;
                }
                let reach = *reach;
                self.take_reach(reach);
            }
            Task::Matches(search) => {
                let known = &self.known;
                let excluded = |at| known.as_ref().is_some_and(|known| !known.repeated.get(at));
                let seeds = &mut *self.seeds;
                if search.step(tables, excluded, |found| seeds.push(found.into())) {
                    return true;
                }
                self.task = Task::None;
            }
        }
        self.next_task();
        !self.gave_up && !matches!(self.task, Task::None)
    }
}
