//! What is searched for and what of it is reported.

use crate::options::{Reported, Strands};
use crate::pairs::PairOptions;

/// Which placements count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// At most so many mismatches in all (Bowtie's `-v`).
    Mismatches(u8),
    /// At most so many in the first bases, and a sum of qualities over all mismatches
    /// (Bowtie's `-n -l -e`).
    Seed(SeedAcceptance),
}

/// See [`Acceptance::Seed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedAcceptance {
    /// Bases of the seed; that of a shorter read is the whole of it.
    pub bases: usize,
    /// Most mismatches in the seed.
    pub mismatches: u8,
    /// Greatest sum of the qualities of all mismatches.
    pub quality_ceiling: u32,
    /// Qualities are rounded as Maq does: to 0, 10, 20 and 30.
    pub rounds: bool,
}

impl Acceptance {
    /// Most mismatches where the search counts them.
    pub(super) fn most(self) -> u8 {
        match self {
            Self::Mismatches(most) => most,
            Self::Seed(seed) => seed.mismatches,
        }
    }

    /// Bases, of a read of so many, where the search counts mismatches.
    pub(super) fn searched_bases(self, length: usize) -> usize {
        match self {
            Self::Mismatches(_) => length,
            Self::Seed(seed) => seed.bases.min(length),
        }
    }
}

/// All options of the mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UngappedOptions {
    /// Which placements count.
    pub acceptance: Acceptance,
    /// How many are reported.
    pub reported: Reported,
    /// A read with more placements counts as unmapped (`-m`).
    pub max_placements: Option<u32>,
    /// Only placements with the fewest mismatches count (`--best --strata`).
    pub best_stratum: bool,
    /// On which strands.
    pub strands: Strands,
    /// Bases cut off at the 5' and the 3' end.
    pub trim: [usize; 2],
    /// Which placements of mates make a pair.
    pub pairs: PairOptions,
}
