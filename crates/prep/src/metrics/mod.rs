//! What is counted of the records that are written: flags and sequences, depth, and what Picard's
//! collectors and `samtools stats` count.

mod depth;
pub(crate) mod quality;
pub(crate) mod tally;

pub use depth::{DepthSummary, ReferenceDepth};
pub use quality::{
    ADAPTERS, AlignmentSummaryCounts, AlignmentSummaryMetrics, Category, CycleBases,
    GatheredMetrics, GcWindows, Histogram, InsertSizeMetrics, MetricsRequest, MetricsVisitors,
    PairOrientation, QualityByCycleCounts, QualityDistributionCounts, QualityYieldCounts,
    ReadGroupNames, ReadLengths, SamtoolsStatsCounts,
};
pub use tally::{FlagCounts, ReferenceCounts, TalliedRecord, Tally};
