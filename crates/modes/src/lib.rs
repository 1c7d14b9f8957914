//! Alignment other than bwa's, on the same index: an engine a mode, and what they share.
//!
//! * [`ungapped`]: every placement with a few mismatches and no gap, as Bowtie.
//! * [`gapped`]: the best placements by score, whole or clipped, as Bowtie 2.
//! * [`spliced`]: the best placements over introns, as HISAT2.
//!
//! All are a `Placer`, which is driven by groups of reads: it finds their
//! placements on an index (`indexed`), and hands out the records of one template after the other.
//! What the two modes by score have in common besides that, the writing of records above all, is in
//! `by_score`; a mode says there only what it words in its own way.
//!
//! Which of a read's placements are reported, and which pairs are proper, the modes have in common.
//! Two reads that are aligned without gaps:
//!
//! ```
//! use seqloom_align::engine::{BatchEngine, EngineReads, Origin, Read, RecordSink};
//! use seqloom_align::index::{BuildOptions, IndexSource, build, check, plan};
//! use seqloom_modes::ungapped::{Acceptance, UngappedEngine, UngappedOptions};
//! use seqloom_modes::{Orientation, PairOptions, Reported, Strands};
//!
//! # let folder = tempfile::tempdir()?;
//! let reference = folder.path().join("ref.fa");
//! std::fs::write(&reference, ">c\nGATTACAGATTACATTAGACCACCATGCAGTCAGTTTGCA\n")?;
//! build(plan(&reference, &BuildOptions::default(), &|_, _| ())?, &reference, &|_, _| ())?;
//! let options = UngappedOptions {
//!     acceptance: Acceptance::Mismatches(1),
//!     reported: Reported::All,
//!     max_placements: None,
//!     best_stratum: false,
//!     strands: Strands::Both,
//!     trim: [0, 0],
//!     pairs: PairOptions {
//!         orientation: Orientation::ForwardReverse,
//!         min_insert_bp: 0,
//!         max_insert_bp: 250,
//!     },
//! };
//! let info = check(&reference)?;
//! let engine = UngappedEngine::load(IndexSource::new(&reference, &info), options)?;
//!
//! struct Count(usize);
//! impl RecordSink for Count {
//!     fn record(&mut self, _: Origin, _: &[u8]) {
//!         self.0 += 1;
//!     }
//! }
//!
//! let read = |name, bases| Read { name, bases, qualities: None };
//! let singles = vec![read(b"r1", b"TTAGACCACCATGCAGTC"), read(b"r2", b"GACTGCATGGTGGTCTAA")];
//! let reads = EngineReads { pairs: Vec::new(), singles };
//! let mut records = Count(0);
//! engine.align(&mut engine.scratch()?, &reads, 0, &mut records)?;
//! assert_eq!(records.0, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A read that a mode does not search for, as it is too short or longer than
//! `query::LONGEST_READ`, has an unmapped record with the tag
//! [`UNSEARCHED`](seqloom_align::UNSEARCHED): it stops nothing.

mod by_score;
mod chance;
mod fields;
pub mod gapped;
mod indexed;
mod options;
mod pairs;
mod placer;
mod query;
mod reference;
pub mod spliced;
pub mod ungapped;

/// What is reported of a read's placements, and which strands are searched.
pub use options::{Reported, Strands};

/// Which placements of two mates are a pair.
pub use pairs::{Orientation, PairOptions};
