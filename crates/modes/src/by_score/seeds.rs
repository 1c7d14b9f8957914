//! Seeds: strings of a read that occur in the genome, and their places.
//!
//! A seed begins at its end: the rows of its last bases are in a table, and it grows to the
//! left until it is long enough and rare enough, or until it would not occur. One that would
//! not occur any longer keeps what did. So a seed is no longer than it has to be, and its rows
//! are all places where that much of the read is: a second placement of the read is found by
//! the same seeds. Of a frequent seed some rows are drawn by the read's number.

use crate::chance::{drawn_rows, hash};
use crate::indexed::Tables;
use crate::query::{LONGEST_READ, Query, UNKNOWN};
use seqloom_align::search::lockstep::{self, Search};
use seqloom_align::search::{Interval, Rows, Walk, prefetch};

/// A seed with so many rows is rare. A read all of whose seeds are is placed as it is, if that is
/// not poor; one of frequent seeds is searched for once more unless it is perfect.
const RARE_ROWS: u64 = 2;

/// Which seeds are of use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeedRules {
    /// Least bases of a seed.
    pub(crate) least_bases: u16,
    /// Bases that are enough for a seed with few rows.
    pub(crate) enough_bases: u16,
    /// More rows than these, too, are none, of a seed shorter than `enough_bases`.
    pub(crate) rows_of_short: u32,
}

/// What seeds are searched in.
pub(crate) struct SeedContext<'a> {
    pub(crate) tables: Tables<'a>,
    pub(crate) queries: &'a [Query],
    pub(crate) rules: SeedRules,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchState {
    New,
    /// This string of the table.
    Looked(u32),
    Growing,
    Done,
}

/// A seed that grows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed {
    interval: Interval,
    query: u32,
    /// Its first base.
    at: u16,
    /// One past its last base.
    end: u16,
    /// Most rows that are looked at; more are none, of a seed that is not long enough.
    rows: u32,
    state: SearchState,
}

impl Seed {
    pub(crate) fn new(query: usize, end: usize, rows: u32) -> Self {
        let interval = Interval::default();
        let end = end as u16;
        Self { interval, query: query as u32, at: end, end, rows, state: SearchState::New }
    }

    fn bases(&self) -> u16 {
        self.end - self.at
    }

    /// The string of the table that it ends with.
    #[inline(always)]
    fn begin(&mut self, context: &SeedContext<'_>) -> bool {
        let codes = context.queries[self.query as usize].codes();
        let from = usize::from(self.end).checked_sub(context.tables.kmer_table.kmer_bases());
        let string = from.map(|from| &codes[from..usize::from(self.end)]);
        let Some(string) = string.filter(|string| !string.contains(&UNKNOWN)) else {
            self.state = SearchState::Done;
            return false;
        };
        let number = string.iter().fold(0, |n, &code| n << 2 | u32::from(code));
        prefetch(context.tables.kmer_table.entry(number as usize));
        self.state = SearchState::Looked(number);
        true
    }

    #[inline(always)]
    fn look(&mut self, context: &SeedContext<'_>, number: u32) -> bool {
        self.interval = Interval::of_kmer(context.tables.kmer_table, number as usize);
        self.at = self.end - context.tables.kmer_table.kmer_bases() as u16;
        self.state = if self.interval.count > 0 { SearchState::Growing } else { SearchState::Done };
        context.tables.rows.prefetch(self.interval);
        self.interval.count > 0
    }

    #[inline(always)]
    fn grow(&mut self, context: &SeedContext<'_>) -> bool {
        let (rules, bases) = (&context.rules, self.bases());
        let is_enough = match self.interval.count {
            1 => bases >= rules.least_bases,
            count => bases >= rules.enough_bases && count <= self.rows.into(),
        };
        let codes = context.queries[self.query as usize].codes();
        let next = usize::from(self.at).checked_sub(1).map(|at| codes[at]);
        if let Some(code) = next.filter(|&code| !is_enough && code != UNKNOWN) {
            let longer = context.tables.rows.extend(self.interval, usize::from(code));
            if longer.count > 0 {
                self.interval = longer;
                self.at -= 1;
                context.tables.rows.prefetch(longer);
                return true;
            }
        }
        self.state = SearchState::Done;
        false
    }

    /// Its rows, where they are of use.
    fn rows(&self, rules: &SeedRules) -> Interval {
        let is_long = self.bases() >= rules.enough_bases;
        let are_few = self.interval.count <= self.rows.min(rules.rows_of_short).into();
        let is_of_use = self.bases() >= rules.least_bases && (is_long || are_few);
        if is_of_use { self.interval } else { Interval::default() }
    }
}

impl Search<SeedContext<'_>> for Seed {
    #[inline(always)]
    fn step(&mut self, context: &SeedContext<'_>) -> bool {
        match self.state {
            SearchState::New => self.begin(context),
            SearchState::Looked(number) => self.look(context, number),
            SearchState::Growing => self.grow(context),
            SearchState::Done => false,
        }
    }
}

/// A place where a seed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    /// Number of the read in its group.
    pub(crate) query: u32,
    /// The place in `T` where the read's first base would be; it may be before all.
    pub(crate) start: i64,
    /// The seed's first base in the read, and one past its last.
    pub(crate) from: u16,
    pub(crate) end: u16,
    /// The seed was rare without being made longer than is enough.
    pub(crate) is_rare: bool,
}

/// Bits of a [`Hit`] as a number: of its first base and of the one after its last. Places have 39
/// bits (`index::layout`), and one more that they are counted from before all; whether the seed is
/// rare has one.
const BASE_BITS: u32 = 11;
/// Reads are no longer than this.
const IN_FRONT: i64 = 1 << BASE_BITS;
const _: () = assert!(LONGEST_READ < 1 << BASE_BITS && 40 + 2 * BASE_BITS < u64::BITS);

impl Hit {
    /// All but the read as a number; the order of numbers is that of hits of a read.
    #[inline(always)]
    fn key(&self) -> u64 {
        let Self { start, from, end, is_rare, .. } = *self;
        let key = (start + IN_FRONT) as u64;
        let key = (key << BASE_BITS | u64::from(from)) << BASE_BITS | u64::from(end);
        key << 1 | u64::from(is_rare)
    }

    /// What has this key.
    #[inline(always)]
    fn of_key(query: u32, key: u64) -> Self {
        let base = |bits: u64| (bits & ((1 << BASE_BITS) - 1)) as u16;
        let (is_rare, key) = (key & 1 == 1, key >> 1);
        let (end, key) = (base(key), key >> BASE_BITS);
        let (from, key) = (base(key), key >> BASE_BITS);
        Self { query, start: key as i64 - IN_FRONT, from, end, is_rare }
    }
}

/// A row on its way to its place.
#[derive(Debug, Clone, Copy)]
struct Located {
    walk: Walk,
    place: Option<u64>,
    query: u32,
    from: u16,
    end: u16,
    is_rare: bool,
}

impl Located {
    /// Where it is, if that is known.
    fn hit(&self) -> Option<Hit> {
        let Self { query, from, end, is_rare, .. } = *self;
        let start = self.place? as i64 - i64::from(from);
        Some(Hit { query, start, from, end, is_rare })
    }
}

impl Search<Rows<'_>> for Located {
    #[inline(always)]
    fn step(&mut self, rows: &Rows<'_>) -> bool {
        self.place = rows.step(&mut self.walk);
        if self.place.is_none() {
            rows.prefetch_walk(self.walk);
        }
        self.place.is_none()
    }
}

/// Working memory of the search for seeds.
#[derive(Debug, Default)]
pub(crate) struct SeedScratch {
    pub(crate) seeds: Vec<Seed>,
    located: Vec<Located>,
    active: Vec<usize>,
    /// What was found, by read, then place.
    pub(crate) hits: Vec<Hit>,
    /// What had been found before.
    before: Vec<Hit>,
    /// Hits of one read.
    keys: Vec<u64>,
}

impl SeedScratch {
    /// What was found of read `number` of the group.
    pub(crate) fn hits_of(&self, number: usize) -> &[Hit] {
        let before = |number: usize| move |hit: &Hit| (hit.query as usize) < number;
        let from = self.hits.partition_point(before(number));
        &self.hits[from..self.hits.partition_point(before(number + 1))]
    }

    /// Has all seeds grow, and adds their places to `hits`. Of each read there is a number by which
    /// rows are drawn.
    pub(crate) fn find(&mut self, context: &SeedContext<'_>, number_of: impl Fn(u32) -> u64) {
        lockstep::run(&mut self.seeds, context, &mut self.active);
        self.located.clear();
        for seed in self.seeds.drain(..) {
            let interval = seed.rows(&context.rules);
            let (query, from, end) = (seed.query, seed.at, seed.end);
            let are_all = interval.count <= seed.rows.into();
            let is_rare = interval.count <= RARE_ROWS && seed.bases() <= context.rules.enough_bases;
            let located = |row| {
                let walk = Walk::from_row(row);
                Located { walk, place: None, query, from, end, is_rare }
            };
            if are_all {
                let rows = interval.first..interval.first + interval.count;
                self.located.extend(rows.map(located));
            } else {
                let number = number_of(query);
                let chance = |which: u64| hash(number, which << 16 | u64::from(end));
                let rows = drawn_rows(chance, interval, seed.rows);
                self.located.extend(rows.map(located));
            }
        }
        lockstep::run(&mut self.located, &context.tables.rows, &mut self.active);
        self.put_in_order();
    }

    /// Adds what was located to the hits.
    fn put_in_order(&mut self) {
        let Self { located, hits, before, keys, .. } = self;
        // Seeds came by read.
        debug_assert!(located.is_sorted_by_key(|it| it.query));
        std::mem::swap(hits, before);
        hits.clear();
        let mut before = before.iter().peekable();
        for of_read in located.chunk_by(|one, other| one.query == other.query) {
            let query = of_read[0].query;
            while let Some(hit) = before.next_if(|hit| hit.query < query) {
                hits.push(*hit);
            }
            keys.clear();
            while let Some(hit) = before.next_if(|hit| hit.query == query) {
                keys.push(hit.key());
            }
            keys.extend(of_read.iter().filter_map(|it| Some(it.hit()?.key())));
            keys.sort_unstable();
            keys.dedup();
            hits.extend(keys.iter().map(|&key| Hit::of_key(query, key)));
        }
        hits.extend(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_of_the_longest_read_at_the_last_place_is_what_its_key_says() {
        let last = LONGEST_READ as u16;
        let starts = [-i64::from(last), -1, 0, (1 << 39) - 1];
        let mut hits = Vec::new();
        for start in starts {
            for (from, end) in [(0, 1), (0, last), (last - 1, last)] {
                for is_rare in [false, true] {
                    hits.push(Hit { query: 7, start, from, end, is_rare });
                }
            }
        }
        for hit in &hits {
            assert_eq!(Hit::of_key(7, hit.key()), *hit);
        }
        assert!(hits.is_sorted());
        assert!(hits.iter().map(Hit::key).is_sorted());
    }
}
