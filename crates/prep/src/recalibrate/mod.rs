//! Base quality score recalibration, as GATK 4.6.2's BaseRecalibrator, ApplyBQSR and
//! GatherBQSRReports do it.
//!
//! ```text
//! records ─► count_stored ─► StoredCounts ─► CountedTable     RecalibrationTable ◄── parse, gather
//!            (in passes)     (on disk)           │              │
//!                                                └─► TableView ◄┘
//!                                                        │ quality by quality
//! records ─► Applier::apply ◄── Applier ◄────────────────┼──► report::write_to
//! ```
//!
//! Tables of many read groups or long reads may be larger than memory: counts have a bound of
//! memory, and of a table the rows by covariate of one quality are in memory at a time.
//!
//! *Invariant:* counts are integers, so neither the order of records nor the number of workers can
//! show in a table.
//!
//! Source: the behaviour of GATK 4.6.2.0, checked by running it. Names of covariates and of the
//! report's arguments are GATK's.

mod applied;
mod apply;
mod baq;
mod cigar;
mod count;
mod counts;
mod covariates;
mod datum;
mod gather;
pub(crate) mod known_sites;
mod log10;
mod mask;
mod passes;
mod prepare;
mod quantize;
mod read_groups;
pub mod report;
mod request;
mod rows;
mod table;
mod view;
mod visit;

#[cfg(test)]
mod tests;

pub use self::applied::{Applied, AppliedCounts, Unfit};
pub use self::apply::{Applier, ApplierError, ApplyOptions, ApplyScratch, DynamicQuantization};
pub use self::count::{CountScratch, Counted, Counter};
pub use self::counts::Counts;
pub use self::gather::{GatherError, gather};
pub use self::passes::most_memory_bytes;
pub use self::request::{
    RecalibrationOutput, RecalibrationRequest, RequestError, TableSource, write_report,
};
pub use self::rows::{QualityRow, QualityRows};
pub use self::table::RecalibrationTable;
pub use self::view::{CountedQuality, CountedTable, StoredCounts, TableError, TableView};
pub use known_sites::{KnownSites, KnownSitesBuilder};

use read_groups::ReadGroups;
use seqloom_format::bam::{Header, RecordError};
use seqloom_runtime::error::{Class, Place, RunError};

/// Highest quality of a base: `!` to `~` of FASTQ.
pub(crate) const MAX_QUALITY: u8 = 93;

/// Number of qualities.
pub(crate) const QUALITIES: usize = MAX_QUALITY as usize + 1;

/// Largest context that is counted, in bases: its table has 4^7 columns for each quality.
pub(crate) const MAX_CONTEXT_BASES: u8 = 7;

/// Largest value that [`RecalibrationOptions::max_cycle`] may have. Reads that long need 2 MB of
/// counts per quality, and 12 MB per read group when they are applied.
pub(crate) const MAX_CYCLE_LIMIT: u32 = 1 << 16;

/// How covariates are counted. The defaults are GATK's.
#[derive(Debug, Clone, PartialEq)]
pub struct RecalibrationOptions {
    /// Bases of lower quality are neither counted nor changed (`--preserve-qscores-less-than`).
    pub preserve_below: u8,
    /// Runs of bases at the ends of a read with at most this quality count as N in contexts
    /// (`--low-quality-tail`).
    pub low_quality_tail: u8,
    /// Longest read, after clipping, in bases (`--maximum-cycle-value`).
    pub max_cycle: u32,
    /// Bases of a context of mismatches (`--mismatches-context-size`).
    pub mismatches_context_bases: u8,
    /// Bases of a context of indels (`--indels-context-size`).
    pub indels_context_bases: u8,
    /// Take the qualities of the `OQ` tag where there is one (`--use-original-qualities`).
    pub use_original_qualities: bool,
    /// Levels of the dynamic quantization in the report (`--quantizing-levels`).
    pub quantizing_levels: u8,
    /// Count insertions and deletions too (`--compute-indel-bqsr-tables`).
    pub indel_tables: bool,
    /// Spread errors over what base alignment quality finds uncertain, with this gap open penalty
    /// in Phred (`--enable-baq`, `--bqsr-baq-gap-open-penalty`, 40 by default).
    pub baq_gap_open_penalty: Option<f64>,
}

impl Default for RecalibrationOptions {
    fn default() -> Self {
        Self {
            preserve_below: 6,
            low_quality_tail: 2,
            max_cycle: 500,
            mismatches_context_bases: 2,
            indels_context_bases: 3,
            use_original_qualities: false,
            quantizing_levels: 16,
            indel_tables: false,
            baq_gap_open_penalty: None,
        }
    }
}

impl RecalibrationOptions {
    /// Whether reads with this header can be counted so.
    ///
    /// # Errors
    /// An option is out of its bounds, or no read group of the header can be counted.
    pub fn check_for(&self, header: &Header) -> Result<(), RecalibrationError> {
        self.check()?;
        let groups = ReadGroups::new(header);
        if groups.names().is_empty() {
            Err(RecalibrationError::NoReadGroups)
        } else if groups.has_any_platform() {
            Ok(())
        } else {
            Err(RecalibrationError::NoPlatforms)
        }
    }

    /// The option that is out of bounds, if any.
    fn check(&self) -> Result<(), RecalibrationError> {
        let is_context = |bases| (1..=MAX_CONTEXT_BASES).contains(&bases);
        let problem = if !is_context(self.mismatches_context_bases) {
            "the context of mismatches must have 1 to 7 bases"
        } else if !is_context(self.indels_context_bases) {
            "the context of indels must have 1 to 7 bases"
        } else if !(1..=MAX_CYCLE_LIMIT).contains(&self.max_cycle) {
            "the largest cycle must be 1 to 65536"
        } else if self.preserve_below > MAX_QUALITY || self.low_quality_tail > MAX_QUALITY {
            "qualities must be 0 to 93"
        } else if self.baq_gap_open_penalty.is_some_and(|it| !(it > 0.0 && it < 1000.0)) {
            "the gap open penalty must be above 0 and below 1000"
        } else {
            return Ok(());
        };
        Err(RecalibrationError::BadOption(problem))
    }
}

/// What an alignment can be wrong about. The order is that of their letters in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Event {
    /// A base is missing.
    Deletion,
    /// A base is too much.
    Insertion,
    /// A base is another.
    Mismatch,
}

impl Event {
    const ALL: [Self; 3] = [Self::Deletion, Self::Insertion, Self::Mismatch];

    fn letter(self) -> &'static str {
        match self {
            Self::Deletion => "D",
            Self::Insertion => "I",
            Self::Mismatch => "M",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.letter() == text)
    }
}

/// Why recalibration cannot go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecalibrationError {
    /// An option is out of its bounds.
    #[error("{0}")]
    BadOption(&'static str),
    /// The header has no read groups.
    #[error("recalibration needs read groups, and the header has no @RG line")]
    NoReadGroups,
    /// No read group of the header has a platform.
    #[error("recalibration needs the platform of read groups, and no @RG line has one (PL)")]
    NoPlatforms,
    /// A malformed record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The read group of a record is not in the header.
    #[error("read {read}: read group {group:?} is not in the header")]
    UnknownReadGroup {
        /// Name of the read.
        read: String,
        /// Its RG tag.
        group: String,
    },
    /// The read group of a record has no platform.
    #[error("read {read}: read group {group:?} has no platform; add PL to its @RG line")]
    NoPlatform {
        /// Name of the read.
        read: String,
        /// ID of its read group.
        group: String,
    },
    /// The read group of a record is not in the table.
    #[error(
        "read {read}: read group {group:?} is not in the recalibration table; recalibrate with a \
         table of these reads, or leave its qualities as they are with --allow-missing-read-group"
    )]
    GroupNotInTable {
        /// Name of the read.
        read: String,
        /// Its read group in tables: PU, or ID where there is no PU.
        group: String,
    },
    /// A read is longer than the largest cycle.
    #[error(
        "read {read} has {length} cycles, more than the {max_cycle} of the table; make the \
         table with a larger --maximum-cycle-value"
    )]
    TooManyCycles {
        /// Name of the read.
        read: String,
        /// Bases of the read (after clipping where covariates are counted).
        length: usize,
        /// Greatest cycle that is allowed.
        max_cycle: u32,
    },
    /// A quality above 93.
    #[error("read {read} has the quality {quality}, above 93")]
    BadQuality {
        /// Name of the read.
        read: String,
        /// The quality.
        quality: u8,
    },
    /// `OQ` (or `BI`, `BD`) has not as many qualities as the read has bases, or unusable ones.
    #[error("read {read}: its {tag} tag does not hold one quality for each of its {bases} bases")]
    BadQualityTag {
        /// Name of the read.
        read: String,
        /// Name of the tag.
        tag: &'static str,
        /// Bases of the read.
        bases: usize,
    },
}

impl RunError for RecalibrationError {
    fn class(&self) -> Class {
        match self {
            Self::BadOption(_) => Class::Usage,
            Self::NoReadGroups
            | Self::NoPlatforms
            | Self::Record(_)
            | Self::UnknownReadGroup { .. }
            | Self::NoPlatform { .. }
            | Self::GroupNotInTable { .. }
            | Self::TooManyCycles { .. }
            | Self::BadQuality { .. }
            | Self::BadQualityTag { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::UnknownReadGroup { read, .. }
            | Self::NoPlatform { read, .. }
            | Self::GroupNotInTable { read, .. }
            | Self::TooManyCycles { read, .. }
            | Self::BadQuality { read, .. }
            | Self::BadQualityTag { read, .. } => Place::default().at_name(read),
            Self::BadOption(_) | Self::NoReadGroups | Self::NoPlatforms | Self::Record(_) => {
                Place::default()
            }
        }
    }
}
