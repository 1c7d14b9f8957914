//! Reads to packed alignment records: the reference index, the alignment engine behind a trait, and
//! the flow of cohorts through it.
//!
//! [`ingest::run`] is the flow; it takes blocks from `seqloom_io::reads`, cuts them into batches
//! and cohorts ([`CohortCutter`]), drives an [`engine`] and hands packed templates to an
//! [`ingest::BatchSink`]. [`scan()`] cuts without aligning, for runs of several processes. An
//! engine searches a loaded [`index`] by [`search`]. These four are public modules; the rest is
//! listed here, in the order in which reads meet it.
//!
//! The index of a reference, and what shows whether it is whole:
//!
//! ```
//! use seqloom_align::index::{BuildOptions, build, check, plan};
//!
//! # let folder = tempfile::tempdir()?;
//! let reference = folder.path().join("ref.fa");
//! std::fs::write(&reference, ">chr1\nGATTACAGATTACATTAGACCA\n")?;
//! let ready = plan(&reference, &BuildOptions::default(), &|_, _| ())?;
//! build(ready, &reference, &|_, _| ())?;
//! assert!(check(&reference).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cohort;
pub mod engine;
pub mod index;
pub mod ingest;
mod input;
mod records;
mod scan;
pub mod search;
#[cfg(test)]
mod test_input;

/// What an input says of its reads besides bases: tags, UMIs, and whose mates they are.
pub use input::error::CohortError;
pub use input::mates::{BamTotals, MateOrder};
pub use input::tags::{InputTags, ReadTags, RecordTags, TagError};
pub use input::umi::{
    OneUmi, ReadStructure, StructureError, UmiError, UmiRules, UmiSource, UmiTags,
};

/// Blocks of reads, cut into batches and cohorts; the same in every run of an input.
pub use cohort::{
    BATCH_READS, Batch, BatchReads, ClosedCohort, CohortCutter, CohortRange, CohortStart, Cut,
    CutRules, LongRead, Pairing, Segment, Shape, recycle,
};

/// Where the cohorts of an input start, for processes that align a part each.
pub use scan::{ScanError, Scanned, scan};

/// Records in input order, with their tags; reads that no engine searches for.
pub use records::tagged::{EmitError, TaggedRecords};
pub use records::unsearched::{UnsearchedCount, UnsearchedRead, UnsearchedReads};
pub use records::{UNSEARCHED, push_bases, push_qualities};
