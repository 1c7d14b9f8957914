//! The positions of reads, and the regions there.

use super::rules::{self, GREATEST_SHIFT};
use super::unique_segment::UniqueSegmentSearch;
use super::{CertifiedOutcome, CertifiedPath, CertifiedScratch, DiagonalRead, KnownRegion};
use crate::engine::bwa::seed::{MOST_MISMATCHES, Mismatches, SearchIndex};
use crate::index::IndexView;
use crate::search::text::{Bases, Genome};
use crate::search::{lockstep, prefetch};

/// A position of a read, in doubled coordinates.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadPosition {
    pub(super) position: u64,
    pub(super) sequence: usize,
    pub(super) is_alt: bool,
}

/// The position, if `length` bases are there in one sequence, and so far from the ends of the
/// strand that a window around them does not reach over.
pub(super) fn spot(index: IndexView<'_>, position: u64, length: usize) -> Option<ReadPosition> {
    let (bases, margin, length) = (index.parts.bases, GREATEST_SHIFT as u64, length as u64);
    let strand_start = if position < bases { 0 } else { bases };
    let inside =
        position >= strand_start + margin && position + length + margin <= strand_start + bases;
    if !inside {
        return None;
    }
    let start = if position < bases { position } else { 2 * bases - position - length };
    let number = index.sequences.partition_point(|sequence| sequence.end <= start);
    let sequence = index.sequences.get(number)?;
    let in_one = start + length <= sequence.end;
    in_one.then_some(ReadPosition { position, sequence: number, is_alt: sequence.is_alt })
}

impl CertifiedPath {
    /// Looks for the positions of the reads that have none yet, and applies the rules to those
    /// found.
    pub(super) fn find_positions(
        &self,
        index: IndexView<'_>,
        search_index: SearchIndex<'_>,
        scratch: &mut CertifiedScratch,
        attempt: usize,
    ) {
        let packed_reads = std::mem::take(&mut scratch.reads);
        let unplaced =
            scratch.verdicts.iter().enumerate().filter(|&(_, &v)| v == CertifiedOutcome::Unplaced);
        let mut searches = Vec::with_capacity(scratch.verdicts.len());
        searches
            .extend(unplaced.map(|(i, _)| UniqueSegmentSearch::new(&packed_reads[i], i, attempt)));
        lockstep::run(&mut searches, &search_index, &mut scratch.active);
        let genome = Genome { packed: index.parts.packed, bases: index.parts.bases };
        let mut found = Vec::with_capacity(searches.len());
        found.extend(searches.iter().filter_map(|search| {
            let spot = spot(index, search.position()?, packed_reads[search.number].len())?;
            genome.prefetch(spot.position, packed_reads[search.number].len());
            prefetch::prefetch(self.table.repeats().entry(spot.position));
            Some((search.number, spot))
        }));
        for (number, spot) in found {
            self.take_position(&packed_reads[number], (number, spot), genome, scratch);
        }
        scratch.reads = packed_reads;
    }

    /// Applies the rules to read `number` at its position.
    fn take_position(
        &self,
        read: &Bases,
        (number, spot): (usize, ReadPosition),
        genome: Genome<'_>,
        scratch: &mut CertifiedScratch,
    ) {
        let (from, length) =
            (spot.position - GREATEST_SHIFT as u64, read.len() + 2 * GREATEST_SHIFT);
        scratch.window.take_window(genome, from, length);
        let mismatches = &mut scratch.mismatches;
        if !read.mismatches(&scratch.window, GREATEST_SHIFT, MOST_MISMATCHES, mismatches) {
            return;
        }
        if spot.is_alt {
            scratch.verdicts[number] = CertifiedOutcome::Alternate;
            return;
        }
        let region = self.extend(read, &scratch.window, spot, &scratch.mismatches);
        let repeated = self.repeated(spot.position, read.len());
        let unique = rules::seeds_are_unique(&scratch.mismatches, read.len(), &repeated);
        scratch.known[number] = region.filter(|_| unique);
        scratch.verdicts[number] = CertifiedOutcome::Certified;
        if scratch.known[number].is_none() {
            let mismatches = Mismatches::of(&scratch.mismatches);
            scratch.take_diagonal(DiagonalRead {
                number,
                position: spot.position,
                mismatches,
                region,
            });
        }
    }

    /// The region at a position: both extensions of the longest seed. `None` if it does not follow
    /// from the mismatches.
    fn extend(
        &self,
        read: &Bases,
        window: &Bases,
        spot: ReadPosition,
        mismatches: &[usize],
    ) -> Option<KnownRegion> {
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
        all_in.then_some(KnownRegion {
            position: spot.position,
            sequence: spot.sequence,
            mismatches: Mismatches::of(mismatches),
            bases,
            score: second.best,
            true_score: first.taken + second.taken - first.best,
            seed_bases: end - start,
            seed_start: start,
        })
    }
}
