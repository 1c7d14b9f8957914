//! Bytes in and out: files and pipes of reads, output files, temporary files.

pub mod alignments;
pub mod fingerprint;
pub mod kept;
pub mod known_sites;
pub mod random;
pub mod reference;
pub mod sink;
pub mod source;
pub mod spill;
mod sys;
mod text;
