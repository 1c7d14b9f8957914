//! Bytes out: files that have their final name only when they are whole.

pub mod atomic;
pub mod output;
pub mod staging;
