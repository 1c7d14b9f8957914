//! Preparation of aligned reads: duplicates, sorting, flags and metrics. Knows no aligner and no
//! command line.

pub mod collect;
pub mod duplicates;
pub mod encode;
pub mod finish;
pub mod known_sites;
pub mod layout;
pub mod metrics;
pub mod optical;
pub mod read_end;
pub mod recalibrate;
pub mod reference;
pub mod store;
pub mod tally;
#[cfg(test)]
mod test_records;
