//! Rows to text: what was counted, in the layouts that other tools read.
//!
//! What was counted, as samtools prints it:
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
