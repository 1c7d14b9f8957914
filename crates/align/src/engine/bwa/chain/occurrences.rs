//! From the seeds of many reads to their chains: where each seed occurs.

use std::ops::Range;

use super::build::{ChainBuilder, ChainRules};
use super::{Chains, Seed};
use crate::engine::bwa::seed::SeedInterval;
use crate::engine::bwa::settings::Settings;
use crate::index::IndexView;
use crate::search::lockstep::{self, Search};
use crate::search::rows::{Interval, Rows, Walk};

/// The position of a row of the suffix array (`bwt_sa`): a walk to the next sampled row.
#[derive(Debug, Clone, Copy)]
struct Locate {
    walk: Walk,
    position: u64,
}

impl Search<Rows<'_>> for Locate {
    #[inline(always)]
    fn step(&mut self, rows: &Rows<'_>) -> bool {
        match rows.step(&mut self.walk) {
            Some(position) => {
                self.position = position;
                false
            }
            None => {
                rows.prefetch_walk(self.walk);
                true
            }
        }
    }
}

/// Options of chaining.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainLimits {
    /// Diagonals so far apart are of one chain (`-w`).
    pub(crate) band: i64,
    /// Of a seed that occurs more often, only so many positions are taken (`-c`).
    pub(crate) most_occurrences: u64,
}

/// The positions of seeds: rows of the suffix array, looked up together.
#[derive(Debug, Default)]
pub(crate) struct Occurrences {
    searches: Vec<Locate>,
    /// Of one read at a time.
    builder: ChainBuilder,
}

impl Occurrences {
    /// Rows that one read on a diagonal may have looked up.
    const MOST: u64 = 4000;
    /// Rows that a batch may have looked up together, ten times what batches have mostly.
    pub(crate) const MOST_TOGETHER: u64 = 1 << 16;
    /// Memory of a row that is looked up, of the seed that it becomes, and of the chain that this
    /// begins.
    pub(crate) const ROW_BYTES: u64 =
        size_of::<Locate>() as u64 + ChainBuilder::SEED_BYTES + Chains::SEED_BYTES;

    pub(crate) fn clear(&mut self) {
        self.searches.clear();
        // What one read needed more of.
        self.searches.shrink_to(Self::MOST_TOGETHER as usize);
    }

    /// How many rows are looked up.
    pub(crate) fn rows(&self) -> u64 {
        self.searches.len() as u64
    }

    /// Adds the rows of a read's seeds, in bwa's order of seeds, which this makes. False, and none
    /// is added, if there are too many.
    pub(crate) fn add(&mut self, seeds: &mut [SeedInterval], limits: ChainLimits) -> bool {
        seeds.sort_unstable_by_key(|seed| seed.bases);
        let rows = limits.rows_of(seeds);
        if rows > Self::MOST || rows + self.rows() > Self::MOST_TOGETHER {
            return false;
        }
        self.add_all(seeds, limits);
        true
    }

    /// Adds the rows of a read's seeds, which are in bwa's order.
    pub(crate) fn add_all(&mut self, seeds: &[SeedInterval], limits: ChainLimits) {
        for (rows, _) in lookups(seeds, limits).filter(|(_, lookup)| lookup.is_new) {
            let taken = taken(rows.count, limits.most_occurrences);
            let walks = taken.map(|at| Walk::from_row(rows.first + at));
            self.searches.extend(walks.map(|walk| Locate { walk, position: 0 }));
        }
    }

    /// Looks all up.
    pub(crate) fn find(&mut self, rows: &Rows<'_>, active: &mut Vec<usize>) {
        lockstep::run(&mut self.searches, rows, active);
    }

    /// Makes the chains of the next read, in the order in which they were added, and adds them to
    /// `chains`; its diagonal begins at `position`.
    pub(crate) fn chain(
        &mut self,
        next: &mut usize,
        read: SeededRead<'_>,
        index: IndexView<'_>,
        limits: ChainLimits,
        chains: &mut Chains,
    ) {
        let Self { searches, builder } = self;
        builder.clear(Self::MOST_TOGETHER as usize);
        let (first, mut lookups) = (*next, lookups(read.seeds, limits));
        for seed in read.seeds {
            let (read_start, length) =
                (seed.bases[0] as i32, (seed.bases[1] - seed.bases[0]) as i32);
            let mut add = |position: u64| {
                let reference_start = position as i64;
                builder.add(Seed { reference_start, read_start, length, score: length });
            };
            let Some((_, lookup)) = seed.rows.and_then(|_| lookups.next()) else {
                add(read.position + seed.bases[0] as u64);
                continue;
            };
            let places = &searches[first + lookup.places.start..first + lookup.places.end];
            places.iter().for_each(|search| add(search.position));
            *next = (*next).max(first + lookup.places.end);
        }
        let repetitive = repetitive(read.seeds, read.length, limits.most_occurrences);
        let rules = ChainRules { index, length: read.length, band: limits.band };
        builder.build(rules, repetitive, chains);
    }
}

impl ChainLimits {
    /// What chains of reads with these options follow from. `None` where no seed is looked up.
    pub(crate) fn of(settings: &Settings) -> Option<Self> {
        let most_occurrences =
            u64::try_from(settings.most_occurrences).ok().filter(|&most| most > 0)?;
        Some(Self { band: settings.band.into(), most_occurrences })
    }

    /// How many rows are looked up for seeds.
    pub(crate) fn rows_of(&self, seeds: &[SeedInterval]) -> u64 {
        seeds.iter().map(|seed| seed.occurrences().min(self.most_occurrences)).sum()
    }
}

/// Where the places of a seed are among those that are looked up for its read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lookup {
    places: Range<usize>,
    /// They are not those of a seed before, or some of these.
    is_new: bool,
}

/// The rows of a read's seeds, which are in bwa's order, and how they are looked up. Of seeds that
/// begin at one base the shortest comes first; the rows of the others are among its rows.
fn lookups(
    seeds: &[SeedInterval],
    limits: ChainLimits,
) -> impl Iterator<Item = (Interval, Lookup)> {
    let most = limits.most_occurrences;
    let mut next = 0;
    // The start of the last seed that had all of its rows looked up, its rows and places.
    let mut wider: Option<(usize, Interval, usize)> = None;
    let rows = seeds.iter().filter_map(|seed| Some((seed.bases[0], seed.rows?)));
    rows.map(move |(start, rows)| {
        let shared = wider.filter(|(of, wider, _)| *of == start && wider.contains(rows));
        let count = taken(rows.count, most).len();
        let (first, is_new) = match shared {
            Some((_, wider, at)) => (at + (rows.first - wider.first) as usize, false),
            None => (next, true),
        };
        if is_new {
            next += count;
            wider = (rows.count <= most).then_some((start, rows, first));
        }
        (rows, Lookup { places: first..first + count, is_new })
    })
}

/// A read whose seeds are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeededRead<'a> {
    pub(crate) seeds: &'a [SeedInterval],
    pub(crate) length: usize,
    /// Where its diagonal begins, if it has one.
    pub(crate) position: u64,
}

/// Which rows of a seed bwa takes: of one that occurs more often than `most`, every so-manieth, and
/// no more than `most`.
fn taken(occurrences: u64, most: u64) -> impl ExactSizeIterator<Item = u64> {
    let step = (occurrences / most).max(1);
    let count = occurrences.div_ceil(step).min(most) as usize;
    (0..count).map(move |at| at as u64 * step)
}

/// Share of the read's bases in seeds, in order, that occur more than `most` times.
fn repetitive(seeds: &[SeedInterval], length: usize, most: u64) -> f32 {
    let (mut covered, mut open) = (0, [0, 0]);
    for seed in seeds.iter().filter(|seed| seed.occurrences() > most) {
        let [start, end] = seed.bases;
        if start > open[1] {
            covered += open[1] - open[0];
            open = seed.bases;
        } else {
            open[1] = open[1].max(end);
        }
    }
    (covered + open[1] - open[0]) as f32 / length as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As bwa counts them.
    fn taken_in_turn(occurrences: u64, most: u64) -> Vec<u64> {
        let step = if occurrences > most { occurrences / most } else { 1 };
        let (mut rows, mut row) = (Vec::new(), 0);
        while row < occurrences && (rows.len() as u64) < most {
            rows.push(row);
            row += step;
        }
        rows
    }

    #[test]
    fn of_frequent_seeds_rows_are_taken_as_bwa_does() {
        for most in 1..8 {
            for occurrences in 0..80 {
                let found: Vec<u64> = taken(occurrences, most).collect();
                assert_eq!(found, taken_in_turn(occurrences, most), "{occurrences} of {most}");
            }
        }
        assert_eq!(taken(1001, 500).last(), Some(998));
    }

    fn seed(bases: [usize; 2], count: u64) -> SeedInterval {
        SeedInterval { bases, rows: Some(Interval { first: 0, count }) }
    }

    #[test]
    fn rows_of_seeds_that_begin_at_one_base_are_looked_up_once() {
        let t = |seeds: &[([usize; 2], [u64; 2])], expected: &[(Range<usize>, bool)]| {
            let seed = |&(bases, [first, count]): &([usize; 2], [u64; 2])| {
                let rows = (count > 0).then_some(Interval { first, count });
                SeedInterval { bases, rows }
            };
            let seeds: Vec<_> = seeds.iter().map(seed).collect();
            let limits = ChainLimits { band: 100, most_occurrences: 10 };
            let found: Vec<_> =
                lookups(&seeds, limits).map(|(_, lookup)| (lookup.places, lookup.is_new)).collect();
            assert_eq!(found, expected, "{seeds:?}");
        };
        t(&[([0, 20], [50, 4]), ([0, 30], [51, 3])], &[(0..4, true), (1..4, false)]);
        t(&[([0, 20], [50, 4]), ([0, 20], [50, 4])], &[(0..4, true), (0..4, false)]);
        t(&[([0, 20], [50, 4]), ([1, 30], [51, 3])], &[(0..4, true), (4..7, true)]);
        // What no search finds: rows that are not among those of the shorter one.
        t(&[([0, 20], [50, 4]), ([0, 30], [51, 4])], &[(0..4, true), (4..8, true)]);
        t(&[([0, 20], [50, 4]), ([0, 30], [49, 2])], &[(0..4, true), (4..6, true)]);
        // Of one that is too frequent not all rows are there.
        t(&[([0, 20], [50, 10]), ([0, 30], [52, 3])], &[(0..10, true), (2..5, false)]);
        t(&[([0, 20], [50, 11]), ([0, 30], [52, 3])], &[(0..10, true), (10..13, true)]);
        // One on the diagonal alone has no rows, and one between others changes nothing.
        t(
            &[([0, 20], [50, 4]), ([0, 25], [50, 0]), ([0, 30], [53, 1])],
            &[(0..4, true), (3..4, false)],
        );
        let three = [([0, 20], [50, 4]), ([0, 30], [51, 3]), ([0, 40], [53, 1])];
        t(&three, &[(0..4, true), (1..4, false), (3..4, false)]);
    }

    proptest! {
        #[test]
        fn what_frequent_seeds_cover_counts_once(
            mut seeds in proptest::collection::vec((0_usize..90, 1_usize..11, 498_u64..503), 0..6)
        ) {
            seeds.sort_unstable();
            let covers = |at: &usize| {
                let is_frequent = |&&(_, _, count): &&(usize, usize, u64)| count > 500;
                seeds.iter().filter(is_frequent).any(|s| (s.0..s.0 + s.1).contains(at))
            };
            let covered = (0..100).filter(covers).count();
            let of_text: Vec<_> = seeds.iter().map(|s| seed([s.0, s.0 + s.1], s.2)).collect();
            prop_assert_eq!(repetitive(&of_text, 100, 500), covered as f32 / 100.0);
        }
    }
}
