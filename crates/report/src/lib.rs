//! Rows to text: what was counted, in the layouts that other tools read.

pub mod flagstat;
pub mod idxstats;
pub mod page;
pub mod picard;
pub mod plot;
pub mod quality;
pub mod run;
pub mod samtools_stats;
