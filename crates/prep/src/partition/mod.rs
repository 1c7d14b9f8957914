//! Where records wait until the last one is read: partitioned by genome bin, by ordinal or by name,
//! in memory or spilled.

pub(crate) mod collect;
pub(crate) mod frame;
pub(crate) mod genome_bins;
pub(crate) mod numbers;
pub(crate) mod order;
pub(crate) mod redistribute;
pub(crate) mod store;

pub use collect::{
    CollectError, Collected, Collector, Destination, END_PARTITIONS, EndCollector, Grouping,
    SavedCollection,
};
pub use genome_bins::GenomeBins;
pub use numbers::{Numbering, TemplateNumbers};
pub use order::SortOrder;
pub use redistribute::NameSample;
pub use store::{
    Backing, ChunkStore, PhaseResources, SavedStore, SavedValue, StoreScratch, WriteOutError,
    write_out,
};
