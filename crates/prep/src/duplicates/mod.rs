//! Duplicate marking with the exact decisions of Picard MarkDuplicates, without its second pass.
//!
//! While records stream by, [`read_end`] turns each template into small fixed-size entries
//! ([`PairEnds`], [`FragmentEnd`], [`PairedEndMarker`]). Entries go to partitions by a fixed hash
//! of what makes two of them comparable, so every set of possible duplicates is in one partition
//! and partitions are resolved in parallel, by [`resolve_all`], into one bitmap over
//! templates ([`DuplicateMarks`]); which of a set is the original is decided in `resolve`. The
//! final pass only tests a bit.

pub(crate) mod barcode;
mod entry;
mod five_prime;
mod library;
pub(crate) mod location;
mod mapped_read;
mod marks;
mod mate;
pub(crate) mod metrics;
pub(crate) mod optical;
pub(crate) mod read_end;
mod resolve;
mod resolve_all;
mod sparse;
pub(crate) mod strand;
pub(crate) mod umi;
mod unmapped_and_secondary;

pub use barcode::{BarcodeError, BarcodeTags};
pub(crate) use entry::{Companion, Orientation, UmiForm};
pub use entry::{FragmentEnd, PairEnds, PairedEndMarker};
pub(crate) use library::GroupIndex;
pub use library::{LibraryTable, TooManyReadGroups};
pub(crate) use location::Location;
pub use location::{LocationSource, NamePattern};
pub(crate) use mapped_read::{MappedRead, pair_up};
pub(crate) use marks::DuplicateKind;
pub use marks::{DuplicateMarks, MarkSink, MarkedReads};
pub use mate::NameUsedTwice;
pub(crate) use mate::{MateEnd, pair_mates};
pub use metrics::{
    DuplicateSetHistogram, DuplicationCounters, DuplicationMetrics, SampledPairs, Saturation,
    SetSizes,
};
pub use read_end::{ReadEndError, ReadEndOptions, examine_template};
pub(crate) use resolve::FragmentResolver;
pub use resolve::{PartitionEnds, resolve_pairs, resolve_partition};
pub(crate) use resolve_all::for_each_chunk;
pub use resolve_all::{ResolveError, resolve_all};
pub use sparse::SparseMarks;
pub(crate) use unmapped_and_secondary::{Relative, share_families};

/// What is wrong where a name is that of several templates, and what to do.
pub(crate) const NAME_OF_ITS_OWN: &str = "each template needs a name of its own; was a file given \
    twice, or do several runs use the same names? Leave out what is there twice, or rename the \
    reads of a run";

/// Which of Picard's two behaviours is requested; Picard chooses by the order of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DuplicateMode {
    /// As Picard on query-grouped input: every record of a template takes the template's mark,
    /// and of templates with equal scores the first by tile, x, y is the original, then the first
    /// in the input.
    #[default]
    Query,
    /// As Picard on input sorted by `samtools sort`: only primary mapped records can be marked,
    /// and of equal scores the first by tile, x, y is the original, then the first in the sorted
    /// file.
    Coordinate,
}

/// Which Picard is followed where its releases mark other duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PicardVersion {
    /// Picard 3.5.0: x and y of a read's place have 32 bits, and mates are reads of one name and
    /// one read group.
    #[default]
    V3_5,
    /// Picard 2.27.5: x and y have 16 bits, and mates are reads of one name.
    V2_27,
}

/// Options of duplicate resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateOptions {
    /// Largest distance on the flow cell, in pixels in x and in y, of optical duplicates
    /// (Picard's OPTICAL_DUPLICATE_PIXEL_DISTANCE); `None` looks for none.
    pub optical_distance_px: Option<u32>,
    /// Larger lists are not searched for optical duplicates
    /// (Picard's MAX_OPTICAL_DUPLICATE_SET_SIZE).
    pub max_optical_set: usize,
    /// Duplicates share a UMI up to so many errors, 0 or 1 ([`umi`]), and their families are marked
    /// apart (for MI tags); `None` where UMIs do not count so.
    pub umi_distance: Option<u8>,
    /// Keep apart which duplicates are optical (for DT tags).
    pub writes_optical: bool,
}

impl Default for DuplicateOptions {
    fn default() -> Self {
        Self {
            optical_distance_px: Some(100),
            max_optical_set: 300_000,
            umi_distance: None,
            writes_optical: false,
        }
    }
}
