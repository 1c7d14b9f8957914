//! Nanopore raw signal as files: SLOW5, BLOW5, FAST5 and POD5 behind one [`store`], and what is
//! done with their reads.
//!
//! A pass ([`flow`]) goes over the reads of all inputs in order; [`operations`] are its stages:
//! converted, merged, demultiplexed, degraded, listed. A [`pool`] of processes reads FAST5 files
//! that may crash their reader. What is computed from signal is the crate `seqloom-calling`.
//!
//! All reads of a file, whatever its format is:
//!
//! ```no_run
//! use seqloom_format::signal::SignalRead;
//! use seqloom_signal::store::{self, Cursor, DecodeScratch, FrameBatch, OpenOptions};
//!
//! let store = store::open("reads.blow5".as_ref(), &OpenOptions::default())?;
//! let (mut cursor, mut batch) = (Cursor::default(), FrameBatch::default());
//! let (mut scratch, mut read) = (DecodeScratch::default(), SignalRead::default());
//! while store.next(&mut cursor, &mut batch)? {
//!     for frame in &batch.frames {
//!         store.decode(&mut scratch, &batch, frame, &mut read)?;
//!         println!("{} samples", read.samples.len());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod flow;
pub mod operations;
pub mod pool;
pub mod store;

#[cfg(test)]
mod tests;
