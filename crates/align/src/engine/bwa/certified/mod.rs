//! The certified path: bwa's region of a read, read off the reference, where that can be proved.
//!
//! Most reads have one position with few mismatches, and all of bwa's seeds of such a read are
//! there and nowhere else. Then bwa finds one chain and extends it to one region, which follows
//! from the mismatches alone. [`CertifiedPath::certify`] finds the position, shows that this is
//! such a read, and hands out the region; the engine takes it in place of its own search, and
//! pairs, scores and writes it as ever. Any other read is the engine's from the start.
//!
//! What is shown, and why it is enough, is with each rule in [`rules`]. Positions are in doubled
//! coordinates. Per read, many at a time:
//!
//! 1. `unique_segment`: a segment that occurs once gives the position.
//! 2. `text`: the mismatches there; no more than [`MOST_MISMATCHES`], no other letter than ACGT.
//! 3. `rules`: no gap pays, the extension takes in all seeds, and they are unique, by the table of
//!    repeated k-mers.
//! 4. `absence`: no k-mer over a mismatch occurs.
//!
//! If only 3 or 4 fail, the searches of [`seed`](super::seed) find bwa's seeds of the read, with
//! what is known of its diagonal, and [`occurrences`](super::chain::occurrences) its chains, which
//! the engine extends.

mod absence;
mod main_chain;
mod regions;
mod report;
mod rules;
mod scratch;
mod unique_segment;

use std::sync::Arc;

use absence::AbsenceSearch;
use main_chain::main_chain;
pub use report::{CertifiedOutcome, CertifiedReads};

pub(crate) use rules::Scoring;
pub(crate) use scratch::CertifiedScratch;

use crate::cohort::BATCH_READS;
use crate::engine::Read;
use crate::engine::bwa::chain::occurrences::{Occurrences, SeededRead};
use crate::engine::bwa::order::tree::Tree;
use crate::engine::bwa::seed::{
    CollectedSmems, DiagonalFacts, KmerFlags, Kmers, Mismatches, SearchIndex, SeedSearch,
    SmemSearch,
};
use crate::engine::bwa::settings::SeedOptions;

use crate::index::{FastTable, IndexView, SEED_BASES};
use crate::search::lockstep;

/// Reads of so many bases are tried. Shorter ones have no segment to find a position by; in longer
/// ones bwa looks at a chain's seeds once more (from 700 bases on).
const LENGTHS: std::ops::RangeInclusive<usize> = 40..=500;
/// Most memory that a worker's searches take, but for a single read whose seeds occur more often
/// than rows are looked up together. Rows are looked up for a batch or less at a time; they and
/// their chains are in vectors that may have grown to twice what is in them. The tree has the
/// chains of one read. The searches themselves have half a kilobyte a read, and those for reads of
/// which nothing is known three times as much.
pub const WORKER_BYTES: u64 = 2 * Occurrences::MOST_TOGETHER * Occurrences::ROW_BYTES
    + Occurrences::MOST_TOGETHER * Tree::CHAIN_BYTES
    + BATCH_READS as u64 * 2048;

/// The one region of a read, as bwa finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownRegion {
    /// Where its first base would be in doubled coordinates.
    pub(crate) position: u64,
    /// Number of the sequence.
    pub(crate) sequence: usize,
    /// Bases of the read in the region: the first, and one past the last.
    pub(crate) bases: [usize; 2],
    /// Best score of the extension.
    pub(crate) score: i32,
    /// Score of the region.
    pub(crate) true_score: i32,
    /// Bases of the seed that is extended.
    pub(crate) seed_bases: usize,
    /// Its first base in the read.
    pub(crate) seed_start: usize,
    pub(crate) mismatches: Mismatches,
}

/// A read whose chains are known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainedRead {
    /// The read's number.
    pub(crate) number: usize,
    /// The chain on the read's diagonal, if its region is known and is of the whole read.
    pub(crate) main: Option<MainChain>,
}

/// The chain of the read's diagonal, with its region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MainChain {
    /// Its number among the chains.
    pub(crate) number: usize,
    pub(crate) region: KnownRegion,
}

/// A read on a diagonal that is not certified: it has seeds elsewhere too.
#[derive(Debug, Clone, Copy)]
struct DiagonalRead {
    number: usize,
    position: u64,
    mismatches: Mismatches,
    /// The region on the diagonal, if it is known.
    region: Option<KnownRegion>,
}

/// The path, for one genome and one set of scores.
#[derive(Debug)]
pub(crate) struct CertifiedPath {
    table: Arc<FastTable>,
    scoring: Scoring,
    reads: Arc<CertifiedReads>,
}

impl CertifiedPath {
    /// `reads` counts the verdicts.
    pub(crate) fn new(table: Arc<FastTable>, scoring: Scoring, reads: Arc<CertifiedReads>) -> Self {
        Self { table, scoring, reads }
    }

    /// Finds the regions of those reads of a batch of which they can be shown; see
    /// [`CertifiedScratch::known`].
    pub(crate) fn certify<'r>(
        &self,
        index: IndexView<'_>,
        reads: impl ExactSizeIterator<Item = &'r Read<'r>>,
        scratch: &mut CertifiedScratch,
    ) {
        let count = reads.len();
        scratch.reset(count);
        if scratch.pause > 0 {
            scratch.pause -= 1;
            self.reads.add_untried(count);
            return;
        }
        scratch.take(reads);
        let search_index = SearchIndex::new(index.parts, self.table.kmer_table());
        for attempt in 0..unique_segment::TRIES {
            self.find_positions(index, search_index, scratch, attempt);
        }
        self.show_absence(search_index, scratch);
        self.chain(index, search_index, scratch);
        scratch.pause_without_gain();
        self.reads.add(&scratch.verdicts);
    }

    /// Finds the seeds and chains of the reads that are on a diagonal and whose region is not
    /// known.
    fn chain(
        &self,
        index: IndexView<'_>,
        search_index: SearchIndex<'_>,
        scratch: &mut CertifiedScratch,
    ) {
        let packed_reads = std::mem::take(&mut scratch.reads);
        let verdicts = &mut scratch.verdicts;
        let crossing = &scratch.crossing;
        let mut seeds = std::mem::take(&mut scratch.seeds);
        if seeds.len() < scratch.diagonals.len() {
            seeds.resize_with(scratch.diagonals.len(), Vec::new);
        }
        let search = |(diagonal, seeds)| {
            let diagonal: &DiagonalRead = diagonal;
            let read = &packed_reads[diagonal.number];
            let repeated = self.repeated(diagonal.position, read.len());
            let [first, after] = [diagonal.number, diagonal.number + 1]
                .map(|number| crossing.partition_point(|&(of, _)| of < number));
            let known = DiagonalFacts { mismatches: diagonal.mismatches, repeated };
            SeedSearch::new(read, SeedOptions::USUAL, Some(known), &crossing[first..after], seeds)
        };
        let mut searches: Vec<_> = scratch.diagonals.iter().zip(&mut seeds).map(search).collect();
        lockstep::run(&mut searches, &search_index, &mut scratch.active);
        let limits = self.scoring.limits();
        scratch.occurrences.clear();
        scratch.chains.clear(Occurrences::MOST_TOGETHER as usize);
        for search in &mut searches {
            let gave_up = search.gave_up;
            search.gave_up = gave_up || !scratch.occurrences.add(search.seeds, limits);
        }
        scratch.occurrences.find(&search_index.rows, &mut scratch.active);
        scratch.chained.clear();
        let mut next = 0;
        for (search, diagonal) in searches.iter().zip(&scratch.diagonals) {
            verdicts[diagonal.number] = CertifiedOutcome::Seeds;
            if search.gave_up {
                continue;
            }
            let length = packed_reads[diagonal.number].len();
            let read = SeededRead { seeds: search.seeds, length, position: diagonal.position };
            scratch.occurrences.chain(&mut next, read, index, limits, &mut scratch.chains);
            verdicts[diagonal.number] = CertifiedOutcome::Chained;
            let whole = diagonal.region.filter(|region| region.bases == [0, length]);
            let main = whole.zip(scratch.chains.last());
            let main = main.and_then(|(region, chains)| main_chain(chains, region));
            scratch.chained.push(ChainedRead { number: diagonal.number, main });
        }
        drop(searches);
        (scratch.reads, scratch.seeds) = (packed_reads, seeds);
    }

    /// Which k-mers of a read of `length` bases on the diagonal from `position` are repeated.
    fn repeated(&self, position: u64, length: usize) -> KmerFlags {
        let kmers = length - SEED_BASES + 1;
        let repeats = self.table.repeats();
        KmerFlags::of(kmers, |first, count| repeats.at(position + first as u64, count))
    }

    /// Searches for k-mers over mismatches that occur; takes back the regions of reads that have
    /// one, and finds their matches.
    fn show_absence(&self, search_index: SearchIndex<'_>, scratch: &mut CertifiedScratch) {
        let packed_reads = std::mem::take(&mut scratch.reads);
        let mut searches = Vec::new();
        let known = scratch.known.iter().enumerate();
        let known = known.filter_map(|(number, known)| Some((number, known.as_ref()?.mismatches)));
        let diagonals = scratch.diagonals.iter().map(|d| (d.number, d.mismatches));
        for (number, mismatches) in known.chain(diagonals) {
            let read = &packed_reads[number];
            absence::runs(mismatches.get(), read.len(), |first, last| {
                searches.push(AbsenceSearch::new(read, number, first, last));
            });
        }
        lockstep::run(&mut searches, &search_index, &mut scratch.active);
        let mut smems = std::mem::take(&mut scratch.smems);
        if smems.len() < searches.len() {
            smems.resize_with(searches.len(), Vec::new);
        }
        let matching = searches.iter().zip(&mut smems).filter_map(|(search, found)| {
            let kmers = Kmers { bases: SEED_BASES, positions: search.present()? };
            let search = SmemSearch::new(search.read, search.number, kmers, 1, false);
            Some(CollectedSmems::new(search, found))
        });
        let mut matching: Vec<_> = matching.collect();
        lockstep::run(&mut matching, &search_index, &mut scratch.active);
        scratch.crossing.clear();
        for CollectedSmems { search, found, .. } in &matching {
            scratch.crossing.extend(found.iter().map(|&found| (search.number, found)));
            let (number, region) = (search.number, scratch.known[search.number].take());
            if let Some(KnownRegion { position, mismatches, .. }) = region {
                scratch.take_diagonal(DiagonalRead { number, position, mismatches, region });
            }
        }
        drop(matching);
        scratch.smems = smems;
        // What covers two mismatches was found twice.
        scratch.crossing.sort_unstable_by_key(|&(number, found)| (number, found.bases));
        scratch.crossing.dedup();
        scratch.reads = packed_reads;
    }
}

#[cfg(test)]
pub(crate) mod tests;
