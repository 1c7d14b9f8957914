//! Bytes in and out: files and pipes of reads, output files, temporary files.

pub mod random;
pub mod sink;
pub mod source;
pub mod spill;
mod sys;
