//! Many alignments side by side: one number of each in an array, and operations on whole arrays.
//!
//! Arrays in safe code, which the compiler turns to vector instructions where a caller is compiled
//! for a processor that has them; as fast as to name the instructions. A [`Unit`] is 8 bits wide
//! where scores stay small, else 16.

pub(super) mod instructions;

use std::ops::{BitAnd, BitOr, Not};

/// A score of one lane.
pub(super) trait Unit:
    Copy + Ord + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    const ZERO: Self;
    /// A price so high that nothing is left.
    const ALL: Self;

    /// A score or a price; the largest in place of a larger one.
    fn new(value: i32) -> Self;
    fn value(self) -> i32;
    /// The number of a column, of which there are 256 or 65,536.
    fn index(at: usize) -> Self;
    fn as_index(self) -> usize;
    /// The number of the next column.
    fn next(self) -> Self;
    /// Not below 0.
    fn less(self, price: Self) -> Self;
    /// The largest in place of a larger sum.
    fn plus(self, other: Self) -> Self;
    /// More by `gain` if two bases are the same, and less by `price` in any case. It may be below 0
    /// only for a type with a sign.
    fn scored(self, same: bool, gain: Self, price: Self) -> Self;

    /// All bits or none.
    #[inline(always)]
    fn mask(of: bool) -> Self {
        if of { !Self::ZERO } else { Self::ZERO }
    }

    /// One of two, by bits of all ones or none: a choice would be made a jump.
    #[inline(always)]
    fn one_of(takes_first: bool, first: Self, second: Self) -> Self {
        let mask = Self::mask(takes_first);
        (mask & first) | (!mask & second)
    }
}

impl Unit for u8 {
    const ZERO: Self = 0;
    const ALL: Self = u8::MAX;

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
    fn less(self, price: Self) -> Self {
        self.saturating_sub(price)
    }

    #[inline(always)]
    fn scored(self, same: bool, gain: Self, price: Self) -> Self {
        self.saturating_add(if same { gain } else { 0 }).saturating_sub(price)
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

impl Unit for i16 {
    const ZERO: Self = 0;
    const ALL: Self = i16::MAX;

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
    fn less(self, price: Self) -> Self {
        self.saturating_sub(price).max(0)
    }

    #[inline(always)]
    fn scored(self, same: bool, gain: Self, price: Self) -> Self {
        self.saturating_add((if same { gain } else { 0 }).wrapping_sub(price))
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
}

/// One number of each of `N` alignments.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(16))]
pub(super) struct Lanes<T, const N: usize>(pub(super) [T; N]);

impl<T: Unit, const N: usize> Lanes<T, N> {
    #[inline(always)]
    pub(super) fn all(value: T) -> Self {
        Self([value; N])
    }

    #[inline(always)]
    fn with(mut self, other: Self, of: impl Fn(T, T) -> T) -> Self {
        for at in 0..N {
            self.0[at] = of(self.0[at], other.0[at]);
        }
        self
    }

    #[inline(always)]
    pub(super) fn larger(self, other: Self) -> Self {
        self.with(other, T::max)
    }

    /// The numbers of the next columns.
    #[inline(always)]
    pub(super) fn next(mut self) -> Self {
        for at in 0..N {
            self.0[at] = self.0[at].next();
        }
        self
    }

    #[inline(always)]
    pub(super) fn less(self, price: Self) -> Self {
        self.with(price, T::less)
    }

    /// See [`Unit::scored`]: for the lanes in which `query` and `target` are the same.
    #[inline(always)]
    pub(super) fn scored(mut self, query: Self, target: Self, gain: Self, price: Self) -> Self {
        for at in 0..N {
            let same = query.0[at] == target.0[at];
            self.0[at] = self.0[at].scored(same, gain.0[at], price.0[at]);
        }
        self
    }

    /// These, but `other` in the lanes in which `score` is above `most`.
    #[inline(always)]
    pub(super) fn where_above(mut self, score: Self, most: Self, other: Self) -> Self {
        for at in 0..N {
            self.0[at] = T::one_of(score.0[at] > most.0[at], other.0[at], self.0[at]);
        }
        self
    }

    #[inline(always)]
    pub(super) fn smaller(self, other: Self) -> Self {
        self.with(other, T::min)
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        self.with(other, T::plus)
    }

    #[inline(always)]
    pub(super) fn times(self, factor: i32) -> Self {
        // Factors are prices of gaps, mostly 1, and there is no multiplication of 8 bits.
        let sum = if factor > 0 { self } else { Self::all(T::ZERO) };
        (1..factor.min(T::ALL.value() + 1)).fold(sum, |sum, _| sum.plus(self))
    }

    /// A mask of the lanes in which this is above `other`.
    #[inline(always)]
    pub(super) fn above(self, other: Self) -> Self {
        self.with(other, |one, two| T::mask(one > two))
    }

    /// A mask of the lanes in which both are the same.
    #[inline(always)]
    pub(super) fn equals(self, other: Self) -> Self {
        self.with(other, |one, two| T::mask(one == two))
    }

    /// These in the lanes of a mask, and 0 in others.
    #[inline(always)]
    pub(super) fn only(self, mask: Self) -> Self {
        self.with(mask, T::bitand)
    }

    /// 0 in the lanes of a mask, and these in others.
    #[inline(always)]
    pub(super) fn without(self, mask: Self) -> Self {
        self.with(mask, |one, mask| one & !mask)
    }

    /// These in the lanes of a mask, and those of `other` in others.
    #[inline(always)]
    pub(super) fn chosen(self, mask: Self, other: Self) -> Self {
        self.only(mask).with(other.without(mask), T::bitor)
    }

    /// These in the lanes in which `score` is not below `most`, and those of `other` in others.
    #[inline(always)]
    pub(super) fn or_below(mut self, most: Self, score: Self, other: Self) -> Self {
        for at in 0..N {
            self.0[at] = T::one_of(score.0[at] >= most.0[at], self.0[at], other.0[at]);
        }
        self
    }

    /// A score that goes on along the diagonal: more by `gain`, which is 1, in the lanes of `same`,
    /// less by `price` in others. One of 0 stays.
    #[inline(always)]
    pub(super) fn continued(self, same: Self, gain: Self, price: Self) -> Self {
        self.plus(self.smaller(gain)).chosen(same, self.less(price))
    }

    /// Whether any lane has a bit.
    #[inline(always)]
    pub(super) fn is_any(self) -> bool {
        self.0.into_iter().fold(T::ZERO, T::bitor) != T::ZERO
    }

    /// The greatest of all, as an index.
    #[inline(always)]
    pub(super) fn greatest(self) -> usize {
        self.0.into_iter().fold(T::ZERO, T::max).as_index()
    }

    /// The least of all, as an index.
    #[inline(always)]
    pub(super) fn least(self) -> usize {
        self.0.into_iter().fold(T::ALL, T::min).as_index()
    }
}
