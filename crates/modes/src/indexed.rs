//! A loaded index with the table by which searches in it begin.

use super::options::Strands;
use super::reference::Reference;
use seqloom_align::index::{IndexError, IndexSource, KmerTable, Loaded};
use seqloom_align::search::{Genome, Rows};

/// Bases of the strings with which searches begin, at most.
const KMER_BASES: usize = 12;

/// The index and the table of its k-mers.
#[derive(Debug)]
pub(super) struct Indexed {
    loaded: Loaded,
    kmer_table: KmerTable,
    /// Strings of so many bases occur by chance once or less.
    pub(super) chance_bases: u16,
}

/// What strings are searched in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) kmer_table: &'a KmerTable,
}

impl Indexed {
    /// Reads an index.
    pub(super) fn read(source: IndexSource<'_>) -> Result<Self, IndexError> {
        let loaded = Loaded::read(source)?;
        let parts = loaded.parts();
        let kmer_table = Rows::new(parts).kmer_table(KmerTable::bases_for(parts.bases, KMER_BASES));
        let chance_bases = (1..32).find(|&bases| 1 << (2 * bases) >= 2 * parts.bases);
        Ok(Self { loaded, kmer_table, chance_bases: chance_bases.unwrap_or(32) })
    }

    /// Memory besides that of the index itself, for a reference of so many bases.
    pub(super) fn table_bytes(bases: u64) -> u64 {
        KmerTable::size_bytes(KmerTable::bases_for(bases, KMER_BASES))
    }

    /// Bases of the reference.
    pub(super) fn bases(&self) -> u64 {
        self.loaded.parts().bases
    }

    /// What strings are searched in.
    pub(super) fn tables(&self) -> Tables<'_> {
        Tables { rows: Rows::new(self.loaded.parts()), kmer_table: &self.kmer_table }
    }

    /// The reference, where placements are requested on these strands.
    pub(super) fn reference(&self, strands: Strands) -> Reference<'_> {
        let parts = self.loaded.parts();
        let genome = Genome { packed: parts.packed, bases: parts.bases };
        let (sequences, holes) = (self.loaded.sequences(), self.loaded.holes());
        Reference { genome, sequences, holes, strands }
    }
}
