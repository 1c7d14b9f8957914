//! What is searched for and what of it is reported.

use crate::by_score::mates::MateOptions;
use crate::by_score::score::{Growth, LengthFunction, Scoring};
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

/// Bowtie 2's presets, which say how much is done for a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// Few seeds.
    VeryFast,
    /// Some more.
    Fast,
    /// What Bowtie 2 does without an option.
    Sensitive,
    /// Many seeds.
    VerySensitive,
}

impl Effort {
    /// About Bowtie 2's seeds, which are as long and as near to each other.
    #[must_use]
    pub fn of(preset: Preset, is_local: bool) -> Self {
        let root =
            |constant, factor| LengthFunction { growth: Growth::SquareRoot, constant, factor };
        let (seed_bases, interval) = match (preset, is_local) {
            (Preset::VeryFast | Preset::Fast, false) => (22, root(0.0, 2.5)),
            (Preset::VeryFast, true) => (22, root(1.0, 2.0)),
            (Preset::Fast, true) => (22, root(1.0, 1.75)),
            (Preset::Sensitive, false) => (22, root(1.0, 1.15)),
            (Preset::Sensitive, true) => (20, root(1.0, 0.75)),
            (Preset::VerySensitive, _) => (20, root(1.0, 0.5)),
        };
        let (second_rows, tries, second_interval) = match preset {
            Preset::VeryFast => (2560, 5, 6),
            Preset::Fast => (2560, 10, 5),
            Preset::Sensitive => (2560, 15, 4),
            Preset::VerySensitive => (4096, 20, 2),
        };
        // More rows in whole reads: there Bowtie 2 is right more often where it is sure.
        let rows = if is_local { 256 } else { 1024 };
        // No more reads are wrong at MAPQ 20 than Bowtie 2's, and as many are there: measured on
        // chr20, 50 bases, 0.1 to 1 % errors. Clipped reads that are short have little room.
        let (likely, likely_part) = match (preset, is_local) {
            (Preset::VerySensitive, _) => (10, 1),
            (_, false) => (12, 1),
            (_, true) => (10, 8),
        };
        Self {
            seed_bases,
            interval,
            rows,
            second_rows,
            tries,
            second_interval,
            likely,
            likely_part,
        }
    }
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

impl GappedOptions {
    /// Bowtie 2's defaults: the best placement of whole reads, or of clipped ones.
    #[must_use]
    pub fn new(is_local: bool) -> Self {
        Self {
            scoring: Scoring::new(is_local),
            effort: Effort::of(Preset::Sensitive, is_local),
            reported: Reported::AtMost(1),
            strands: Strands::Both,
            trim: [0; 2],
            mates: MateOptions::default(),
        }
    }
}
