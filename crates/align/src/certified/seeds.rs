//! bwa's seeds of a read that lies on a diagonal, where some of them occur elsewhere too.
//!
//! As in [`rules::seeds_are_unique`](super::rules::seeds_are_unique), no string of 19 bases over a
//! mismatch occurs in `T`, so that every match of 19 bases and more lies in a stretch between
//! mismatches, and the flags of repeated strings say where it may occur twice. Only there is
//! searched: for the longest match that ends, or begins, at a base and occurs often enough.
//!
//! * Round 1: each stretch of 19 bases and more is one maximal match. Where all its strings are
//!   repeated, how often it occurs is searched for.
//! * Round 2, for a stretch of 28 and more that occurs once: the maximal matches of 19 and more
//!   over its middle base that occur at least twice. All strings of such a match are repeated, so
//!   it lies in a run of repeated strings. The one that ends with the run comes first; the next
//!   begins a base in front of where the last one begins, at the latest, and ends as far as a
//!   match from there does.
//! * Round 3 goes on from base `x` to the end of the shortest match of 20 and more that occurs
//!   less than 20 times.

use super::lockstep::Search;
use super::prefetch::prefetch;
use super::rows::Interval;
use super::rules::{RESEEDED_BASES, THIRD_ROUND_BASES, stretches};
use super::text::Bases;
use super::{Mismatches, Tables};
use crate::index::SEED_BASES;

/// A match that occurs less often is a seed of round 3.
const THIRD_ROUND_BELOW: u64 = 20;
/// Seeds of round 1 that occur so often are looked into again by round 2 (`split_width`).
const RESEEDED_UP_TO: u64 = 10;

/// A seed: bases of the read, and the rows where it occurs if that is not the diagonal alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seed {
    pub(super) bases: [usize; 2],
    pub(super) rows: Option<Interval>,
}

impl Seed {
    fn new(bases: [usize; 2], rows: Interval) -> Self {
        Self { bases, rows: (rows.count > 1).then_some(rows) }
    }

    /// How often it occurs.
    pub(super) fn occurrences(&self) -> u64 {
        self.rows.map_or(1, |rows| rows.count)
    }
}

/// The search for one read's seeds.
#[derive(Debug, Clone)]
pub(super) struct SeedSearch<'a> {
    read: &'a Bases,
    mismatches: Mismatches,
    /// One bit for each string of the read: repeated on the diagonal.
    flags: Flags,
    /// What is found, in no order.
    pub(super) seeds: Vec<Seed>,
    round: Round,
    task: Task,
    /// What the rules above do not reach.
    pub(super) gave_up: bool,
}

/// Flags of up to 512 strings.
pub(super) type Flags = [u64; 8];

/// What is to be searched next.
#[derive(Debug, Clone, Copy)]
enum Round {
    /// Of the stretch of this number, how often it occurs.
    First(usize),
    /// Of the stretch of this number, the repeated matches over its middle.
    Second(usize),
    /// The match that ends at base `end`, of the run that begins at `run`.
    SecondMatch {
        stretch: usize,
        run: usize,
        end: usize,
    },
    /// How far the match reaches that begins a base in front of the last one.
    SecondReach {
        stretch: usize,
        run: usize,
    },
    /// From this base on.
    Third(usize),
    /// How far a frequent match from this base reaches.
    ThirdReach(usize),
    /// The rows of these bases.
    ThirdMatch([usize; 2]),
    Done,
}

/// A search in one direction, while the match occurs `least` times.
#[derive(Debug, Clone, Copy)]
struct Task {
    backwards: bool,
    /// Where it begins: behind its last base backwards, else its first base.
    from: usize,
    /// It goes no further.
    limit: usize,
    least: u64,
    /// How far it has come.
    at: usize,
    rows: Interval,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Table,
    Searching,
}

impl Task {
    fn new(backwards: bool, from: usize, limit: usize, least: u64) -> Self {
        let phase = Phase::Start;
        Self { backwards, from, limit, least, at: from, rows: Interval::default(), phase }
    }
}

impl<'a> SeedSearch<'a> {
    pub(super) fn new(read: &'a Bases, mismatches: Mismatches, flags: Flags) -> Self {
        let mut search = Self {
            read,
            mismatches,
            flags,
            seeds: Vec::with_capacity(16),
            round: Round::First(0),
            task: Task::new(true, 0, 0, 1),
            gave_up: false,
        };
        search.next_task();
        search
    }

    fn stretch(&self, number: usize) -> Option<[usize; 2]> {
        stretches(self.mismatches.get(), self.read.len()).nth(number)
    }

    fn is_repeated(&self, at: usize) -> bool {
        self.flags[at / 64] >> (at % 64) & 1 != 0
    }

    fn all_repeated(&self, [start, end]: [usize; 2]) -> bool {
        (start..=end - SEED_BASES).all(|at| self.is_repeated(at))
    }

    /// Goes on to the next thing that must be searched for.
    fn next_task(&mut self) {
        loop {
            let found_task = match self.round {
                Round::First(number) => self.first_round(number),
                Round::Second(number) => self.second_round(number),
                Round::Third(from) => self.third_round(from),
                _ => true,
            };
            if found_task {
                return;
            }
        }
    }

    fn first_round(&mut self, number: usize) -> bool {
        let Some([start, end]) = self.stretch(number) else {
            self.round = Round::Third(0);
            return false;
        };
        if end - start < SEED_BASES {
            self.round = Round::First(number + 1);
            return false;
        }
        if self.all_repeated([start, end]) {
            self.task = Task::new(true, end, start, 1);
            return true;
        }
        self.seeds.push(Seed { bases: [start, end], rows: None });
        self.round = Round::Second(number);
        false
    }

    /// For a stretch that occurs once.
    fn second_round(&mut self, number: usize) -> bool {
        let Some([start, end]) = self.stretch(number) else {
            self.round = Round::Done;
            return true;
        };
        self.round = Round::First(number + 1);
        if end - start < RESEEDED_BASES {
            return false;
        }
        let middle = start.midpoint(end);
        let last = middle.min(end - SEED_BASES);
        self.search_run(number, last, middle)
    }

    /// Searches the next run of repeated strings over the middle, which begins at `from` or in
    /// front of it.
    fn search_run(&mut self, stretch: usize, from: usize, middle: usize) -> bool {
        let Some([start, end]) = self.stretch(stretch) else { return false };
        let first_over = (middle + 1).saturating_sub(SEED_BASES).max(start);
        let Some(inside) = (first_over..=from).rev().find(|&at| self.is_repeated(at)) else {
            return false;
        };
        let repeated = |at: &usize| self.is_repeated(*at);
        let run = (start..inside).rev().take_while(repeated).last().unwrap_or(inside);
        let last = (inside..=end - SEED_BASES).take_while(repeated).last().unwrap_or(inside);
        let end = last + SEED_BASES;
        self.round = Round::SecondMatch { stretch, run, end };
        self.task = Task::new(true, end, run, 2);
        true
    }

    fn third_round(&mut self, from: usize) -> bool {
        let end = from + THIRD_ROUND_BASES;
        if end > self.read.len() {
            self.round = Round::Done;
            return true;
        }
        let has_mismatch = self.mismatches.get().iter().any(|at| (from..end).contains(at));
        if !has_mismatch {
            if self.is_repeated(from) && self.is_repeated(from + 1) {
                self.task = Task::new(true, end, from, 1);
                return true;
            }
            self.seeds.push(Seed { bases: [from, end], rows: None });
        }
        self.round = Round::Third(end);
        false
    }

    /// What was searched for is found.
    fn finish_task(&mut self) {
        let Task { at, rows, .. } = self.task;
        match self.round {
            Round::First(number) => self.finish_first(number, rows),
            Round::SecondMatch { stretch, run, end } => self.finish_match(stretch, run, [at, end]),
            Round::SecondReach { stretch, run } => self.finish_reach(stretch, run, at),
            Round::Third(from) => {
                let bases = [from, from + THIRD_ROUND_BASES];
                if rows.count < THIRD_ROUND_BELOW {
                    self.seeds.push(Seed::new(bases, rows));
                    self.round = Round::Third(bases[1]);
                } else {
                    self.round = Round::ThirdReach(from);
                    let end = self.stretch_end(from);
                    self.task = Task::new(false, from, end, THIRD_ROUND_BELOW);
                    return;
                }
            }
            Round::ThirdReach(from) => {
                // At its end, a mismatch makes it occur no more, and the read's end ends all.
                if at == self.stretch_end(from) {
                    self.round = Round::Third(at + 1);
                } else {
                    self.round = Round::ThirdMatch([from, at + 1]);
                    self.task = Task::new(true, at + 1, from, 1);
                    return;
                }
            }
            Round::ThirdMatch(bases) => {
                self.seeds.push(Seed::new(bases, rows));
                self.round = Round::Third(bases[1]);
            }
            Round::Second(_) | Round::Done => {}
        }
        if !self.gave_up
            && !matches!(self.round, Round::SecondMatch { .. } | Round::SecondReach { .. })
        {
            self.next_task();
        }
    }

    fn finish_first(&mut self, number: usize, rows: Interval) {
        let Some(bases) = self.stretch(number) else { return };
        self.seeds.push(Seed::new(bases, rows));
        let reseeded = bases[1] - bases[0] >= RESEEDED_BASES;
        if rows.count == 1 {
            self.round = Round::Second(number);
        } else {
            self.gave_up = reseeded && rows.count <= RESEEDED_UP_TO;
            self.round = Round::First(number + 1);
        }
    }

    fn finish_match(&mut self, stretch: usize, run: usize, [start, end]: [usize; 2]) {
        let Some([first, last]) = self.stretch(stretch) else { return };
        let middle = first.midpoint(last);
        if start <= middle && middle < end && end - start >= SEED_BASES {
            self.seeds.push(Seed::new([start, end], self.task.rows));
        }
        if start > run {
            self.round = Round::SecondReach { stretch, run };
            self.task = Task::new(false, start - 1, end - 1, 2);
        } else {
            self.next_run(stretch, run, middle);
        }
    }

    fn finish_reach(&mut self, stretch: usize, run: usize, reach: usize) {
        let Some([first, last]) = self.stretch(stretch) else { return };
        let middle = first.midpoint(last);
        if reach > middle {
            self.round = Round::SecondMatch { stretch, run, end: reach };
            self.task = Task::new(true, reach, run, 2);
        } else {
            self.next_run(stretch, run, middle);
        }
    }

    fn next_run(&mut self, stretch: usize, run: usize, middle: usize) {
        self.round = Round::First(stretch + 1);
        let found = run > 0 && self.search_run(stretch, run - 1, middle);
        if !found {
            self.round = Round::First(stretch + 1);
        }
    }

    fn stretch_end(&self, base: usize) -> usize {
        let mut mismatches = self.mismatches.get().iter();
        mismatches.find(|&&at| at >= base).copied().unwrap_or(self.read.len())
    }

    /// The number of the string that the task starts with, in the direction it goes.
    fn start_number(&self, strings: usize) -> usize {
        if self.task.backwards {
            self.read.number(self.task.from - strings, strings)
        } else {
            self.read.complement_number(self.task.from, strings)
        }
    }
}

impl Search<Tables<'_>> for SeedSearch<'_> {
    fn step(&mut self, tables: &Tables<'_>) -> bool {
        if matches!(self.round, Round::Done) || self.gave_up {
            return false;
        }
        let strings = tables.fast.string_bases();
        match self.task.phase {
            Phase::Start => {
                prefetch(tables.fast.start_entry(self.start_number(strings)));
                self.task.phase = Phase::Table;
                return true;
            }
            Phase::Table => {
                self.task.rows = tables.start(self.start_number(strings));
                let task = &mut self.task;
                task.at = if task.backwards { task.from - strings } else { task.from + strings };
                task.phase = Phase::Searching;
                // A flagged string occurs; if it does not, the tables are not of this index.
                self.gave_up = task.rows.count < task.least;
            }
            Phase::Searching => {
                let task = &mut self.task;
                let base = match task.backwards {
                    true => self.read.base(task.at - 1),
                    false => 3 - self.read.base(task.at),
                };
                let longer = tables.rows.extend(task.rows, base);
                if longer.count < task.least {
                    self.finish_task();
                    return true;
                }
                task.rows = longer;
                task.at = if task.backwards { task.at - 1 } else { task.at + 1 };
            }
        }
        if self.task.at == self.task.limit {
            self.finish_task();
        } else {
            tables.rows.prefetch(self.task.rows);
        }
        true
    }
}
