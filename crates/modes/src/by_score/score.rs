//! What an alignment is worth.

use std::ops::Range;

use crate::query::{LONGEST_READ, Query, UNKNOWN};

/// Greatest penalty of a mismatch, of an unknown base, and of a gap: once, and for each base.
pub const MOST_PENALTY: i16 = 30;
/// Greatest score of a base that matches.
pub const MOST_BONUS: i16 = 20;

/// The lowest score that an alignment can have: no base of the longest read matches. What is below
/// is none.
///
/// Kernels count in 16 bits and saturate. Whole reads only lose, from 0 on, so that every score
/// down to this one is exact, and that of what passes the end of a sequence, which costs
/// [`i16::MAX`], is below it. Clipped reads have at most [`MOST_BONUS`] for each base, which is
/// less than that cost: what is over the end is worth nothing.
pub(crate) const LOWEST: i16 = -31_000;
const _: () = assert!(MOST_PENALTY as i32 * LONGEST_READ as i32 <= -(LOWEST as i32));
const _: () = assert!(LOWEST > -i16::MAX);
const _: () = assert!(MOST_BONUS as i32 * (LONGEST_READ as i32) < i16::MAX as i32);

/// How a function of the length of a read grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Not at all.
    Constant,
    /// With the length.
    Linear,
    /// With its square root.
    SquareRoot,
    /// With its natural logarithm.
    Logarithm,
}

/// A function of the length of a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LengthFunction {
    /// How it grows.
    pub growth: Growth,
    /// What is there from the beginning.
    pub constant: f64,
    /// What is added, times the growth.
    pub factor: f64,
}

impl LengthFunction {
    /// One that grows with the length.
    #[must_use]
    pub const fn linear(constant: f64, factor: f64) -> Self {
        Self { growth: Growth::Linear, constant, factor }
    }

    /// Its value for a read of `length` bases.
    #[must_use]
    pub fn at(&self, length: usize) -> f64 {
        let length = length as f64;
        let grown = match self.growth {
            Growth::Constant => 0.0,
            Growth::Linear => length,
            Growth::SquareRoot => length.sqrt(),
            Growth::Logarithm => length.ln(),
        };
        self.constant + self.factor * grown
    }
}

/// What a gap costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GapPenalty {
    /// Cost of a gap of any length, to which its bases add.
    pub open: i16,
    /// For each base.
    pub extend: i16,
}

impl GapPenalty {
    /// A gap of so many bases.
    pub(crate) fn of(self, bases: i64) -> i32 {
        i32::from(self.open) + i32::from(self.extend) * bases as i32
    }

    /// A gap of one base.
    pub(crate) fn first(self) -> i16 {
        self.open + self.extend
    }
}

/// Bowtie 2's scheme of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scoring {
    /// Reads may be clipped.
    pub is_local: bool,
    /// Of a base that matches; 0 where reads are not clipped.
    pub match_bonus: i16,
    /// Of a mismatch at a base of quality 40 or more, and of quality 0.
    pub mismatch: [i16; 2],
    /// All mismatches cost as at quality 40.
    pub ignores_qualities: bool,
    /// Of a base that is not A, C, G or T, in the read or in the reference.
    pub unknown: i16,
    /// A gap in the read: the reference has more.
    pub read_gap: GapPenalty,
    /// A gap in the reference: the read has more.
    pub reference_gap: GapPenalty,
    /// No gap is so near to an end of the read, in bases.
    pub gap_barrier: u16,
    /// Least score of a placement.
    pub minimum: LengthFunction,
    /// Most bases that are not A, C, G or T, of the read and of what it is placed on.
    pub most_unknown: LengthFunction,
}

/// What bounds the scores of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) minimum: i32,
    pub(crate) perfect: i32,
}

impl Scoring {
    /// Bowtie 2's defaults, for whole reads or for clipped ones.
    #[must_use]
    pub fn new(is_local: bool) -> Self {
        let gap = GapPenalty { open: 5, extend: 3 };
        let minimum = if is_local {
            LengthFunction { growth: Growth::Logarithm, constant: 20.0, factor: 8.0 }
        } else {
            LengthFunction::linear(-0.6, -0.6)
        };
        Self {
            is_local,
            match_bonus: if is_local { 2 } else { 0 },
            mismatch: [6, 2],
            ignores_qualities: false,
            unknown: 1,
            read_gap: gap,
            reference_gap: gap,
            gap_barrier: 4,
            minimum,
            most_unknown: LengthFunction::linear(0.0, 0.15),
        }
    }
}

impl Scoring {
    /// What a mismatch costs at a base of quality `quality`.
    #[inline(always)]
    pub(crate) fn mismatch_at(&self, quality: u8) -> i16 {
        let [most, least] = self.mismatch;
        if self.ignores_qualities {
            return most;
        }
        least + (most - least) * i16::from(quality.min(40)) / 40
    }

    /// The bounds of a read of `length` bases. The minimum is cut toward zero, and is 1 at least
    /// where reads are clipped: a placement without any base is none.
    pub(crate) fn bounds(&self, length: usize) -> Bounds {
        let minimum = self.minimum.at(length).trunc() as i32;
        let minimum = if self.is_local { minimum.max(1) } else { minimum };
        Bounds { minimum, perfect: i32::from(self.match_bonus) * length as i32 }
    }

    /// No alignment with a gap is worth more.
    pub(crate) fn most_with_gap(&self, perfect: i32) -> i32 {
        perfect - i32::from(self.read_gap.first().min(self.reference_gap.first()))
    }

    /// The bases after which a gap in the read may be, and those that may be in a gap of the
    /// reference: there are as many bases as the barrier says on both sides.
    pub(crate) fn gaps_within(&self, length: usize) -> [Range<usize>; 2] {
        let barrier = usize::from(self.gap_barrier);
        let end = length.saturating_sub(barrier);
        [barrier.saturating_sub(1)..end, barrier..end]
    }

    /// Most unknown bases of a read of `length` bases and its place.
    pub(crate) fn unknown_at_most(&self, length: usize) -> u32 {
        self.most_unknown.at(length).clamp(0.0, length as f64) as u32
    }

    /// What a mismatch costs at each base of a read.
    pub(crate) fn penalties(&self, query: &Query, out: &mut Vec<i16>) {
        out.clear();
        out.extend(query.codes().iter().zip(query.qualities()).map(|(&code, quality)| {
            if code == UNKNOWN { self.unknown } else { self.mismatch_at(quality) }
        }));
    }
}

#[cfg(test)]
impl Scoring {
    /// Of the bonus, mismatches, unknown bases, and gaps in the read and the reference; whatever
    /// the minimum is.
    pub(crate) fn of(is_local: bool, numbers: [i16; 8], barrier: u16) -> Self {
        let [bonus, most, least, unknown, gaps @ ..] = numbers;
        let function = LengthFunction { growth: Growth::Constant, constant: 0.0, factor: 0.0 };
        Self {
            is_local,
            match_bonus: if is_local { bonus } else { 0 },
            mismatch: [most.max(least), most.min(least)],
            ignores_qualities: false,
            unknown,
            read_gap: GapPenalty { open: gaps[0], extend: gaps[1] },
            reference_gap: GapPenalty { open: gaps[2], extend: gaps[3] },
            gap_barrier: barrier,
            minimum: function,
            most_unknown: function,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_length_are_bowtie_2_s() {
        let t = |growth, constant, factor, length, expected: f64| {
            let value = LengthFunction { growth, constant, factor }.at(length);
            assert!((value - expected).abs() < 1e-9, "{value}");
        };
        t(Growth::Constant, 3.0, 9.0, 100, 3.0);
        t(Growth::Linear, -0.6, -0.6, 100, -60.6);
        t(Growth::SquareRoot, 1.0, 1.15, 100, 12.5);
        t(Growth::Logarithm, 20.0, 8.0, 1, 20.0);
    }
}
