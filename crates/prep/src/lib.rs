//! Preparation of aligned reads: duplicates, sorting, flags and metrics. Knows no aligner and no
//! command line.

pub mod barcode;
pub mod collect;
pub mod duplicates;
pub mod encode;
pub mod finish;
mod frame;
pub mod ingest;
pub mod inputs;
pub mod known_sites;
pub mod last_changes;
pub mod layout;
pub mod metrics;
pub mod optical;
pub mod order;
pub mod quality_metrics;
pub mod read_end;
pub mod recalibrate;
pub mod redistribute;
pub mod reference;
pub mod steps;
pub mod store;
pub mod tally;
#[cfg(test)]
mod test_records;
