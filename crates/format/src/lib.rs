//! Records and codecs of sequencing formats, as pure functions on bytes: no files, no threads.
//!
//! What all of it turns about is listed here, in the order in which reads meet it; each format has
//! a module of its own below. A header, as BAM has it, through a BGZF block and back:
//!
//! ```
//! use seqloom_format::bgzf::{BlockCompressor, BlockDecompressor};
//! use seqloom_format::Header;
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
mod persist;
pub mod pod5;
mod read_at;
mod reads;
pub mod sam;
mod sequence_scan;
pub mod signal;
pub mod slow5;
mod templates;
pub mod vcf;

#[cfg(test)]
mod tests;

/// Unaligned reads of any format: one buffer, and where the parts of each read are in it.
pub use reads::{MateOfPair, ReadBlock, ReadSpans, Span};

/// Aligned records by template, as BAM has them.
pub use templates::PackedTemplates;

/// The header of SAM and BAM.
pub use bam::{Header, HeaderError, Reference};

/// A BAM record in its bytes, and what can be wrong with it.
pub use bam::{AuxValue, Flags, RecordError, RecordRef, framed_records};

/// BAI and CSI, built while a file is written.
pub use index::{IndexBuilder, IndexedRegion};

/// A nanopore read and its file's header, whatever the format.
pub use signal::{AuxiliaryField, AuxiliaryType, SignalHeader, SignalRead};

/// The bases of a FASTA while it is read.
pub use sequence_scan::{SequenceScanError, SequenceScanner, SequenceSink};

/// Bytes of a file at any place: what HDF5 and POD5 are read from.
pub use read_at::ReadAt;

/// Values as bytes, for runs that are resumed.
pub use persist::{MalformedState, Persist};
