//! Seeds: the searches for them, `smems` (round 1) and `seeds` (rounds 2 and 3), both by
//! `longest_match`. The certified path uses them too, for reads of which a `diagonal` is known.

mod diagonal;
mod longest_match;
mod seeds;
mod smems;

pub(crate) use diagonal::{DiagonalFacts, KmerFlags, MOST_MISMATCHES, Mismatches, segments};
pub(crate) use seeds::{RESEEDED_BASES, SeedInterval, SeedSearch};
pub(crate) use smems::{CollectedSmems, Kmers, Smem, SmemSearch};

use crate::engine::bwa::settings::GAP;
use crate::index::{IndexParts, KmerTable, code};
use crate::search::rows::{Interval, Rows};

/// The index that searches read: the BWT, and the k-mer table at which they start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchIndex<'a> {
    pub(crate) rows: Rows<'a>,
    pub(crate) kmer_table: &'a KmerTable,
}

impl<'a> SearchIndex<'a> {
    pub(crate) fn new(parts: IndexParts<'a>, kmer_table: &'a KmerTable) -> Self {
        Self { rows: Rows::new(parts), kmer_table }
    }

    /// The suffix array interval of k-mer `number`.
    #[inline]
    pub(crate) fn start(&self, number: usize) -> Interval {
        Interval::of_kmer(self.kmer_table, number)
    }
}

/// Appends the codes that bwa has for letters: 0 to 3 for bases, 4 for others, and 5 for a gap.
pub(super) fn append_codes(letters: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + letters.len(), 0);
    for (place, &letter) in out[start..].iter_mut().zip(letters) {
        *place = if letter == b'-' { GAP } else { code(letter) };
    }
}
