//! The reference index: built from FASTA ([`build`]), checked before an engine loads it
//! ([`check`](check())).
//!
//! `L` is the number of bases of the reference, all sequences concatenated; the text `T` is that
//! strand followed by its reverse complement, `2L` symbols A C G T = 0 1 2 3; one sentinel smaller
//! than A ends it, so there are `R = 2L + 1` rows. `s` is the log2 of the suffix-array stride.
//! All integers are little-endian.
//!
//! | file | bytes | content |
//! |---|---|---|
//! | `PREFIX.pac` | `floor(L/4) + 2` | the forward strand, 2 bits a base; then see below |
//! | `PREFIX.ann` | text | `L nseq seed`; per sequence `0 NAME COMMENT`, `OFFSET LENGTH NHOLES` |
//! | `PREFIX.amb` | text | `L nseq nholes`; per hole `OFFSET LENGTH BYTE` |
//! | `PREFIX.bwt.2bit.64` | `48 + 64(floor(R/64)+1) + 5(floor(R/2^s)+1) + 16` | see below |
//! | `PREFIX.0123` | `2L` | `T`, a byte a symbol: only for bwa-mem2 itself, only on request |
//! | `PREFIX.fast` | | tables of the certified path: see `fast_table` |
//! | `PREFIX.tsa` | | samples in the order of the text: see `text_samples` |
//! | `PREFIX.alt` | text | names of ALT contigs: never written, honoured when there |
//!
//! | part of `.bwt.2bit.64` | type | content |
//! |---|---|---|
//! | rows | i64 | `R` |
//! | count | 5 x i64 | symbols of `T` smaller than A, C, G, T, end: `0 ... 2L` |
//! | checkpoints | 64 bytes per 64 rows | `occ[4]` i64, `mask[4]` u64: see below |
//! | suffix array, high | i8 per sample | bits 32..39 of `SA[k 2^s]` |
//! | suffix array, low | u32 per sample | the low 32 bits |
//! | sentinel row | i64 | the row whose suffix is `T` itself; it has no bit in any mask |
//! | tag | i64 | `s`; bwa-mem2's own files end before it and have `s = 3` |
//!
//! In `.pac` the first base of a byte is in its top bits; after the bases comes a zero byte if
//! `L % 4 == 0`, then a byte that holds `L % 4`. A checkpoint counts the symbols in the rows before
//! its block (`occ`); bit `63-j` of `mask[c]` says that row `j` of the block is `c`.
//!
//! The layout is that of bwa 0.7.17 (`.pac .ann .amb`) and bwa-mem2 2.2.1 (Vasimuddin et al. 2019,
//! IPDPS, doi:10.1109/IPDPS.2019.00041), the tag that of bwa-mem3. Suffix `k = 0` is the sentinel,
//! `SA[0] = 2L`; the rows after it are the plain suffix array of `T`.
//!
//! A hole is a run of one ambiguous byte. In `.pac` each of its bases is a pseudo-random one:
//! `lrand48() & 3` from seed 11, as in bwa, so that both tools index the same text.

use std::path::{Path, PathBuf};

use seqloom_io::sidecars::with_suffix;

mod annotation;
mod blocks;
mod blockwise;
mod build;
mod bwt;
mod check;
mod companions;
mod error;
mod fast_table;
mod fasta_file;
mod kmer_table;
mod layout;
mod loaded;
mod memory;
mod packed;
mod parts;
mod read;
mod reference;
mod table_error;
#[cfg(test)]
pub(crate) mod test_view;
mod text_samples;
mod without_alt;

#[cfg(test)]
mod build_tests;
#[cfg(test)]
mod check_tests;

pub use build::{BuildOptions, Built, IndexPlan, Method, Phase, build, plan};
pub use check::{Contig, IndexError, IndexInfo, check};
pub use error::BuildError;
pub use fast_table::FastTable;
pub(crate) use fast_table::SEED_BASES;
pub use kmer_table::KmerTable;
pub(crate) use kmer_table::{short_suffixes, symbol};
pub use loaded::{IndexSource, Loaded};
pub use packed::CODE;
pub(crate) use packed::code;
pub(crate) use parts::IndexView;
pub(crate) use parts::SUPERBLOCK_ROWS_LOG2;
pub use parts::{Block, IndexParts, Sequence};
pub use read::Readers;
pub use table_error::TableError;
pub use without_alt::WithoutAlt;

/// The paths of an index: a prefix and the suffixes of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPaths {
    prefix: PathBuf,
}

impl IndexPaths {
    /// The files at `prefix`, by default the path of the FASTA as given (`ref.fa.gz.pac` ...).
    #[must_use]
    pub fn new(prefix: &Path) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// The prefix itself.
    #[must_use]
    pub(crate) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// `PREFIX.suffix`.
    #[must_use]
    pub fn with(&self, suffix: &str) -> PathBuf {
        with_suffix(&self.prefix, &format!(".{suffix}"))
    }

    /// All files that alignment reads, those that need not be there among them.
    #[must_use]
    pub fn all(&self) -> [PathBuf; 5] {
        [self.pac(), self.ann(), self.amb(), self.bwt(), self.alt()]
    }

    /// `PREFIX.pac`, the packed forward strand.
    #[must_use]
    pub fn pac(&self) -> PathBuf {
        self.with("pac")
    }

    /// `PREFIX.ann`, the sequences.
    #[must_use]
    pub fn ann(&self) -> PathBuf {
        self.with("ann")
    }

    /// `PREFIX.amb`, the holes.
    #[must_use]
    pub fn amb(&self) -> PathBuf {
        self.with("amb")
    }

    /// `PREFIX.bwt.2bit.64`, the Burrows-Wheeler transform and the sampled suffix array.
    #[must_use]
    pub fn bwt(&self) -> PathBuf {
        self.with("bwt.2bit.64")
    }

    /// `PREFIX.0123`, the text one byte a symbol (bwa-mem2 only).
    #[must_use]
    pub fn unpacked(&self) -> PathBuf {
        self.with("0123")
    }

    /// `PREFIX.fast`, the tables of the certified path.
    #[must_use]
    pub fn fast(&self) -> PathBuf {
        self.with("fast")
    }

    /// `PREFIX.tsa`, samples of the suffix array in the order of the text.
    #[must_use]
    pub fn text_samples(&self) -> PathBuf {
        self.with("tsa")
    }

    /// `PREFIX.alt`, the names of ALT contigs.
    #[must_use]
    pub(crate) fn alt(&self) -> PathBuf {
        self.with("alt")
    }
}
