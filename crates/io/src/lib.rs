//! Bytes in and out: files and pipes of reads, output files, temporary files.
//!
//! In the order of use: reads come from a [`ReadSource`], alignments from an [`AlignmentSource`],
//! both claimed by many workers at once; what a run sorts waits in a [`SpillFile`]; an [`Output`]
//! has its name when it is whole, and not before:
//!
//! ```
//! use seqloom_io::Output;
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
//!
//! What belongs to one of these is in its module: [`reads`], [`alignments`], [`spill`]. Of files of
//! one kind each has its own:
//!
//! * [`text`] front to back, decompressed; [`sequences`] for reads that are looked up by name.
//! * [`reference`](mod@reference) in the order of a header; [`known_sites`] and [`known_introns`]
//!   on it.
//! * [`cram`]: bases that an input of CRAM refers to, and what can be wrong with a container.
//! * [`compression_layout`] and [`reblock`]: whether several threads can read a file, and files
//!   rewritten so that they can.
//! * [`sidecars`]: names of files next to another, such as its index.

mod alignment_index;
mod checkpoint;
pub mod compression_layout;
pub mod cram;
mod fingerprint;
mod indexed_fasta;
mod input;
pub mod known_introns;
pub mod known_sites;
mod positioned;
pub mod reblock;
pub mod reference;
mod seekable_text;
pub mod sequences;
pub mod sidecars;
mod sink;
pub mod spill;
mod spooled;
mod sys;
pub mod text;

/// Readers of reads and of alignments.
pub use input::{
    alignments,
    error::InputError,
    malformed::{Malformed, RecordPlace},
    reads,
};

/// Reads of FASTQ, FASTA and unaligned BAM and CRAM, claimed in chunks by many workers.
pub use reads::{Fetch, FetchScratch, InputBlock, ReadSource, ReadsError, SourceOptions};

/// Alignments of BAM, SAM and CRAM, likewise.
pub use alignments::{AlignmentError, AlignmentOptions, AlignmentScratch, AlignmentSource};

/// Regions of a sorted file of alignments.
pub use alignment_index::{AlignmentIndex, AlignmentIndexError, RecordStart};

/// Any part of a reference, by its `.fai`.
pub use indexed_fasta::{IndexedFasta, IndexedFastaError};

/// Any part of a text, plain or in BGZF.
pub use seekable_text::{SeekableText, TextError, TextScratch};

/// Any part of a plain file.
pub use positioned::PositionedFile;

/// An input that is read more than once, a pipe too.
pub use spooled::SpooledInput;

/// Whether a file is the same as before.
pub use fingerprint::Fingerprint;

/// Compressed, checksummed pieces in a file without a name.
pub use spill::{SpillError, SpillFile};

/// A folder of what a run has done, for another process to resume from.
pub use checkpoint::{CheckpointError, CheckpointFolder, FoundManifest};

/// A file, pipe or device that is written once, front to back.
pub use sink::output::{Output, OutputError};

/// Files that get their names when they are complete, one by one or together.
pub use sink::atomic::{AtomicFile, AtomicFileError, Publication, is_direct, remove_stale};

/// A folder that gets its name when it is complete.
pub use sink::staging::{StagedFolder, remove_leftovers};
