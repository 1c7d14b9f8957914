//! Records and codecs of sequencing formats, as pure functions on bytes: no files, no threads.
//!
//! A header, as BAM has it, through a BGZF block and back:
//!
//! ```
//! use seqloom_format::bam::Header;
//! use seqloom_format::bgzf::{BlockCompressor, BlockDecompressor};
//!
//! let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
//! let (mut block, mut bytes) = (Vec::new(), Vec::new());
//! BlockCompressor::new(6)?.compress(&header.encode()?, &mut block)?;
//! BlockDecompressor::new().decompress(&block, &mut bytes)?;
//! let (again, _) = Header::decode(&bytes)?;
//! assert_eq!(again.references()[0].length, 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bam;
pub mod bam_deflate;
pub mod base_modifications;
pub mod bed;
pub mod bgzf;
pub mod deflate;
pub mod fai;
pub mod fasta;
pub mod fastq;
pub mod hdf5;
pub mod index;
pub mod introns;
pub mod names;
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

#[cfg(test)]
mod tests;
