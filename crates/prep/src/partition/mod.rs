//! Where records wait until the last one is read: partitioned by genome bin, by ordinal or by name,
//! in memory or spilled.

pub mod collect;
pub(crate) mod frame;
pub mod genome_bins;
pub mod numbers;
pub mod order;
pub mod redistribute;
pub mod store;
