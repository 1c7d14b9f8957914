//! Preparation of aligned reads: duplicates, sorting, recalibration, metrics. Knows no aligner and
//! no command line.
//!
//! The modules in the order of the flow: records come in through [`input`], pass the [`steps`],
//! wait in a [`partition`] until all are there, and leave through [`finish`]. Between the two,
//! [`duplicates`] are found and base qualities [`recalibrate`]d; [`metrics`] are counted on the
//! way. [`pipeline`] runs what follows input, phase by phase; [`exchange`] is how several processes
//! share the work.
//!
//! What a sorted file says of itself:
//!
//! ```
//! use seqloom_format::bam::Header;
//! use seqloom_prep::partition::SortOrder;
//!
//! let mut header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
//! SortOrder::Coordinate.describe_in(&mut header);
//! assert_eq!(header.sort_order(), Some(&b"coordinate"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod duplicates;
pub mod exchange;
pub mod finish;
mod hash;
pub mod input;
pub mod metrics;
pub mod partition;
pub mod pipeline;
pub mod recalibrate;
pub mod steps;
#[cfg(test)]
mod test_records;

#[cfg(test)]
mod tests;
