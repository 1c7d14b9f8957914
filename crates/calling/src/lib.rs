//! What is computed from raw signal and alignments: events, CpG methylation, event tables.
//!
//! The [`flow`] brings an alignment, its bases, its reference and its signal together in one
//! worker. [`events`] finds events in the signal and aligns them to the read by the levels of a
//! [`pore_model`]; the [`hmm`] asks how likely a sequence is, for [`methylation`], or which event
//! is of which k-mer of the reference, for [`eventalign`].

pub mod aligned_read;
pub mod eventalign;
pub mod events;
pub mod flow;
pub mod hmm;
pub mod methylation;
pub mod pore_model;
