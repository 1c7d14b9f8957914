//! Bytes in and out: files and pipes of reads, output files, temporary files.
//!
//! An output has its name when it is whole, and not before:
//!
//! ```
//! use seqloom_io::sink::output::Output;
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("out.txt");
//! let mut output = Output::create(&path)?;
//! output.write(b"all of it")?;
//! assert!(!path.exists());
//! if let Some(file) = output.into_file() {
//!     file.commit()?;
//! }
//! assert_eq!(std::fs::read(&path)?, b"all of it");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod alignments;
pub mod bam_index;
pub mod beside;
pub mod fingerprint;
pub mod indexed_fasta;
pub mod kept;
pub mod known_introns;
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
pub mod twice;
