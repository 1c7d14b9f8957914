//! Bytes in and out: files and pipes of reads, output files, temporary files.

pub mod alignments;
pub mod bam_index;
pub mod beside;
pub mod fingerprint;
pub mod indexed_fasta;
pub mod kept;
pub mod known_sites;
pub mod random;
pub mod random_text;
pub mod reblock;
pub mod reference;
pub mod sequences;
pub mod sink;
pub mod source;
pub mod spill;
pub mod structure;
mod sys;
pub mod text;
