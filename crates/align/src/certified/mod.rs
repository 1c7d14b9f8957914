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

mod absence;
mod chains;
mod lockstep;
mod occurrences;
mod place;
mod prefetch;
mod report;
mod rows;
mod rules;
mod seeds;
mod text;

use std::sync::Arc;

use absence::AbsenceSearch;
pub(crate) use chains::{Chains, PlacedSeed};
use occurrences::{ChainedRead, Occurrences};
use place::PlaceSearch;
pub use report::{CertifiedReads, Verdict};
use rows::{Interval, Rows};
use rules::GREATEST_SHIFT;
pub(crate) use rules::Scoring;
use seeds::{Flags, SeedSearch};
use text::{Bases, Genome};

use crate::engine::Read;
use crate::engine::bwa::{IndexParts, Sequence};
use crate::index::{FastTable, SEED_BASES};

/// Reads of so many bases are tried. Shorter ones have no stretch to find a place by; in longer
/// ones bwa looks at a chain's seeds once more (from 700 bases on).
const LENGTHS: std::ops::RangeInclusive<usize> = 40..=500;
/// More mismatches leave too little to show anything by.
const MOST_MISMATCHES: usize = 6;
/// Seeds that bwa looks for, at the least (`-k`): the table is made for it.
pub(crate) const LEAST_SEED: i32 = SEED_BASES as i32;

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
    /// Bases in the seeds of the chain.
    pub(crate) seed_cover: usize,
    mismatches: Mismatches,
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

/// A read that lies on a diagonal, whose region does not follow from that.
#[derive(Debug, Clone, Copy)]
struct Diagonal {
    number: usize,
    place: u64,
    mismatches: Mismatches,
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
    let in_one = sequence.start <= start && start + length <= sequence.end;
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
    occurrences: Occurrences,
    /// The first `chained.len()` are of the reads with these numbers.
    chains: Vec<Chains>,
    chained: Vec<usize>,
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
    pub(crate) fn chained(&self) -> impl Iterator<Item = (usize, &Chains)> {
        self.chained.iter().copied().zip(&self.chains)
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
            if few {
                let known = self.apply_rules(read, &work.window, spot, &work.mismatches);
                work.verdicts[number] =
                    known.map_or_else(|verdict| verdict, |_| Verdict::Certified);
                work.known[number] = known.ok();
                if known == Err(Verdict::Chained) {
                    let mismatches = Mismatches::of(&work.mismatches);
                    work.diagonals.push(Diagonal { number, place: spot.place, mismatches });
                }
            }
        }
        work.reads = packed_reads;
    }

    /// Whether what follows from the read's mismatches is all that bwa finds, if no string over a
    /// mismatch occurs.
    fn apply_rules(
        &self,
        read: &Bases,
        window: &Bases,
        spot: Spot,
        mismatches: &[usize],
    ) -> Result<Known, Verdict> {
        if spot.alternate {
            return Err(Verdict::Alternate);
        }
        let repeated = |at: usize| self.table.is_repeated(spot.place + at as u64);
        if !rules::seeds_are_unique(mismatches, read.len(), repeated) {
            return Err(Verdict::Chained);
        }
        let extension = self.extend(read, window, mismatches).ok_or(Verdict::Chained)?;
        Ok(Known { place: spot.place, sequence: spot.sequence, ..extension })
    }

    /// The region, at place 0 of sequence 0: both extensions of the longest seed.
    fn extend(&self, read: &Bases, window: &Bases, mismatches: &[usize]) -> Option<Known> {
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
            place: 0,
            sequence: 0,
            mismatches: Mismatches::of(mismatches),
            bases,
            best: second.best,
            taken: first.taken + second.taken - first.best,
            seed_bases: end - start,
            seed_cover,
        })
    }

    /// Finds the seeds and chains of the reads that lie on a diagonal and whose region is not
    /// known.
    fn chain(&self, index: LoadedIndex<'_>, tables: Tables<'_>, work: &mut Work) {
        let packed_reads = std::mem::take(&mut work.reads);
        let verdicts = &mut work.verdicts;
        work.diagonals.retain(|diagonal| verdicts[diagonal.number] == Verdict::Chained);
        let search = |diagonal: &Diagonal| {
            let read = &packed_reads[diagonal.number];
            let flags = self.flags(diagonal.place, read.len());
            SeedSearch::new(read, diagonal.mismatches, flags)
        };
        let mut searches: Vec<_> = work.diagonals.iter().map(search).collect();
        lockstep::run(&mut searches, &tables, &mut work.active);
        work.occurrences.clear();
        for search in &mut searches {
            let gave_up = search.gave_up;
            search.gave_up = gave_up || !work.occurrences.add(&mut search.seeds, &self.scoring);
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
            let read = ChainedRead { seeds: &search.seeds, length, place: diagonal.place };
            if work.occurrences.chain(&mut next, read, index, &self.scoring, chains) {
                verdicts[diagonal.number] = Verdict::Chained;
                work.chained.push(diagonal.number);
            }
        }
        work.reads = packed_reads;
    }

    /// Which strings of a read of `length` bases on the diagonal from `place` are repeated.
    fn flags(&self, place: u64, length: usize) -> Flags {
        let mut flags = Flags::default();
        for at in 0..=length - SEED_BASES {
            let repeated = self.table.is_repeated(place + at as u64);
            flags[at / 64] |= u64::from(repeated) << (at % 64);
        }
        flags
    }

    /// Takes back the regions of reads with a string over a mismatch that occurs.
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
        for search in searches.iter().filter(|search| search.found_one()) {
            work.known[search.number] = None;
            work.verdicts[search.number] = Verdict::OtherSeed;
        }
        work.reads = packed_reads;
    }
}
