//! Chains of seeds: made, weighed, and chosen, as bwa does.

pub(crate) mod build;
pub(super) mod filter;
pub(super) mod long_reads;
pub(crate) mod occurrences;
