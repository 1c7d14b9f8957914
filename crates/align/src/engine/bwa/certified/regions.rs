//! The places of reads, and the regions there.

use super::place::PlaceSearch;
use super::rules::{self, GREATEST_SHIFT};
use super::{CertifiedPath, Diagonal, Known, MOST_MISMATCHES, Mismatches, Tables, Verdict, Work};
use crate::index::IndexView;
use crate::search::text::{Bases, Genome};
use crate::search::{lockstep, prefetch};

/// A place in `T`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub(super) place: u64,
    pub(super) sequence: usize,
    pub(super) alternate: bool,
}

/// The place, if `length` bases are there in one sequence, and so far from the ends of the strand
/// that a window around them does not reach over.
pub(super) fn spot(index: IndexView<'_>, place: u64, length: usize) -> Option<Spot> {
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

impl CertifiedPath {
    /// Looks for the places of the reads that have none yet, and applies the rules to those found.
    pub(super) fn find_places(
        &self,
        index: IndexView<'_>,
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
            self.take_place(&packed_reads[number], (number, spot), genome, work);
        }
        work.reads = packed_reads;
    }

    /// Applies the rules to read `number` at its place.
    fn take_place(
        &self,
        read: &Bases,
        (number, spot): (usize, Spot),
        genome: Genome<'_>,
        work: &mut Work,
    ) {
        let (from, length) = (spot.place - GREATEST_SHIFT as u64, read.len() + 2 * GREATEST_SHIFT);
        work.window.take_window(genome, from, length);
        let mismatches = &mut work.mismatches;
        if !read.mismatches(&work.window, GREATEST_SHIFT, MOST_MISMATCHES, mismatches) {
            return;
        }
        if spot.alternate {
            work.verdicts[number] = Verdict::Alternate;
            return;
        }
        let region = self.extend(read, &work.window, spot, &work.mismatches);
        let repeated = |at: usize| self.table.is_repeated(spot.place + at as u64);
        let unique = rules::seeds_are_unique(&work.mismatches, read.len(), repeated);
        work.known[number] = region.filter(|_| unique);
        work.verdicts[number] = Verdict::Certified;
        if work.known[number].is_none() {
            let mismatches = Mismatches::of(&work.mismatches);
            work.take_diagonal(Diagonal { number, place: spot.place, mismatches, region });
        }
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
        let [start, end] = rules::extended_seed(mismatches, length)?;
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
        let all_in = rules::seeds_are_in(mismatches, length, bases);
        all_in.then_some(Known {
            place: spot.place,
            sequence: spot.sequence,
            mismatches: Mismatches::of(mismatches),
            bases,
            best: second.best,
            taken: first.taken + second.taken - first.best,
            seed_bases: end - start,
            seed_start: start,
        })
    }
}
