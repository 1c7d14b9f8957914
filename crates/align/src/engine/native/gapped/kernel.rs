//! The best score of a read near a diagonal: affine gaps, a penalty for each base, 64 diagonals.
//!
//! Cells on one antidiagonal do not depend on each other, so 32 of them are one step: those with an
//! even or those with an odd difference of place and base. What a step needs of the two in front of
//! it stands beside it, shifted by one lane at most. All is in 16 bits and saturates. The property
//! test beside `traceback` compares it with that, and that with a table of the whole matrix.

use std::ops::Range;

use super::score::Scoring;
use super::window::WALL;
use crate::engine::native::query::UNKNOWN;

/// Cells of a step.
const LANES: usize = 32;
/// Bases of the window in front of the read's diagonal, and behind its end.
pub(super) const MARGIN: usize = 32;
/// Diagonals in the band; the first is 31 in front of the middle one.
pub(super) const DIAGONALS: usize = 2 * LANES;
/// No score is so low.
pub(super) const LOW: i16 = -16_000;

type Lanes = [i16; LANES];
/// With one more on either side.
type Padded = [i16; LANES + 2];

/// A read as steps take it: what is said of each base, the last base first, with [`LANES`] more on
/// either side, where nothing is gained or lost.
#[derive(Debug, Default)]
pub(super) struct Profile {
    bases: usize,
    codes: Vec<i16>,
    mismatch: Vec<i16>,
    unknown: Vec<i16>,
    wall: Vec<i16>,
    /// What a gap in the read, behind this base, costs more.
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
        inside(&mut self.wall, [0; 2], &mut all(-LOW));
        inside(&mut self.read_barrier, [-LOW; 2], &mut barrier(in_read));
        inside(&mut self.reference_barrier, [-LOW; 2], &mut barrier(in_reference));
        // In front of the first base an alignment may begin anywhere.
        inside(&mut self.floor, [0, floor], &mut all(floor));
    }
}

fn barrier_at(may_gap: &Range<usize>, at: usize) -> i16 {
    if may_gap.contains(&at) { 0 } else { -LOW }
}

/// All lanes from `at`.
#[inline(always)]
fn lanes(of: &[i16], at: usize) -> &Lanes {
    of[at..].first_chunk().unwrap_or(&[0; LANES])
}

/// Scores of an antidiagonal, as the next ones need them.
#[derive(Clone, Copy)]
struct Front {
    /// Of the last antidiagonal, and of the one in front of it.
    scores: [Lanes; 2],
    /// What a gap in the read, or in the reference, would come to with one base more.
    read_gap: Padded,
    reference_gap: Padded,
    best: Lanes,
}

/// What all steps have in common.
struct Sweep<'a> {
    profile: &'a Profile,
    window: &'a [i16],
    scoring: &'a Scoring,
}

impl Sweep<'_> {
    /// One antidiagonal: lane 0 is at base `base` and at place `place` of the window. `IS_PLAIN`:
    /// the window has bases alone.
    #[inline(always)]
    fn step<const IS_EVEN: bool, const IS_PLAIN: bool>(
        &self,
        front: &mut Front,
        base: usize,
        place: usize,
    ) {
        let Scoring { match_bonus, read_gap, reference_gap, .. } = *self.scoring;
        // Bases are in reverse: that of lane 0 is `base - LANES` of the read.
        let at = self.profile.bases + 2 * LANES - 1 - base;
        let profile = self.profile;
        let [codes, mismatch] = [&profile.codes, &profile.mismatch].map(|of| lanes(of, at));
        let [unknown, wall] = [&profile.unknown, &profile.wall].map(|of| lanes(of, at));
        let floor = lanes(&profile.floor, at);
        let barriers = [&profile.read_barrier, &profile.reference_barrier].map(|of| lanes(of, at));
        let window = lanes(self.window, place);
        let (of_read, of_reference) = if IS_EVEN { (1, 2) } else { (0, 1) };
        let mut next = Front { read_gap: [LOW; 34], reference_gap: [LOW; 34], ..*front };
        for c in 0..LANES {
            let mut score = if codes[c] == window[c] { match_bonus } else { -mismatch[c] };
            if !IS_PLAIN {
                score = if window[c] == i16::from(UNKNOWN) { -unknown[c] } else { score };
                score = if window[c] == i16::from(WALL) { -wall[c] } else { score };
            }
            let in_read = front.read_gap[c + of_read].saturating_sub(barriers[0][c]);
            let in_reference = front.reference_gap[c + of_reference].saturating_sub(barriers[1][c]);
            let diagonal = front.scores[1][c].saturating_add(score);
            let best = diagonal.max(in_read).max(in_reference).max(floor[c]);
            next.scores[0][c] = best;
            next.scores[1][c] = front.scores[0][c];
            next.read_gap[c + 1] =
                best.saturating_sub(read_gap.first()).max(in_read.saturating_sub(read_gap.extend));
            next.reference_gap[c + 1] = best
                .saturating_sub(reference_gap.first())
                .max(in_reference.saturating_sub(reference_gap.extend));
            next.best[c] = front.best[c].max(best);
        }
        *front = next;
    }

    #[inline(always)]
    fn run<const IS_PLAIN: bool>(&self) -> i16 {
        let mut front = Front {
            scores: [[0; LANES]; 2],
            read_gap: [LOW; 34],
            reference_gap: [LOW; 34],
            best: [LOW; LANES],
        };
        // Antidiagonals in twos: first the odd one, whose lane 0 is on the first diagonal.
        for two in 0..self.profile.bases + LANES {
            self.step::<false, IS_PLAIN>(&mut front, two + LANES, two + 1);
            self.step::<true, IS_PLAIN>(&mut front, two + LANES, two + 2);
        }
        let [last, before] = front.scores;
        let ends = if self.scoring.is_local { [front.best, front.best] } else { [last, before] };
        ends.into_iter().flatten().max().unwrap_or(LOW)
    }
}

/// The best score of a read of which base 0 is about at place [`MARGIN`] of `window`, which has
/// [`MARGIN`] more on either side.
#[inline(always)]
pub(super) fn best_score(
    profile: &Profile,
    window: &[i16],
    is_plain: bool,
    scoring: &Scoring,
) -> i32 {
    let sweep = Sweep { profile, window, scoring };
    i32::from(if is_plain { sweep.run::<true>() } else { sweep.run::<false>() })
}

#[cfg(test)]
#[path = "kernel_tests.rs"]
mod tests;
