//! Alignments, reads and raw signal as columns: streams of Arrow record batches.
//!
//! A stream is the same bytes whatever the number of threads: rows are cut into batches in the
//! order of the input, by their number and size alone, and every batch is encoded by the worker
//! that built it.

pub mod alignments;
pub mod error;
mod flow;
pub mod reads;
pub mod signal;
mod stream;
mod text;

pub use flow::{Destination, Limits, Totals, Watch};
pub use text::TextType;
