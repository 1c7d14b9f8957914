//! What is computed from raw signal and alignments: events, CpG methylation, event tables.
//!
//! The [`flow`] brings an alignment, its bases, its reference and its signal together in one
//! worker. [`events`] finds events in the signal and aligns them to the read by the levels of a
//! [`pore_model`]; the [`hmm`] asks how likely a sequence is, for [`methylation`], or which event
//! is of which k-mer of the reference, for [`eventalign`].
//!
//! Events of a signal that has one step:
//!
//! ```
//! use seqloom_calling::events::Events;
//! use seqloom_calling::events::detect::{DetectOptions, DetectScratch, detect};
//!
//! let signal_pa: Vec<f32> = (0..200).map(|at| if at < 100 { 80.0 } else { 110.0 }).collect();
//! let mut events = Events::default();
//! detect(&mut DetectScratch::default(), &signal_pa, &DetectOptions::DNA, &mut events);
//! assert!(events.len() >= 2);
//! ```

pub mod aligned_read;
pub mod eventalign;
pub mod events;
pub mod flow;
pub mod hmm;
pub mod methylation;
pub mod pore_model;
