//! Nanopore raw signal as files: SLOW5, BLOW5, FAST5 and POD5 behind one [`store`], and what is
//! done with their reads.
//!
//! A pass ([`flow`]) goes over the reads of all inputs in order; [`operations`] are its stages:
//! converted, merged, demultiplexed, degraded, listed. A [`pool`] of processes reads FAST5 files
//! that may crash their reader. What is computed from signal is the crate `seqloom-calling`.

pub mod flow;
pub mod operations;
pub mod pool;
pub mod store;
