//! Referee: GATK's own expected tables and records, and GATK 4.6.2 run live on random hard reads.
//! Every row of every report and every quality must be equal.
//!
//! Tables and records are read from SEQLOOM_DATA. GATK is found by `seqloom_testkit::gatk`; where
//! it is not installed, only the long tests say so. The short run starts it a few times only.

mod apply;
mod common;
mod gather;
mod hard_reads;
mod live;
mod tables;
