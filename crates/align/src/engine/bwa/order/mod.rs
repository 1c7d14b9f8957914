//! The orders in which bwa keeps things that compare as equal.

pub(super) mod introsort;
