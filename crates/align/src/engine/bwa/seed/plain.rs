//! bwa's search for seeds by the index alone: where there is no table of strings, or seeds have
//! another least length than those of the table (`mem_collect_intv`, `bwt_smem1a`,
//! `bwt_seed_strategy1`).
//!
//! From a base on a match is made longer forwards as long as it occurs often enough; each length at
//! which it occurs less often than before is kept. These are made longer backwards, the longest
//! first, and what cannot go on is a maximal match. One step is one look into the index, so that
//! many reads are searched in turn.

use crate::certified::Seed;
use crate::search::lockstep::Search;
use crate::search::rows::{Rows, TwoWay};

/// What bwa's three rounds ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct SeedOptions {
    /// Bases of the shortest seed (`-k`).
    pub(in super::super) least_bases: usize,
    /// Seeds of so many bases are looked into again (`-r`) ...
    pub(in super::super) reseeded_bases: usize,
    /// ... if they occur no more often than this.
    pub(in super::super) reseeded_up_to: u64,
    /// A match that occurs less often than this is a seed of round 3 (`-y`); 0 for no such round.
    pub(in super::super) third_below: u64,
}

/// A match that begins at the base that was looked at last.
#[derive(Debug, Clone, Copy)]
struct Partial {
    rows: TwoWay,
    /// Behind its last base.
    end: usize,
}

/// What is searched for.
#[derive(Debug, Clone, Copy)]
enum Round {
    /// Maximal matches from this base on.
    First(usize),
    /// Maximal matches over the middle of the seed of this number.
    Second(usize),
    /// The shortest rare match from this base on.
    Third(usize),
    Done,
}

/// What the next step does.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Begins what the round asks for.
    Begin,
    /// Makes the match longer by the base behind it.
    Forwards(Partial),
    /// Makes match `number` of those that are left longer by base `base`.
    Backwards { base: usize, number: usize },
    /// As forwards, of round 3.
    Third(Partial),
}

/// The search for one read's seeds.
#[derive(Debug)]
pub(super) struct PlainSearch<'a> {
    codes: &'a [u8],
    options: SeedOptions,
    /// What is found, in no order.
    seeds: &'a mut Vec<Seed>,
    /// How many of them are of round 1, once that is over.
    first_seeds: usize,
    round: Round,
    step: Step,
    /// How often a match occurs at the least.
    least: u64,
    /// Matches that were not made longer in vain, the longest first.
    left: Vec<Partial>,
    /// Those of them that are longer by one base.
    longer: Vec<Partial>,
    /// Where the match that was found last for this start begins.
    last_start: Option<usize>,
}

impl<'a> PlainSearch<'a> {
    /// Of a read's bases as codes. `seeds` gets what is found, in place of what was there.
    pub(super) fn new(codes: &'a [u8], options: SeedOptions, seeds: &'a mut Vec<Seed>) -> Self {
        seeds.clear();
        let is_long = codes.len() >= options.least_bases;
        Self {
            codes,
            options,
            seeds,
            first_seeds: 0,
            round: if is_long { Round::First(0) } else { Round::Done },
            step: Step::Begin,
            least: 1,
            left: Vec::new(),
            longer: Vec::new(),
            last_start: None,
        }
    }

    /// The base at a place, if it is one.
    fn base(&self, at: usize) -> Option<usize> {
        self.codes.get(at).filter(|&&code| code < 4).map(|&code| code.into())
    }

    /// Begins the next task. False when all is found.
    fn begin(&mut self, rows: &Rows<'_>) -> bool {
        loop {
            match self.round {
                Round::First(at) if at >= self.codes.len() => {
                    self.first_seeds = self.seeds.len();
                    self.round = Round::Second(0);
                }
                Round::First(at) => {
                    if self.begin_matches(at, 1, rows) {
                        return true;
                    }
                    self.round = Round::First(at + 1);
                }
                Round::Second(number) if number == self.first_seeds => {
                    let wanted = self.options.third_below > 0;
                    self.round = if wanted { Round::Third(0) } else { Round::Done };
                }
                Round::Second(number) => {
                    let seed = self.seeds[number];
                    let [start, end] = seed.bases;
                    let is_long = end - start >= self.options.reseeded_bases;
                    let is_rare = seed.occurrences() <= self.options.reseeded_up_to;
                    let middle = start.midpoint(end);
                    if is_long
                        && is_rare
                        && self.begin_matches(middle, seed.occurrences() + 1, rows)
                    {
                        return true;
                    }
                    self.round = Round::Second(number + 1);
                }
                Round::Third(at) if at >= self.codes.len() => self.round = Round::Done,
                Round::Third(at) => {
                    if let Some(base) = self.base(at) {
                        let rows = rows.of_base(base);
                        self.step = Step::Third(Partial { rows, end: at + 1 });
                        return true;
                    }
                    self.round = Round::Third(at + 1);
                }
                Round::Done => return false,
            }
        }
    }

    /// Begins the search for maximal matches over base `at`, if it is one.
    fn begin_matches(&mut self, at: usize, least: u64, rows: &Rows<'_>) -> bool {
        let Some(base) = self.base(at) else { return false };
        (self.least, self.last_start) = (least, None);
        self.left.clear();
        self.step = Step::Forwards(Partial { rows: rows.of_base(base), end: at + 1 });
        true
    }

    /// The base from which matches go forwards.
    fn start(&self) -> usize {
        match self.round {
            Round::First(at) | Round::Third(at) => at,
            Round::Second(number) => {
                let [start, end] = self.seeds[number].bases;
                start.midpoint(end)
            }
            Round::Done => 0,
        }
    }

    fn forwards(&mut self, of: Partial, rows: &Rows<'_>) {
        let Some(base) = self.base(of.end) else {
            self.left.push(of);
            return self.turn_back(rows);
        };
        let longer = rows.extend_forwards(of.rows, base);
        if longer.rows.count != of.rows.rows.count {
            self.left.push(of);
            if longer.rows.count < self.least {
                return self.turn_back(rows);
            }
        }
        rows.prefetch(longer.turned());
        self.step = Step::Forwards(Partial { rows: longer, end: of.end + 1 });
    }

    /// No match goes on forwards: from now on backwards, the longest first.
    fn turn_back(&mut self, rows: &Rows<'_>) {
        self.left.reverse();
        let start = self.start();
        let reached = self.left[0].end;
        if let Round::First(_) = self.round {
            self.round = Round::First(reached);
        }
        self.longer.clear();
        self.go_back(start, rows);
    }

    /// Goes on to the base in front of `from`.
    fn go_back(&mut self, from: usize, rows: &Rows<'_>) {
        match from.checked_sub(1).filter(|&at| self.base(at).is_some()) {
            Some(base) => {
                rows.prefetch(self.left[0].rows.rows);
                self.step = Step::Backwards { base, number: 0 };
            }
            None => {
                // The longest cannot go on, and contains the others.
                self.take_match(from, self.left[0]);
                self.end_matches();
            }
        }
    }

    fn backwards(&mut self, at: usize, number: usize, rows: &Rows<'_>) {
        let of = self.left[number];
        // `go_back` has seen that there is a base.
        let longer = rows.extend_backwards(of.rows, self.base(at).unwrap_or(0));
        if longer.rows.count < self.least {
            if self.longer.is_empty() {
                self.take_match(at + 1, of);
            }
        } else if self.longer.last().is_none_or(|it| it.rows.rows.count != longer.rows.count) {
            self.longer.push(Partial { rows: longer, end: of.end });
        }
        match self.left.get(number + 1) {
            Some(next) => {
                rows.prefetch(next.rows.rows);
                self.step = Step::Backwards { base: at, number: number + 1 };
            }
            None if self.longer.is_empty() => self.end_matches(),
            None => {
                std::mem::swap(&mut self.left, &mut self.longer);
                self.longer.clear();
                self.go_back(at, rows);
            }
        }
    }

    /// A match from `start` on that does not go on backwards, if it lies in no other.
    fn take_match(&mut self, start: usize, of: Partial) {
        if self.last_start.is_some_and(|last| start >= last) {
            return;
        }
        self.last_start = Some(start);
        if of.end - start >= self.options.least_bases {
            self.seeds.push(Seed { bases: [start, of.end], rows: Some(of.rows.rows) });
        }
    }

    fn end_matches(&mut self) {
        if let Round::Second(number) = self.round {
            self.round = Round::Second(number + 1);
        }
        self.step = Step::Begin;
    }

    fn third(&mut self, of: Partial, rows: &Rows<'_>) {
        let start = self.start();
        let Some(base) = self.base(of.end) else {
            self.round = Round::Third(of.end + 1);
            self.step = Step::Begin;
            return;
        };
        let longer = rows.extend_forwards(of.rows, base);
        let end = of.end + 1;
        if longer.rows.count < self.options.third_below
            && of.end - start >= self.options.least_bases
        {
            if longer.rows.count > 0 {
                self.seeds.push(Seed { bases: [start, end], rows: Some(longer.rows) });
            }
            self.round = Round::Third(end);
            self.step = Step::Begin;
            return;
        }
        rows.prefetch(longer.turned());
        self.step = Step::Third(Partial { rows: longer, end });
    }
}

impl Search<Rows<'_>> for PlainSearch<'_> {
    #[inline(always)]
    fn step(&mut self, rows: &Rows<'_>) -> bool {
        match self.step {
            Step::Begin => return self.begin(rows),
            Step::Forwards(of) => self.forwards(of, rows),
            Step::Backwards { base, number } => self.backwards(base, number, rows),
            Step::Third(of) => self.third(of, rows),
        }
        true
    }
}
