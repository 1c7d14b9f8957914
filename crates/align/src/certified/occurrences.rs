//! From the seeds of many reads to their chains: where each seed occurs.

use super::chains::{Chains, PlacedSeed};
use super::lockstep::{self, Search};
use super::rows::{Rows, Walk};
use super::seeds::Seed;
use super::{LoadedIndex, Scoring};

/// A row on its way to its place.
#[derive(Debug, Clone, Copy)]
struct RowSearch {
    walk: Walk,
    place: u64,
}

impl Search<Rows<'_>> for RowSearch {
    fn step(&mut self, rows: &Rows<'_>) -> bool {
        match rows.step(&mut self.walk) {
            Some(place) => {
                self.place = place;
                false
            }
            None => {
                rows.prefetch_walk(self.walk);
                true
            }
        }
    }
}

/// The places of rows, looked up together.
#[derive(Debug, Default)]
pub(super) struct Occurrences {
    searches: Vec<RowSearch>,
}

impl Occurrences {
    /// Rows that one read may have looked up.
    const MOST: u64 = 4000;
    /// Rows that a batch may have looked up together: 3 MB of memory.
    const MOST_TOGETHER: u64 = 1 << 17;

    pub(super) fn clear(&mut self) {
        self.searches.clear();
    }

    /// Adds the rows of a read's seeds, in bwa's order of seeds, which this makes. False, and none
    /// is added, if there are too many.
    pub(super) fn add(&mut self, seeds: &mut [Seed], scoring: &Scoring) -> bool {
        seeds.sort_unstable_by_key(|seed| seed.bases);
        let most = scoring.most_occurrences;
        let rows = seeds.iter().map(|seed| seed.occurrences().min(most)).sum::<u64>();
        if rows > Self::MOST || rows + self.searches.len() as u64 > Self::MOST_TOGETHER {
            return false;
        }
        for rows in seeds.iter().filter_map(|seed| seed.rows) {
            let step = step(rows.count, most);
            let found = (0..rows.count).step_by(step as usize).take(most as usize);
            self.searches.extend(
                found.map(|at| RowSearch {
                    walk: Walk { row: rows.first + at, steps: 0 },
                    place: 0,
                }),
            );
        }
        true
    }

    /// Looks all up.
    pub(super) fn find(&mut self, rows: &Rows<'_>, active: &mut Vec<usize>) {
        lockstep::run(&mut self.searches, rows, active);
    }

    /// Makes the chains of the next read, in the order in which they were added; its diagonal
    /// begins at `place`. False if they are left to bwa.
    pub(super) fn chain(
        &self,
        next: &mut usize,
        read: ChainedRead<'_>,
        index: LoadedIndex<'_>,
        scoring: &Scoring,
        chains: &mut Chains,
    ) -> bool {
        chains.clear();
        chains.repetitive = repetitive(read.seeds, read.length, scoring.most_occurrences);
        let (band, mut in_order) = (i64::from(scoring.band), true);
        for seed in read.seeds {
            let occurrences = seed.occurrences();
            let mut add = |place: u64| {
                in_order &= chains.add(
                    index,
                    band,
                    PlacedSeed {
                        place: place as i64,
                        base: seed.bases[0] as i32,
                        length: (seed.bases[1] - seed.bases[0]) as i32,
                        occurrences: occurrences as i32,
                    },
                );
            };
            if seed.rows.is_none() {
                add(read.place + seed.bases[0] as u64);
                continue;
            }
            let step = step(occurrences, scoring.most_occurrences);
            let count = occurrences.div_ceil(step).min(scoring.most_occurrences) as usize;
            self.searches[*next..*next + count].iter().for_each(|search| add(search.place));
            *next += count;
        }
        in_order
    }
}

/// A read whose seeds are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainedRead<'a> {
    pub(super) seeds: &'a [Seed],
    pub(super) length: usize,
    pub(super) place: u64,
}

/// Of the rows of a seed that occurs more often than `most`, bwa takes every so-manieth.
fn step(occurrences: u64, most: u64) -> u64 {
    if occurrences > most { occurrences / most } else { 1 }
}

/// Share of the read's bases in seeds, in order, that occur more than `most` times.
fn repetitive(seeds: &[Seed], length: usize, most: u64) -> f32 {
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
