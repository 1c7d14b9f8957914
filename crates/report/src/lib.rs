//! Reports: what was counted, in the layouts that other tools read.
//!
//! [`picard`]'s metrics, [`flagstat`], [`idxstats`] and [`samtools_stats`] are text; [`run`] is the
//! JSON report of a run; a [`page`] of HTML has sections about [`quality`], with a [`plot`] where
//! that shows more.
//!
//! Flags, as samtools prints their counts:
//!
//! ```
//! use seqloom_prep::metrics::Tally;
//! use seqloom_report::flagstat::write_flagstat;
//!
//! let mut text = String::new();
//! write_flagstat(&mut text, &Tally::default())?;
//! assert!(text.starts_with("0 + 0 in total (QC-passed reads + QC-failed reads)\n"));
//! # Ok::<(), std::fmt::Error>(())
//! ```

pub mod flagstat;
pub mod idxstats;
pub mod page;
pub mod picard;
pub mod plot;
pub mod quality;
pub mod run;
pub mod samtools_stats;
