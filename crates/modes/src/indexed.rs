//! A loaded index with the table by which searches in it begin.

use super::options::Strands;
use super::reference::Reference;
use seqloom_align::index::{IndexError, IndexSource, Loaded, Starts};
use seqloom_align::search::rows::Rows;
use seqloom_align::search::text::Genome;

/// Bases of the strings with which searches begin, at most.
const START_BASES: usize = 12;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Indexed {
    loaded: Loaded,
    starts: Starts,
    /// Strings of so many bases occur by chance once or less.
    pub(super) chance_bases: u16,
}

/// What strings are searched in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) starts: &'a Starts,
}

impl Indexed {
    /// Reads an index.
    pub(super) fn read(source: IndexSource<'_>) -> Result<Self, IndexError> {
        let loaded = Loaded::read(source)?;
        let parts = loaded.parts();
        let starts = Rows::new(parts).starts(Starts::bases_for(parts.bases, START_BASES));
        let chance_bases = (1..32).find(|&bases| 1 << (2 * bases) >= 2 * parts.bases);
        Ok(Self { loaded, starts, chance_bases: chance_bases.unwrap_or(32) })
    }

    /// Memory besides that of the index itself, for a reference of so many bases.
    pub(super) fn table_bytes(bases: u64) -> u64 {
        Starts::size_bytes(Starts::bases_for(bases, START_BASES))
    }

    /// Bases of the reference.
    pub(super) fn bases(&self) -> u64 {
        self.loaded.parts().bases
    }

    /// What strings are searched in.
    pub(super) fn tables(&self) -> Tables<'_> {
        Tables { rows: Rows::new(self.loaded.parts()), starts: &self.starts }
    }

    /// The reference, where placements are requested on these strands.
    pub(super) fn reference(&self, strands: Strands) -> Reference<'_> {
        let parts = self.loaded.parts();
        let genome = Genome { packed: parts.packed, bases: parts.bases };
        let (sequences, holes) = (self.loaded.sequences(), self.loaded.holes());
        Reference { genome, sequences, holes, strands }
    }
}
