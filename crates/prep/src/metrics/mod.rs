//! What is counted of the records that are written: flags and sequences, depth, and what Picard's
//! collectors and `samtools stats` count.

mod depth;
pub mod quality;
pub(crate) mod tally;

pub use depth::{DepthSummary, ReferenceDepth};
pub use tally::{FlagCounts, ReferenceCounts, TalliedRecord, Tally};
