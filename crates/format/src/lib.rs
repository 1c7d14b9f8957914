//! Records and codecs of sequencing formats, as pure functions on bytes: no files, no threads.

pub mod bam;
pub mod base_modifications;
pub mod bed;
pub mod bgzf;
pub mod deflate;
pub mod fai;
pub mod fasta;
pub mod fastq;
pub mod hdf5;
pub mod index;
pub mod pod5;
pub mod read_at;
pub mod reads;
pub mod sam;
pub mod sequence_scan;
pub mod signal;
pub mod slow5;
pub mod state;
pub mod templates;
pub mod vcf;
