//! Bytes in and out: files and pipes of reads, output files, temporary files.

pub mod alignments;
pub mod known_sites;
pub mod random;
pub mod reblock;
pub mod reference;
pub mod sink;
pub mod source;
pub mod spill;
pub mod structure;
mod sys;
mod text;
