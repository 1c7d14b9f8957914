//! Bytes out: files that have their final name only when they are whole.

pub(crate) mod atomic;
pub(crate) mod output;
pub(crate) mod staging;
