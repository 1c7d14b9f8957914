//! Reads to packed alignment records: the reference index, the alignment engine behind a trait, and
//! the flow of cohorts through it.
//!
//! [`ingest::run`] is the flow; it takes blocks from `seqloom_io::source`, cuts them with
//! [`cohort`], drives an [`engine::AlignmentEngine`] and hands packed templates to an
//! [`ingest::BatchSink`]. [`scan`] cuts without aligning, for runs of several processes.

pub mod certified;
pub mod cohort;
pub mod emit;
pub mod engine;
pub mod index;
pub mod ingest;
pub mod input_error;
pub mod input_tags;
pub mod mates;
pub mod scan;
mod search;
#[cfg(test)]
mod test_input;
pub mod umi;
