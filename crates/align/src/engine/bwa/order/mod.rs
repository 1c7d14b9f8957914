//! The orders in which bwa keeps things that compare as equal: those of klib's sort and tree.

pub(crate) mod introsort;
pub(crate) mod tree;
