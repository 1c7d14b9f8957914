//! What is computed from raw signal and alignments: events, methylation, event tables.
//!
//! The [`flow`] brings an alignment, its bases, its reference and its signal together in one
//! worker. [`events`] finds events in the signal and aligns them to the read by the levels of a
//! [`pore_model`]; the [`hmm`] asks how likely a sequence is, for [`methylation`], or which event
//! is of which k-mer of the reference, for [`eventalign`].
//!
//! A call of a read, as nanopolish writes it, counted at its site:
//!
//! ```
//! use seqloom_calling::methylation::{
//!     Columns, Cutoff, CutoffStyle, Frequencies, FrequencyOptions, TableFormat,
//! };
//!
//! let columns = Columns::parse(TableFormat::Nanopolish.header().trim_end().as_bytes())?;
//! let call = columns.row(b"chr1\t-\t100\t100\tread\t3.00\t-1\t-4\t1\t1\tAACGT")?;
//! let cutoff = Cutoff { style: CutoffStyle::Nanopolish, threshold: 2.0 };
//! let mut sites = Frequencies::new(FrequencyOptions { cutoff, splits_groups: None });
//! sites.add(&call);
//! assert_eq!((sites.rows(), sites.ambiguous()), (1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod aligned_read;
#[cfg(feature = "bench")]
pub mod bench;
pub mod eventalign;
pub mod events;
pub mod flow;
pub mod hmm;
pub mod methylation;
mod motif;
pub mod pore_model;
pub mod training;

#[cfg(test)]
mod tests;

pub use aligned_read::{AlignedBase, AlignedRead};
pub use motif::Motif;
