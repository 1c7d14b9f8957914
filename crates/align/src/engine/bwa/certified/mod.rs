//! bwa's answer read off the genome, for reads of which that can be shown.
//!
//! Most reads are in one place with few mismatches, and all of bwa's seeds of such a read are
//! there and nowhere else. Then bwa finds one chain and extends it to one region, which follows
//! from the mismatches alone. [`CertifiedPath::certify`] finds the place, shows that this is such
//! a read, and hands out the region; the engine takes it in place of its own search, and pairs,
//! scores and writes it as ever. Any other read is the engine's from the start.
//!
//! What is shown, and why it is enough, is with each rule in [`rules`]; `T` is the forward
//! strand followed by its reverse complement. Per read, many at a time:
//!
//! 1. `place`: a segment that occurs once gives the place.
//! 2. `text`: the mismatches there; no more than [`MOST_MISMATCHES`], no other letter than ACGT.
//! 3. `rules`: no gap pays, the extension takes in all seeds, and they are unique, by the table of
//!    repeated strings.
//! 4. `absence`: no string over a mismatch occurs.
//!
//! If only 3 or 4 fail, `matches` and `seeds` find bwa's seeds of the read, and `occurrences` its
//! chains, which the engine extends. The engine's search for other reads is by the same modules.

mod absence;
mod main_chain;
mod matches;
mod occurrences;
mod place;
mod reach;
mod regions;
mod report;
mod rules;
mod seeds;
mod work;

use std::sync::Arc;

use absence::AbsenceSearch;
use main_chain::main_chain;
pub(crate) use matches::{KeptMatches, Match, MatchSearch, Strings};
pub(crate) use occurrences::{ChainLimits, ChainedRead, Occurrences};
pub use report::{CertifiedReads, Verdict};

pub(crate) use rules::Scoring;
use seeds::Flags;
pub(crate) use seeds::{OnDiagonal, Seed, SeedOptions, SeedSearch};
pub(crate) use work::Work;

use crate::cohort::BATCH_READS;
use crate::engine::Read;
use crate::engine::bwa::chain::build::Chains;
use crate::engine::bwa::order::tree::Tree;

use crate::index::{FastTable, IndexParts, IndexView, SEED_BASES, Starts};
use crate::search::lockstep;
use crate::search::rows::{Interval, Rows};

/// Reads of so many bases are tried. Shorter ones have no segment to find a place by; in longer
/// ones bwa looks at a chain's seeds once more (from 700 bases on).
const LENGTHS: std::ops::RangeInclusive<usize> = 40..=500;
/// More mismatches leave too little to show anything by.
const MOST_MISMATCHES: usize = 6;
/// Most memory that a worker's searches take, but for a single read whose seeds occur more often
/// than rows are looked up together. Rows are looked up for a batch or less at a time; their
/// chains, in vectors that may have grown to twice what is in them, are of that batch, or of
/// earlier ones and few. The tree has the chains of one read. The searches themselves have half a
/// kilobyte a read, and those for reads of which nothing is known three times as much.
pub const WORKER_BYTES: u64 =
    2 * Occurrences::MOST_TOGETHER * (Occurrences::ROW_BYTES + Chains::SEED_BYTES)
        + Occurrences::MOST_TOGETHER * Tree::CHAIN_BYTES
        + BATCH_READS as u64 * (Chains::KEPT_SEEDS as u64 * Chains::SEED_BYTES + 2048);

/// The one region of a read, as bwa finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// Where its first base would be in `T`.
    pub(crate) place: u64,
    /// Number of the sequence.
    pub(crate) sequence: usize,
    /// Bases of the read in the region: the first, and one past the last.
    pub(crate) bases: [usize; 2],
    /// Best score of the extension.
    pub(crate) best: i32,
    /// Score of the region.
    pub(crate) taken: i32,
    /// Bases of the seed that is extended.
    pub(crate) seed_bases: usize,
    /// Its first base in the read.
    pub(crate) seed_start: usize,
    pub(crate) mismatches: Mismatches,
}

/// A read whose chains are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chained {
    /// The read's number.
    pub(crate) number: usize,
    /// The chain on the read's diagonal, if its region is known and is of the whole read.
    pub(crate) main: Option<MainChain>,
}

/// A chain with its region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MainChain {
    /// Its number among the chains.
    pub(crate) number: usize,
    pub(crate) region: Known,
}

/// The places of a read's mismatches, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Mismatches {
    places: [usize; MOST_MISMATCHES],
    count: usize,
}

impl Mismatches {
    fn of(found: &[usize]) -> Self {
        let mut places = [0; MOST_MISMATCHES];
        places[..found.len()].copy_from_slice(found);
        Self { places, count: found.len() }
    }

    fn get(&self) -> &[usize] {
        &self.places[..self.count]
    }
}

/// A read that is on a diagonal, with seeds elsewhere too.
#[derive(Debug, Clone, Copy)]
struct Diagonal {
    number: usize,
    place: u64,
    mismatches: Mismatches,
    /// The region on the diagonal, if it is known.
    region: Option<Known>,
}

/// The path, for one genome and one set of scores.
#[derive(Debug)]
pub(crate) struct CertifiedPath {
    table: Arc<FastTable>,
    scoring: Scoring,
    reads: Arc<CertifiedReads>,
}

/// What the searches read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) rows: Rows<'a>,
    /// Where they begin.
    starts: &'a Starts,
}

impl<'a> Tables<'a> {
    pub(crate) fn new(parts: IndexParts<'a>, starts: &'a Starts) -> Self {
        Self { rows: Rows::new(parts), starts }
    }

    /// The rows of string `number`.
    #[inline]
    fn start(&self, number: usize) -> Interval {
        Interval::of_string(self.starts, number)
    }
}

impl CertifiedPath {
    /// `reads` counts what becomes of the reads.
    pub(crate) fn new(table: Arc<FastTable>, scoring: Scoring, reads: Arc<CertifiedReads>) -> Self {
        Self { table, scoring, reads }
    }

    /// Finds the regions of those reads of a batch of which they can be shown; see
    /// [`Work::known`].
    pub(crate) fn certify<'r>(
        &self,
        index: IndexView<'_>,
        reads: impl ExactSizeIterator<Item = &'r Read<'r>>,
        work: &mut Work,
    ) {
        let count = reads.len();
        work.know_nothing(count);
        if work.pause > 0 {
            work.pause -= 1;
            self.reads.add_untried(count);
            return;
        }
        work.take(reads);
        let tables = Tables::new(index.parts, self.table.starts());
        for attempt in 0..place::TRIES {
            self.find_places(index, tables, work, attempt);
        }
        self.show_absence(tables, work);
        self.chain(index, tables, work);
        work.weigh_gain();
        self.reads.add(&work.verdicts);
    }

    /// Finds the seeds and chains of the reads that are on a diagonal and whose region is not
    /// known.
    fn chain(&self, index: IndexView<'_>, tables: Tables<'_>, work: &mut Work) {
        let packed_reads = std::mem::take(&mut work.reads);
        let verdicts = &mut work.verdicts;
        let over = &work.over;
        let mut seeds = std::mem::take(&mut work.seeds);
        if seeds.len() < work.diagonals.len() {
            seeds.resize_with(work.diagonals.len(), Vec::new);
        }
        let search = |(diagonal, seeds)| {
            let diagonal: &Diagonal = diagonal;
            let read = &packed_reads[diagonal.number];
            let repeated = self.repeated(diagonal.place, read.len());
            let [first, after] = [diagonal.number, diagonal.number + 1]
                .map(|number| over.partition_point(|&(of, _)| of < number));
            let known = OnDiagonal { mismatches: diagonal.mismatches, repeated };
            SeedSearch::new(read, SeedOptions::USUAL, Some(known), &over[first..after], seeds)
        };
        let mut searches: Vec<_> = work.diagonals.iter().zip(&mut seeds).map(search).collect();
        lockstep::run(&mut searches, &tables, &mut work.active);
        let limits = self.scoring.limits();
        work.occurrences.clear();
        // What an earlier batch needed more of.
        work.chains.iter_mut().for_each(Chains::clear);
        for search in &mut searches {
            let gave_up = search.gave_up;
            search.gave_up = gave_up || !work.occurrences.add(search.seeds, limits);
        }
        work.occurrences.find(&tables.rows, &mut work.active);
        work.chained.clear();
        let mut next = 0;
        for (search, diagonal) in searches.iter().zip(&work.diagonals) {
            verdicts[diagonal.number] = Verdict::Seeds;
            if search.gave_up {
                continue;
            }
            if work.chains.len() == work.chained.len() {
                work.chains.push(Chains::default());
            }
            let chains = &mut work.chains[work.chained.len()];
            let length = packed_reads[diagonal.number].len();
            let read = ChainedRead { seeds: search.seeds, length, place: diagonal.place };
            work.occurrences.chain(&mut next, read, index, limits, chains);
            verdicts[diagonal.number] = Verdict::Chained;
            let whole = diagonal.region.filter(|region| region.bases == [0, length]);
            let main = whole.and_then(|region| main_chain(chains, region));
            work.chained.push(Chained { number: diagonal.number, main });
        }
        drop(searches);
        (work.reads, work.seeds) = (packed_reads, seeds);
    }

    /// Which strings of a read of `length` bases on the diagonal from `place` are repeated.
    fn repeated(&self, place: u64, length: usize) -> Flags {
        let mut flags = Flags::default();
        for at in 0..=length - SEED_BASES {
            flags.set(at, self.table.is_repeated(place + at as u64));
        }
        flags
    }

    /// Searches for strings over mismatches that occur; takes back the regions of reads that have
    /// one, and finds their matches.
    fn show_absence(&self, tables: Tables<'_>, work: &mut Work) {
        let packed_reads = std::mem::take(&mut work.reads);
        let mut searches = Vec::new();
        let known = work.known.iter().enumerate();
        let known = known.filter_map(|(number, known)| Some((number, known.as_ref()?.mismatches)));
        let diagonals = work.diagonals.iter().map(|d| (d.number, d.mismatches));
        for (number, mismatches) in known.chain(diagonals) {
            let read = &packed_reads[number];
            absence::runs(mismatches.get(), read.len(), |first, last| {
                searches.push(AbsenceSearch::new(read, number, first, last));
            });
        }
        lockstep::run(&mut searches, &tables, &mut work.active);
        let mut matches = std::mem::take(&mut work.matches);
        if matches.len() < searches.len() {
            matches.resize_with(searches.len(), Vec::new);
        }
        let matching = searches.iter().zip(&mut matches).filter_map(|(search, found)| {
            let strings = Strings { bases: SEED_BASES, places: search.present()? };
            found.clear();
            let search = MatchSearch::new(search.read, search.number, strings, 1, false);
            Some(KeptMatches { search, found })
        });
        let mut matching: Vec<_> = matching.collect();
        lockstep::run(&mut matching, &tables, &mut work.active);
        work.over.clear();
        for KeptMatches { search, found } in &matching {
            work.over.extend(found.iter().map(|&found| (search.number, found)));
            let (number, region) = (search.number, work.known[search.number].take());
            if let Some(Known { place, mismatches, .. }) = region {
                work.take_diagonal(Diagonal { number, place, mismatches, region });
            }
        }
        drop(matching);
        work.matches = matches;
        // What covers two mismatches was found twice.
        work.over.sort_unstable_by_key(|&(number, found)| (number, found.bases));
        work.over.dedup();
        work.reads = packed_reads;
    }
}

#[cfg(test)]
pub(crate) mod tests;
