//! What bwa's answer follows from, as pure functions.
//!
//! A read is on a *diagonal*: base `i` at position `p + i` of the doubled reference, but for its
//! mismatches. They cut it into *segments*. Numbers in what follows are bwa's defaults.

use crate::engine::bwa::chain::occurrences::ChainLimits;
use crate::engine::bwa::options::BwaOptions;
use crate::engine::bwa::seed::{KmerFlags, RESEEDED_BASES, segments};
use crate::engine::bwa::settings::{GapPenalties, SeedOptions, Settings};
use crate::index::SEED_BASES;

/// Length of the seeds of the third round.
pub(super) const THIRD_ROUND_BASES: usize = SEED_BASES + 1;

/// Scores of bwa.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scoring {
    pub(crate) matching: i32,
    pub(crate) mismatch: i32,
    pub(crate) open_deletion: i32,
    pub(crate) extend_deletion: i32,
    pub(crate) open_insertion: i32,
    pub(crate) extend_insertion: i32,
    /// Clipping, at the start and the end of the read.
    pub(crate) clip: [i32; 2],
    pub(crate) band: i32,
    /// Of a seed that occurs more often, only so many positions are taken (`-c`).
    pub(crate) most_occurrences: u64,
}

impl Scoring {
    /// Scores of reads with these options.
    ///
    /// # Errors
    /// Why the certified path shows nothing with them.
    pub(crate) fn of(settings: &Settings) -> Result<Self, &'static str> {
        if settings.seeds != SeedOptions::USUAL {
            return Err("-k is not 19, -r not 1.5 or -y not 20");
        }
        let usual = Settings::new(&BwaOptions::default());
        let [chains, usual_chains] = [settings, &usual].map(|it| (it.z_drop, it.filter));
        if chains != usual_chains {
            return Err("-W, -D or -d is not bwa's default");
        }
        if settings.most_occurrences < 1 {
            return Err("-c is below 1");
        }
        let GapPenalties { open_deletion, extend_deletion, open_insertion, extend_insertion } =
            settings.gaps;
        let scoring = Self {
            matching: settings.matching,
            mismatch: settings.mismatch,
            open_deletion,
            extend_deletion,
            open_insertion,
            extend_insertion,
            clip: settings.clip_penalties,
            band: settings.band,
            most_occurrences: settings.most_occurrences.unsigned_abs().into(),
        };
        scoring.refusal().map_or(Ok(scoring), Err)
    }

    /// What chains follow from.
    pub(super) fn limits(&self) -> ChainLimits {
        ChainLimits { band: self.band.into(), most_occurrences: self.most_occurrences }
    }

    /// What a mismatch costs more than a match.
    fn of_mismatch(&self) -> i32 {
        self.matching + self.mismatch
    }

    /// Why nothing can be said with these scores, if that is so.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        let gap = (self.open_deletion + self.extend_deletion)
            .min(self.open_insertion + self.extend_insertion + self.matching);
        let positive = self.matching > 0
            && self.mismatch > 0
            && self.extend_deletion > 0
            && self.extend_insertion > 0
            && self.open_deletion >= 0
            && self.open_insertion >= 0
            && self.clip.iter().all(|&penalty| penalty >= 0);
        match () {
            () if !positive => Some("a score is zero or negative"),
            () if self.of_mismatch() >= gap => Some("a gap costs no more than a mismatch"),
            () if self.band < 2 => Some("-w is below 2"),
            () => None,
        }
    }
}

/// Whether all of bwa's seeds of a read are on its diagonal and nowhere else, if no k-mer of
/// [`SEED_BASES`] bases that covers a mismatch occurs in the reference. `repeated` says whether the
/// k-mer that starts at a base of the diagonal occurs twice or more there.
///
/// Then a match of 19 bases or more covers no mismatch, so that it is in a segment.
///
/// * Round 1, SMEMs of 19 and more: in a segment of 19 and more with a k-mer that
///   occurs once, the whole segment is the only one, and occurs once.
/// * Round 2, for each such seed of 28 and more: matches of 19 and more over its middle base that
///   occur at least twice. Such a match has within it a k-mer of 19 over the middle base, which
///   occurs twice too. So there is none if no k-mer over the middle base is repeated.
/// * Round 3 goes on from base `x`, from 0: the shortest match from `x` of 20 and more that occurs
///   less than 20 times, and from past its end again. What covers a mismatch occurs 0 times at
///   20 bases, and is no seed. In a segment, if one of the two k-mers of 19 in the 20 bases
///   occurs once, the 20 bases do. In both cases it ends at `x + 20`.
pub(super) fn seeds_are_unique(mismatches: &[usize], length: usize, repeated: &KmerFlags) -> bool {
    let segment_is_unique = |[start, end]: [usize; 2]| {
        if end - start < SEED_BASES {
            return true;
        }
        let last = end - SEED_BASES;
        if end - start < RESEEDED_BASES {
            return !repeated.all(start..last + 1);
        }
        let middle = start.midpoint(end);
        let first_over = (middle + 1).saturating_sub(SEED_BASES).max(start);
        !repeated.any(first_over..middle.min(last) + 1)
    };
    let third_round_is_unique = |start: usize| {
        let covered = start..start + THIRD_ROUND_BASES;
        !repeated.all(start..start + 2) || mismatches.iter().any(|at| covered.contains(at))
    };
    segments(mismatches, length).all(segment_is_unique)
        && (0..length / THIRD_ROUND_BASES).all(|i| third_round_is_unique(i * THIRD_ROUND_BASES))
}

/// The seed that bwa extends: the longest segment, of equal ones the last; and the bases in the
/// seeds of its chain. `None` if there is no seed.
pub(super) fn extended_seed(mismatches: &[usize], length: usize) -> Option<[usize; 2]> {
    let seeds = segments(mismatches, length).filter(|[start, end]| end - start >= SEED_BASES);
    // Of equal ones the last.
    seeds.max_by_key(|[start, end]| end - start)
}

/// Whether all seeds are in `bases` of the read, so that bwa extends none of them again.
pub(super) fn seeds_are_in(mismatches: &[usize], length: usize, bases: [usize; 2]) -> bool {
    segments(mismatches, length)
        .filter(|[start, end]| end - start >= SEED_BASES)
        .all(|[start, end]| bases[0] <= start && end <= bases[1])
}

/// What an extension from a seed to one end of the read gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DiagonalExtension {
    /// Best score on the way.
    pub(super) best: i32,
    /// Score of what is taken.
    pub(super) taken: i32,
    /// Bases taken.
    pub(super) bases: usize,
}

/// bwa's extension along the diagonal over `length` bases, with mismatches at `offsets` from the
/// seed, which comes with `score`. `None` if the score falls to 0 on the way, where bwa gives up.
///
/// The best score counts at the first base that has it. The end of the read is reached if what is
/// then left of it costs less than clipping (`-L`).
pub(super) fn extend(
    scoring: &Scoring,
    clip: i32,
    score: i32,
    length: usize,
    offsets: impl Iterator<Item = usize>,
) -> Option<DiagonalExtension> {
    let (mut here, mut best, mut best_at, mut at) = (score, score, 0, 0);
    for mismatch in offsets {
        here += (mismatch - at) as i32 * scoring.matching;
        if here > best {
            (best, best_at) = (here, mismatch);
        }
        here -= scoring.mismatch;
        at = mismatch + 1;
        if here <= 0 {
            return None;
        }
    }
    here += (length - at) as i32 * scoring.matching;
    if here > best {
        (best, best_at) = (here, length);
    }
    Some(if here <= best - clip {
        DiagonalExtension { best, taken: best, bases: best_at }
    } else {
        DiagonalExtension { best, taken: here, bases: length }
    })
}

/// Whether every alignment with a gap, of the bases on one side of the seed, scores less than the
/// diagonal up to the same base of the read. `differ(shift, [from, end], count)` says whether the
/// bases `[from, end)` differ in `count` positions at least from the genome, `shift` positions next
/// to the diagonal.
///
/// With one mismatch a gap, which costs more ([`Scoring::refusal`]), cannot pay. Else let an
/// alignment leave the diagonal: what it spares is mismatches of the diagonal, at `of_mismatch`
/// each, by *runs* next to the diagonal, one after each gap, and by inserted bases. All `j` spare
/// no more than `of_mismatch * j`; so gaps that pay insert at most `inserted` bases and reach
/// shifts of at most `reach`. Let a run and the insertion before it spare `c` mismatches,
/// neighbours, the first and last at `f` and `l`.
///
/// * `c = 1`: the gap alone costs more.
/// * `c > 1`: required here is that `[f, l]` differs in `c - 1 + inserted` positions or more at
///   every such shift. Of these at most `inserted` are inserted, so that the run pays for `c - 1`
///   mismatches, and the gap more than one.
///
/// An insertion that goes back to the diagonal spares one mismatch at most, since two neighbours
/// are more than `inserted` bases apart, and costs more. So all that is spared costs more.
pub(super) fn gaps_cost_more(
    scoring: &Scoring,
    mismatches: &[usize],
    differ: impl Fn(isize, [usize; 2], usize) -> bool,
) -> bool {
    if mismatches.len() < 2 {
        return true;
    }
    let spared = scoring.of_mismatch() * mismatches.len() as i32;
    let longest = |open: i32, each: i32| ((spared - open) / each).max(0) as usize;
    let inserted = longest(scoring.open_insertion, scoring.extend_insertion + scoring.matching);
    let longest = inserted.max(longest(scoring.open_deletion, scoring.extend_deletion)) as isize;
    if longest > GREATEST_SHIFT as isize {
        return false;
    }
    let neighbours = (0..mismatches.len())
        .flat_map(|first| (first + 1..mismatches.len()).map(move |last| [first, last]));
    neighbours.into_iter().all(|[first, last]| {
        let (bases, needed) = ([mismatches[first], mismatches[last] + 1], last - first + inserted);
        let long_enough = bases[1] - bases[0] >= needed;
        long_enough && (1..=longest).all(|s| differ(s, bases, needed) && differ(-s, bases, needed))
    })
}

/// Greatest shift that [`gaps_cost_more`] requires, in bases.
pub(super) const GREATEST_SHIFT: usize = 31;
