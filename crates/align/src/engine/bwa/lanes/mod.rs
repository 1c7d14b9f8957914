//! SIMD by lanes: many alignments at once, each in a lane of the same vectors.
//!
//! Arrays in safe code, which the compiler turns to vector instructions where a caller is compiled
//! for a processor that has them; as fast as intrinsics. A [`LaneScore`] has 8 bits where scores
//! stay small, else 16.

pub(super) mod instructions;

use std::ops::{BitAnd, BitOr, Not};

/// A score of one lane.
pub(super) trait LaneScore:
    Copy + Ord + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    const ZERO: Self;
    /// A penalty that no score survives.
    const MAX: Self;

    /// A score or a penalty, saturated.
    fn new(value: i32) -> Self;
    fn value(self) -> i32;
    /// The number of a column, of which there are 256 or 65,536.
    fn index(at: usize) -> Self;
    fn as_index(self) -> usize;
    /// The number of the next column.
    fn next(self) -> Self;
    /// Saturates at 0.
    fn minus(self, penalty: Self) -> Self;
    /// Saturates at the largest.
    fn plus(self, other: Self) -> Self;
    /// More by `gain` if two bases are the same, and less by `penalty` in any case. It may be below
    /// 0 only for a type with a sign.
    fn scored(self, same: bool, gain: Self, penalty: Self) -> Self;

    /// A mask: all bits or none.
    #[inline(always)]
    fn mask(of: bool) -> Self {
        if of { !Self::ZERO } else { Self::ZERO }
    }

    /// One of two, by a mask: a conditional would become a branch.
    #[inline(always)]
    fn select(takes_first: bool, first: Self, second: Self) -> Self {
        let mask = Self::mask(takes_first);
        (mask & first) | (!mask & second)
    }
}

impl LaneScore for u8 {
    const ZERO: Self = 0;
    const MAX: Self = u8::MAX;

    fn new(value: i32) -> Self {
        value.clamp(0, Self::MAX.into()) as Self
    }

    fn value(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn index(at: usize) -> Self {
        at as Self
    }

    fn as_index(self) -> usize {
        self.into()
    }

    #[inline(always)]
    fn next(self) -> Self {
        self.wrapping_add(1)
    }

    #[inline(always)]
    fn minus(self, penalty: Self) -> Self {
        self.saturating_sub(penalty)
    }

    #[inline(always)]
    fn scored(self, same: bool, gain: Self, penalty: Self) -> Self {
        self.saturating_add(if same { gain } else { 0 }).saturating_sub(penalty)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl LaneScore for i16 {
    const ZERO: Self = 0;
    const MAX: Self = i16::MAX;

    fn new(value: i32) -> Self {
        value.clamp(0, Self::MAX.into()) as Self
    }

    fn value(self) -> i32 {
        self.into()
    }

    #[inline(always)]
    fn index(at: usize) -> Self {
        at as Self
    }

    fn as_index(self) -> usize {
        (self as u16).into()
    }

    #[inline(always)]
    fn next(self) -> Self {
        self.wrapping_add(1)
    }

    #[inline(always)]
    fn minus(self, penalty: Self) -> Self {
        self.saturating_sub(penalty).max(0)
    }

    #[inline(always)]
    fn scored(self, same: bool, gain: Self, penalty: Self) -> Self {
        self.saturating_add((if same { gain } else { 0 }).wrapping_sub(penalty))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// A vector: one value of each of `LANES` alignments.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(16))]
pub(super) struct Lanes<Score, const LANES: usize>(pub(super) [Score; LANES]);

impl<Score: LaneScore, const LANES: usize> Lanes<Score, LANES> {
    #[inline(always)]
    pub(super) fn splat(value: Score) -> Self {
        Self([value; LANES])
    }

    #[inline(always)]
    fn with(mut self, other: Self, of: impl Fn(Score, Score) -> Score) -> Self {
        for at in 0..LANES {
            self.0[at] = of(self.0[at], other.0[at]);
        }
        self
    }

    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        self.with(other, Score::max)
    }

    /// The numbers of the next columns.
    #[inline(always)]
    pub(super) fn next(mut self) -> Self {
        for at in 0..LANES {
            self.0[at] = self.0[at].next();
        }
        self
    }

    #[inline(always)]
    pub(super) fn minus(self, penalty: Self) -> Self {
        self.with(penalty, Score::minus)
    }

    /// See [`LaneScore::scored`]: for the lanes in which `query` and `target` are the same.
    #[inline(always)]
    pub(super) fn scored(mut self, query: Self, target: Self, gain: Self, penalty: Self) -> Self {
        for at in 0..LANES {
            let same = query.0[at] == target.0[at];
            self.0[at] = self.0[at].scored(same, gain.0[at], penalty.0[at]);
        }
        self
    }

    /// These, but `other` in the lanes in which `score` is above `most`.
    #[inline(always)]
    pub(super) fn blend_where_greater(mut self, score: Self, most: Self, other: Self) -> Self {
        for at in 0..LANES {
            self.0[at] = Score::select(score.0[at] > most.0[at], other.0[at], self.0[at]);
        }
        self
    }

    #[inline(always)]
    pub(super) fn min(self, other: Self) -> Self {
        self.with(other, Score::min)
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, Score::plus)
    }

    #[inline(always)]
    pub(super) fn times(self, factor: i32) -> Self {
        // Factors are penalties of gaps, mostly 1, and there is no multiplication of 8 bits.
        let sum = if factor > 0 { self } else { Self::splat(Score::ZERO) };
        (1..factor.min(Score::MAX.value() + 1)).fold(sum, |sum, _| sum.plus(self))
    }

    /// A mask of the lanes in which this is above `other`.
    #[inline(always)]
    pub(super) fn greater_than(self, other: Self) -> Self {
        self.with(other, |one, two| Score::mask(one > two))
    }

    /// A mask of the lanes in which both are the same.
    #[inline(always)]
    pub(super) fn equal_to(self, other: Self) -> Self {
        self.with(other, |one, two| Score::mask(one == two))
    }

    /// These in the lanes of a mask, and 0 in others.
    #[inline(always)]
    pub(super) fn and(self, mask: Self) -> Self {
        self.with(mask, Score::bitand)
    }

    /// 0 in the lanes of a mask, and these in others.
    #[inline(always)]
    pub(super) fn and_not(self, mask: Self) -> Self {
        self.with(mask, |one, mask| one & !mask)
    }

    /// These in the lanes of a mask, and those of `other` in others.
    #[inline(always)]
    pub(super) fn blend(self, mask: Self, other: Self) -> Self {
        self.and(mask).with(other.and_not(mask), Score::bitor)
    }

    /// These in the lanes in which `score` is not below `most`, and those of `other` in others.
    #[inline(always)]
    pub(super) fn blend_where_less(mut self, most: Self, score: Self, other: Self) -> Self {
        for at in 0..LANES {
            self.0[at] = Score::select(score.0[at] >= most.0[at], self.0[at], other.0[at]);
        }
        self
    }

    /// Scores one base further along the diagonal: plus `gain`, which is 1, in the lanes of `same`,
    /// minus `penalty` in others. A score of 0 stays.
    #[inline(always)]
    pub(super) fn plus_substitution(self, same: Self, gain: Self, penalty: Self) -> Self {
        self.plus(self.min(gain)).blend(same, self.minus(penalty))
    }

    /// Whether any lane is not 0.
    #[inline(always)]
    pub(super) fn any(self) -> bool {
        self.0.into_iter().fold(Score::ZERO, Score::bitor) != Score::ZERO
    }

    /// The maximum over the lanes, as an index.
    #[inline(always)]
    pub(super) fn max_lane(self) -> usize {
        self.0.into_iter().fold(Score::ZERO, Score::max).as_index()
    }

    /// The minimum over the lanes, as an index.
    #[inline(always)]
    pub(super) fn min_lane(self) -> usize {
        self.0.into_iter().fold(Score::MAX, Score::min).as_index()
    }
}
