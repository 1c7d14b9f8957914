//! The best score of a read near a diagonal: affine gaps, a penalty for each base, 64 diagonals.
//!
//! Cells on one antidiagonal do not depend on each other, so 32 of them are one step: those with an
//! even or those with an odd difference of place and base. What a step needs of the two before
//! it is next to it, shifted by one lane at most. All is in 16 bits and saturates
//! ([`LOWEST`](crate::by_score::score::LOWEST) says why that is enough). The
//! property test next to `traceback` compares it with that, and that with a table of the whole
//! matrix.

use std::ops::Range;

use crate::by_score::score::{GapPenalty, Scoring};
use crate::query::UNKNOWN;
use crate::reference::WALL;

/// Cells of a step.
pub(super) const LANES: usize = 32;
/// Bases of the window before the read's diagonal, and past its end.
pub(super) const MARGIN: usize = 32;
/// Diagonals in the band; the first is 31 before the middle one.
pub(super) const DIAGONALS: usize = 2 * LANES;
/// No score is so low: what is worth this stays so, as nothing is ever added to it where reads are
/// whole, and where they are clipped nothing is worth less than 0.
pub(super) const LOW: i16 = i16::MIN;
/// What it costs to pass the end of a sequence, or to have a gap where none may be: more than any
/// alignment is worth.
const FORBIDDEN: i16 = i16::MAX;

/// The lanes of a step, in registers or in an array.
pub(super) trait Lanes: Copy {
    /// The same in all lanes.
    fn splat(value: i16) -> Self;
    /// Lanes from `at` of what is longer.
    fn load(of: &[i16], at: usize) -> Self;
    fn store(self) -> [i16; LANES];
    /// Sums, differences: saturating.
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    /// `then` where lanes of `self` and `other` are equal, else `otherwise`.
    fn pick(self, other: Self, then: Self, otherwise: Self) -> Self;
    /// In each lane what is in the next one; [`LOW`] in the last.
    fn shifted_down(self) -> Self;
    /// In each lane what is in the one before; [`LOW`] in the first.
    fn shifted_up(self) -> Self;
}

/// For processors without anything better.
impl Lanes for [i16; LANES] {
    fn splat(value: i16) -> Self {
        [value; LANES]
    }

    fn load(of: &[i16], at: usize) -> Self {
        of[at..].first_chunk().copied().unwrap_or([0; LANES])
    }

    fn store(self) -> [i16; LANES] {
        self
    }

    fn add(self, other: Self) -> Self {
        std::array::from_fn(|c| self[c].saturating_add(other[c]))
    }

    fn sub(self, other: Self) -> Self {
        std::array::from_fn(|c| self[c].saturating_sub(other[c]))
    }

    fn max(self, other: Self) -> Self {
        std::array::from_fn(|c| self[c].max(other[c]))
    }

    fn pick(self, other: Self, then: Self, otherwise: Self) -> Self {
        std::array::from_fn(|c| if self[c] == other[c] { then[c] } else { otherwise[c] })
    }

    fn shifted_down(self) -> Self {
        std::array::from_fn(|c| self.get(c + 1).copied().unwrap_or(LOW))
    }

    fn shifted_up(self) -> Self {
        std::array::from_fn(|c| c.checked_sub(1).map_or(LOW, |c| self[c]))
    }
}

/// A read as steps take it: what is said of each base, the last base first, with [`LANES`] more on
/// either side, where nothing is gained or lost.
#[derive(Debug, Default)]
pub(super) struct Profile {
    bases: usize,
    codes: Vec<i16>,
    mismatch: Vec<i16>,
    unknown: Vec<i16>,
    wall: Vec<i16>,
    /// What a gap in the read, after this base, costs more.
    read_barrier: Vec<i16>,
    /// What it costs more that this base is in a gap of the reference.
    reference_barrier: Vec<i16>,
    /// Least score.
    floor: Vec<i16>,
}

impl Profile {
    /// Takes a read in place of what was here.
    pub(super) fn take(&mut self, codes: &[u8], penalties: &[i16], scoring: &Scoring) {
        self.bases = codes.len();
        let inside =
            |out: &mut Vec<i16>, outside: [i16; 2], values: &mut dyn Iterator<Item = i16>| {
                out.clear();
                out.resize(LANES, outside[1]);
                out.extend(values);
                out.resize(codes.len() + 2 * LANES, outside[0]);
            };
        let all = |value: i16| std::iter::repeat_n(value, codes.len());
        let barrier =
            |may_gap: Range<usize>| (0..codes.len()).rev().map(move |at| barrier_at(&may_gap, at));
        let [in_read, in_reference] = scoring.gaps_within(codes.len());
        let floor = if scoring.is_local { 0 } else { LOW };
        inside(&mut self.codes, [9; 2], &mut codes.iter().rev().map(|&code| i16::from(code)));
        inside(&mut self.mismatch, [0; 2], &mut penalties.iter().rev().copied());
        inside(&mut self.unknown, [0; 2], &mut all(scoring.unknown));
        inside(&mut self.wall, [0; 2], &mut all(FORBIDDEN));
        inside(&mut self.read_barrier, [FORBIDDEN; 2], &mut barrier(in_read));
        inside(&mut self.reference_barrier, [FORBIDDEN; 2], &mut barrier(in_reference));
        // Before the first base an alignment may begin anywhere.
        inside(&mut self.floor, [0, floor], &mut all(floor));
    }
}

fn barrier_at(may_gap: &Range<usize>, at: usize) -> i16 {
    if may_gap.contains(&at) { 0 } else { FORBIDDEN }
}

/// Scores of an antidiagonal, as the next ones need them.
#[derive(Clone, Copy)]
struct Front<L> {
    /// Of the last antidiagonal, and of the one before it.
    scores: [L; 2],
    /// What a gap in the read, or in the reference, would come to with one base more.
    read_gap: L,
    reference_gap: L,
    best: L,
}

/// What all steps have in common.
struct Sweep<'a, L> {
    profile: &'a Profile,
    window: &'a [i16],
    bonus: L,
    /// Of the first base of a gap in the read and of a further one; of one in the reference.
    read_gap: [L; 2],
    reference_gap: [L; 2],
}

impl<L: Lanes> Sweep<'_, L> {
    /// One antidiagonal: lane 0 is at base `base - LANES` and at place `place` of the window.
    /// `IS_PLAIN`: the window has bases alone.
    #[inline(always)]
    fn step<const IS_EVEN: bool, const IS_PLAIN: bool>(
        &self,
        front: &mut Front<L>,
        base: usize,
        place: usize,
    ) {
        let profile = self.profile;
        // Bases are in reverse.
        let at = profile.bases + 2 * LANES - 1 - base;
        let of_base = |of: &[i16]| L::load(of, at);
        let none = L::splat(0);
        let window = L::load(self.window, place);
        let mut worth =
            window.pick(of_base(&profile.codes), self.bonus, none.sub(of_base(&profile.mismatch)));
        if !IS_PLAIN {
            let [unknown, wall] = [&profile.unknown, &profile.wall].map(|of| none.sub(of_base(of)));
            worth = window.pick(L::splat(UNKNOWN.into()), unknown, worth);
            worth = window.pick(L::splat(WALL.into()), wall, worth);
        }
        let Front { scores: [last, before], mut read_gap, mut reference_gap, best } = *front;
        if IS_EVEN {
            reference_gap = reference_gap.shifted_down();
        } else {
            read_gap = read_gap.shifted_up();
        }
        let in_read = read_gap.sub(of_base(&profile.read_barrier));
        let in_reference = reference_gap.sub(of_base(&profile.reference_barrier));
        let floor = of_base(&profile.floor);
        let score = before.add(worth).max(floor).max(in_read.max(in_reference));
        let longer = |gap: L, [first, further]: [L; 2]| score.sub(first).max(gap.sub(further));
        *front = Front {
            scores: [score, last],
            read_gap: longer(in_read, self.read_gap),
            reference_gap: longer(in_reference, self.reference_gap),
            best: best.max(score),
        };
    }

    #[inline(always)]
    fn run<const IS_PLAIN: bool>(&self, is_local: bool) -> i16 {
        let (none, low) = (L::splat(0), L::splat(LOW));
        let mut front = Front { scores: [none; 2], read_gap: low, reference_gap: low, best: low };
        // Antidiagonals in twos: first the odd one, whose lane 0 is on the first diagonal.
        for two in 0..self.profile.bases + LANES {
            self.step::<false, IS_PLAIN>(&mut front, two + LANES, two + 1);
            self.step::<true, IS_PLAIN>(&mut front, two + LANES, two + 2);
        }
        let [last, before] = front.scores;
        let end = if is_local { front.best } else { last.max(before) };
        end.store().into_iter().max().unwrap_or(LOW)
    }
}

/// The best score of a read of which base 0 is about at place [`MARGIN`] of `window`, which has
/// [`MARGIN`] more before and one more than that after the read.
#[inline(always)]
pub(super) fn best_score<L: Lanes>(
    profile: &Profile,
    window: &[i16],
    is_plain: bool,
    scoring: &Scoring,
) -> i32 {
    let gap = |gap: GapPenalty| [gap.first(), gap.extend].map(L::splat);
    let sweep = Sweep::<L> {
        profile,
        window,
        bonus: L::splat(scoring.match_bonus),
        read_gap: gap(scoring.read_gap),
        reference_gap: gap(scoring.reference_gap),
    };
    let is_local = scoring.is_local;
    i32::from(if is_plain { sweep.run::<true>(is_local) } else { sweep.run::<false>(is_local) })
}

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod tests;
