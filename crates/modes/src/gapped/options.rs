//! What is searched for and what of it is reported.

use crate::by_score::mates::MateOptions;
use crate::by_score::score::{LengthFunction, Scoring};
use crate::options::{Reported, Strands};

/// How much is done for a read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Seeds grow to so many bases, and further while they are frequent.
    pub seed_bases: u16,
    /// Bases from the end of a seed to that of the next, by the length of the read.
    pub interval: LengthFunction,
    /// Rows of a read's seeds that are looked at, shared among them.
    pub rows: u32,
    /// The same of a read that has no good placement yet.
    pub second_rows: u32,
    /// Gapped extensions that may fail one after the other.
    pub tries: u32,
    /// Bases from seed to seed where a read has no good placement yet.
    pub second_interval: u16,
    /// A placement that is worth so much less than the best one counts as a second one, and no more
    /// than this part of the range of scores.
    pub likely: i32,
    /// See there; 1 for all of the range.
    pub likely_part: i32,
}

/// All options of the modes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GappedOptions {
    /// What alignments are worth.
    pub scoring: Scoring,
    /// How much is done.
    pub effort: Effort,
    /// How many placements are reported.
    pub reported: Reported,
    /// On which strands.
    pub strands: Strands,
    /// Bases cut off at the 5' and the 3' end.
    pub trim: [usize; 2],
    /// What of mates.
    pub mates: MateOptions,
}
