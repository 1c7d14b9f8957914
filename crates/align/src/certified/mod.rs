//! bwa's answer read off the genome, for reads of which that can be shown.
//!
//! Most reads lie in one place with few mismatches, and all of bwa's seeds of such a read lie
//! there and nowhere else. Then bwa finds one chain and extends it to one region, which follows
//! from the mismatches alone. [`CertifiedPath::certify`] finds the place, shows that this is such
//! a read, and hands out the region; the engine takes it in place of its own search, and pairs,
//! scores and writes it as ever. Any other read is the engine's from the start.
//!
//! What is shown, and why it is enough, stands with each rule in [`rules`]; `T` is the forward
//! strand followed by its reverse complement. Per read, many at a time:
//!
//! 1. `place`: a stretch that occurs once gives the place.
//! 2. `text`: the mismatches there; no more than [`MOST_MISMATCHES`], no other letter than ACGT.
//! 3. `rules`: no gap pays, the extension takes in all seeds, and they are unique, by the table of
//!    repeated strings.
//! 4. `absence`: no string over a mismatch occurs.
//!
//! If only 3 or 4 fail, `matches`, `seeds` and `chains` find bwa's chains of the read, which the
//! engine extends.

mod absence;
mod chains;
mod matches;
mod occurrences;
mod place;
mod reach;
mod report;
mod rules;
mod seeds;

use std::sync::Arc;

use absence::AbsenceSearch;
pub(crate) use chains::{Chains, PlacedSeed};
use matches::{KeptMatches, Match, MatchSearch};
use occurrences::{ChainedRead, Occurrences};
use place::PlaceSearch;
pub use report::{CertifiedReads, Verdict};

use rules::GREATEST_SHIFT;
pub(crate) use rules::Scoring;
use seeds::{Flags, Seed, SeedSearch};

use crate::cohort::BATCH_READS;
use crate::engine::Read;

use crate::index::{FastTable, IndexParts, SEED_BASES, Sequence};
use crate::search::rows::{Interval, Rows};
use crate::search::text::{Bases, Genome};
use crate::search::{lockstep, prefetch};

/// Reads of so many bases are tried. Shorter ones have no stretch to find a place by; in longer
/// ones bwa looks at a chain's seeds once more (from 700 bases on).
const LENGTHS: std::ops::RangeInclusive<usize> = 40..=500;
/// More mismatches leave too little to show anything by.
const MOST_MISMATCHES: usize = 6;
/// Seeds that bwa looks for, at the least (`-k`): the table is made for it.
pub(crate) const LEAST_SEED: i32 = SEED_BASES as i32;

/// Most memory that a worker's searches take. Rows are looked up for a batch at a time; their
/// chains, in vectors that may have grown to twice what is in them, are of that batch, or of
/// earlier ones and few. The searches themselves have half a kilobyte a read.
pub const WORKER_BYTES: u64 =
    2 * Occurrences::MOST_TOGETHER * (Occurrences::ROW_BYTES + Chains::SEED_BYTES)
        + BATCH_READS as u64 * (Chains::KEPT_SEEDS as u64 * Chains::SEED_BYTES + 512);

/// Batches in a row without gain after which a worker stops trying.
const PATIENCE_BATCHES: u32 = 4;
/// Batches after which it tries again.
const PAUSE_BATCHES: u32 = 64;
/// Share of reads that must be certified, one in so many.
const LEAST_SHARE: usize = 16;

/// The one region of a read, as bwa finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    /// Where its first base would lie in `T`.
    pub(crate) place: u64,
    /// Number of the sequence.
    pub(crate) sequence: usize,
    /// Bases of the read in the region: the first, and behind the last.
    pub(crate) bases: [usize; 2],
    /// Best score of the extension.
    pub(crate) best: i32,
    /// Score of the region.
    pub(crate) taken: i32,
    /// Bases of the seed that is extended.
    pub(crate) seed_bases: usize,
    /// Its first base in the read.
    seed_start: usize,
    /// Bases in the seeds of the chain.
    pub(crate) seed_cover: usize,
    /// Occurrences of the chain's most frequent seed.
    pub(crate) seed_occurrences: i32,
    mismatches: Mismatches,
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
    /// Where it begins.
    pub(crate) place: i64,
    pub(crate) region: Known,
}

/// The places of a read's mismatches, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Mismatches {
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

/// A read that lies on a diagonal, with seeds elsewhere too.
#[derive(Debug, Clone, Copy)]
struct Diagonal {
    number: usize,
    place: u64,
    mismatches: Mismatches,
    /// The region on the diagonal, if it is known.
    region: Option<Known>,
}

/// A place in `T`.
#[derive(Debug, Clone, Copy)]
struct Spot {
    place: u64,
    sequence: usize,
    alternate: bool,
}

/// The place, if `length` bases lie there in one sequence, and so far from the ends of the strand
/// that a window around them does not reach over.
fn spot(index: LoadedIndex<'_>, place: u64, length: usize) -> Option<Spot> {
    let (bases, margin, length) = (index.parts.bases, GREATEST_SHIFT as u64, length as u64);
    let strand_start = if place < bases { 0 } else { bases };
    let inside = place >= strand_start + margin && place + length + margin <= strand_start + bases;
    if !inside {
        return None;
    }
    let start = if place < bases { place } else { 2 * bases - place - length };
    let number = index.sequences.partition_point(|sequence| sequence.end <= start);
    let sequence = index.sequences.get(number)?;
    let in_one = start + length <= sequence.end;
    in_one.then_some(Spot { place, sequence: number, alternate: sequence.alternate })
}

/// The path, for one genome and one set of scores.
#[derive(Debug)]
pub(crate) struct CertifiedPath {
    table: FastTable,
    scoring: Scoring,
    reads: Arc<CertifiedReads>,
}

/// What the searches read.
#[derive(Debug, Clone, Copy)]
struct Tables<'a> {
    rows: Rows<'a>,
    fast: &'a FastTable,
}

impl Tables<'_> {
    /// The rows of string `number`.
    #[inline]
    fn start(&self, number: usize) -> Interval {
        Interval { first: self.fast.start(number), count: self.fast.occurrences(number) }
    }
}

/// Working memory of one worker.
#[derive(Debug, Default)]
pub(crate) struct Work {
    reads: Vec<Bases>,
    window: Bases,
    mismatches: Vec<usize>,
    diagonals: Vec<Diagonal>,
    /// Maximal matches over mismatches, each with its read's number; in order.
    over: Vec<(usize, Match)>,
    /// Of each search for such matches.
    matches: Vec<Vec<Match>>,
    /// The first `diagonals.len()` are of these reads.
    seeds: Vec<Vec<Seed>>,
    occurrences: Occurrences,
    /// The first `chained.len()` are of these reads.
    chains: Vec<Chains>,
    chained: Vec<Chained>,
    active: Vec<usize>,
    /// Per read.
    verdicts: Vec<Verdict>,
    known: Vec<Option<Known>>,
    without_gain: u32,
    pause: u32,
}

impl Work {
    /// Per read of the batch: its region, if that is known.
    pub(crate) fn known(&self) -> &[Option<Known>] {
        &self.known
    }

    fn take<'r>(&mut self, reads: impl ExactSizeIterator<Item = &'r Read<'r>>) {
        if self.reads.len() < reads.len() {
            self.reads.resize_with(reads.len(), Bases::default);
        }
        self.verdicts.clear();
        self.diagonals.clear();
        let verdicts = reads.zip(&mut self.reads).map(|(read, packed)| {
            match LENGTHS.contains(&read.bases.len()) && packed.take_read(read.bases) {
                true => Verdict::Unplaced,
                false => Verdict::Unfit,
            }
        });
        self.verdicts.extend(verdicts);
    }

    fn take_diagonal(&mut self, diagonal: Diagonal) {
        self.verdicts[diagonal.number] = Verdict::Chained;
        self.diagonals.push(diagonal);
    }

    /// Pauses after too many batches of which hardly a read was certified.
    fn weigh_gain(&mut self) {
        let certified = (0..self.verdicts.len()).filter(|&at| !self.is_unknown(at)).count();
        let gained = certified * LEAST_SHARE >= self.verdicts.len();
        self.without_gain = if gained { 0 } else { self.without_gain + 1 };
        if self.without_gain == PATIENCE_BATCHES {
            (self.without_gain, self.pause) = (0, PAUSE_BATCHES);
        }
    }

    /// Reads whose chains are known.
    pub(crate) fn chained(&mut self) -> impl Iterator<Item = (Chained, &mut Chains)> {
        self.chained.iter().copied().zip(&mut self.chains)
    }

    /// Whether the library is to search for read `at`.
    pub(crate) fn is_unknown(&self, at: usize) -> bool {
        !matches!(self.verdicts[at], Verdict::Certified | Verdict::Chained)
    }

    /// The bases of read `at` as codes 0 to 3.
    pub(crate) fn codes(&self, at: usize, out: &mut Vec<u8>) {
        self.reads[at].codes(out);
    }
}

/// The index as the engine has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadedIndex<'a> {
    pub(crate) parts: IndexParts<'a>,
    pub(crate) sequences: &'a [Sequence],
}

impl CertifiedPath {
    /// `reads` counts what becomes of the reads.
    pub(crate) fn new(table: FastTable, scoring: Scoring, reads: Arc<CertifiedReads>) -> Self {
        Self { table, scoring, reads }
    }

    /// Finds the regions of those reads of a batch of which they can be shown; see
    /// [`Work::known`].
    pub(crate) fn certify<'r>(
        &self,
        index: LoadedIndex<'_>,
        reads: impl ExactSizeIterator<Item = &'r Read<'r>>,
        work: &mut Work,
    ) {
        let count = reads.len();
        work.known.clear();
        work.known.resize(count, None);
        if work.pause > 0 {
            work.pause -= 1;
            work.verdicts.clear();
            work.verdicts.resize(count, Verdict::Untried);
            work.chained.clear();
            self.reads.add_untried(count);
            return;
        }
        work.take(reads);
        let tables = Tables { rows: Rows::new(index.parts), fast: &self.table };
        for attempt in 0..place::TRIES {
            self.find_places(index, tables, work, attempt);
        }
        self.show_absence(tables, work);
        self.chain(index, tables, work);
        work.weigh_gain();
        self.reads.add(&work.verdicts);
    }

    /// Looks for the places of the reads that have none yet, and applies the rules to those found.
    fn find_places(
        &self,
        index: LoadedIndex<'_>,
        tables: Tables<'_>,
        work: &mut Work,
        attempt: usize,
    ) {
        let packed_reads = std::mem::take(&mut work.reads);
        let unplaced = work.verdicts.iter().enumerate().filter(|&(_, &v)| v == Verdict::Unplaced);
        let mut searches: Vec<_> =
            unplaced.map(|(i, _)| PlaceSearch::new(&packed_reads[i], i, attempt)).collect();
        lockstep::run(&mut searches, &tables, &mut work.active);
        let genome = Genome { packed: index.parts.packed, bases: index.parts.bases };
        let found: Vec<_> = searches
            .iter()
            .filter_map(|search| {
                let spot = spot(index, search.place()?, packed_reads[search.number].len())?;
                genome.prefetch(spot.place, packed_reads[search.number].len());
                prefetch::prefetch(self.table.repeated_entry(spot.place));
                Some((search.number, spot))
            })
            .collect();
        for (number, spot) in found {
            let read = &packed_reads[number];
            work.window.take_window(
                genome,
                spot.place - GREATEST_SHIFT as u64,
                read.len() + 2 * GREATEST_SHIFT,
            );
            let few = read.mismatches(
                &work.window,
                GREATEST_SHIFT,
                MOST_MISMATCHES,
                &mut work.mismatches,
            );
            if few && spot.alternate {
                work.verdicts[number] = Verdict::Alternate;
            } else if few {
                let region = self.extend(read, &work.window, spot, &work.mismatches);
                let repeated = |at: usize| self.table.is_repeated(spot.place + at as u64);
                let unique = rules::seeds_are_unique(&work.mismatches, read.len(), repeated);
                work.known[number] = region.filter(|_| unique);
                work.verdicts[number] = Verdict::Certified;
                if work.known[number].is_none() {
                    let mismatches = Mismatches::of(&work.mismatches);
                    let diagonal = Diagonal { number, place: spot.place, mismatches, region };
                    work.take_diagonal(diagonal);
                }
            }
        }
        work.reads = packed_reads;
    }

    /// The region at a place: both extensions of the longest seed. `None` if it does not follow
    /// from the mismatches.
    fn extend(
        &self,
        read: &Bases,
        window: &Bases,
        spot: Spot,
        mismatches: &[usize],
    ) -> Option<Known> {
        let length = read.len();
        let ([start, end], seed_cover) = rules::extended_seed(mismatches, length)?;
        let (left, right) = mismatches.split_at(mismatches.partition_point(|&at| at < start));
        let differ = |shift: isize, bases, count| {
            read.differ(window, GREATEST_SHIFT.wrapping_add_signed(shift), bases, count)
        };
        let scoring = &self.scoring;
        if ![left, right].iter().all(|side| rules::gaps_cost_more(scoring, side, differ)) {
            return None;
        }
        let seed_score = (end - start) as i32 * scoring.matching;
        let [clip_start, clip_end] = scoring.clip;
        let offsets = left.iter().rev().map(|at| start - 1 - at);
        let first = rules::extend(scoring, clip_start, seed_score, start, offsets)?;
        // bwa extends to the right with the best score of the left, whatever of it was taken.
        let offsets = right.iter().map(|at| at - end);
        let second = rules::extend(scoring, clip_end, first.best, length - end, offsets)?;
        let bases = [start - first.bases, end + second.bases];
        let all_in = rules::seeds_lie_in(mismatches, length, bases);
        all_in.then_some(Known {
            place: spot.place,
            sequence: spot.sequence,
            mismatches: Mismatches::of(mismatches),
            bases,
            best: second.best,
            taken: first.taken + second.taken - first.best,
            seed_bases: end - start,
            seed_start: start,
            seed_cover,
            seed_occurrences: 1,
        })
    }

    /// Finds the seeds and chains of the reads that lie on a diagonal and whose region is not
    /// known.
    fn chain(&self, index: LoadedIndex<'_>, tables: Tables<'_>, work: &mut Work) {
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
            let [first, behind] = [diagonal.number, diagonal.number + 1]
                .map(|number| over.partition_point(|&(of, _)| of < number));
            SeedSearch::new(read, diagonal.mismatches, repeated, &over[first..behind], seeds)
        };
        let mut searches: Vec<_> = work.diagonals.iter().zip(&mut seeds).map(search).collect();
        lockstep::run(&mut searches, &tables, &mut work.active);
        work.occurrences.clear();
        // What an earlier batch needed more of.
        work.chains.iter_mut().for_each(Chains::clear);
        for search in &mut searches {
            let gave_up = search.gave_up;
            search.gave_up = gave_up || !work.occurrences.add(search.seeds, &self.scoring);
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
            if work.occurrences.chain(&mut next, read, index, &self.scoring, chains) {
                verdicts[diagonal.number] = Verdict::Chained;
                let whole = diagonal.region.filter(|region| region.bases == [0, length]);
                let main = whole.and_then(|region| chains.main(region));
                work.chained.push(Chained { number: diagonal.number, main });
            }
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
            let present = search.present()?;
            found.clear();
            let search = MatchSearch::new(search.read, search.number, present, 1, false);
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
mod tests;
