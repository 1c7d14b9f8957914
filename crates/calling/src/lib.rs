//! What is computed from raw signal and alignments: events, methylation, event tables, models.
//!
//! In the order of use:
//!
//! * [`pore_model`]: a [`PoreModel`](pore_model::PoreModel), [built in](pore_model::builtin) or of
//!   a file ([`text`](pore_model::text), [`uncalled4`](pore_model::uncalled4)), as a
//!   [`ModelRequest`](pore_model::ModelRequest) wants it; the
//!   [`Chemistry`](pore_model::Chemistry) that it is for.
//! * [`flow`]: [`CallInputs`](flow::CallInputs), which are alignments, reference,
//!   [`ReadSequences`](flow::ReadSequences) and [`SignalFiles`](flow::SignalFiles), with a
//!   [`Filter`](flow::Filter); [`run`](flow::run) brings those of a record together in one worker,
//!   has a [`ReadKernel`](flow::ReadKernel) work on them and hands over what is
//!   [`Committed`](flow::Committed) in the order of the input; a
//!   [`CallAccount`](flow::CallAccount) books each [`Skip`](flow::Skip).
//! * Its kernels: [`MethylationKernel`](flow::MethylationKernel),
//!   [`EventalignKernel`](flow::EventalignKernel), [`TrainingKernel`](flow::TrainingKernel).
//! * [`methylation`]: calls of a [`Motif`] in a [`TableFormat`](methylation::TableFormat), counted
//!   as [`Frequencies`](methylation::Frequencies), in [`BedMethyl`](methylation::BedMethyl), or as
//!   [tags](methylation::tag_record) of records.
//! * [`eventalign`]: [`TableOptions`](eventalign::TableOptions) of nanopolish's table.
//! * [`training`]: [`train`](training::train) makes a model of methylated k-mers of the
//!   [`EventSums`](training::EventSums) of controls.
//! * [`events`]: [`ReadOptions`](events::ReadOptions), how signal is aligned to a read. An
//!   [`AlignedRead`] has [`AlignedBase`]s of a record, whose letters are [`lowest_base`]s.
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
mod hmm;
pub mod methylation;
mod motif;
pub mod pore_model;
pub mod training;

#[cfg(test)]
mod tests;

pub use aligned_read::{AlignedBase, AlignedRead};
pub use hmm::kmers::lowest_base;
pub use motif::Motif;
