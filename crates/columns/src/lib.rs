//! Alignments, reads and raw signal as columns: streams of Arrow record batches.
//!
//! A stream is the same bytes whatever the number of threads: rows are cut into batches in the
//! order of the input, by their number and size alone, and every batch is encoded by the worker
//! that built it.
//!
//! Names and bases of all reads of a file:
//!
//! ```no_run
//! use seqloom_columns::reads::{ReadColumn, RequestedReads, write};
//! use seqloom_columns::{Destination, Limits, TextType};
//! use seqloom_io::Output;
//! use seqloom_io::reads::SourceOptions;
//!
//! let threads = std::num::NonZeroUsize::MIN;
//! let batch_rows = threads.saturating_add(9_999);
//! let limits = Limits { threads, batch_rows, memory_bytes: Limits::least_bytes(threads) };
//! let mut output = Output::create("reads.arrows".as_ref())?;
//! let to = Destination { limits: &limits, output: &mut output, watch: &|_, _| Ok(()) };
//! let columns = ["name".parse::<ReadColumn>()?, "sequence".parse()?];
//! let requested = RequestedReads { columns: &columns, text: TextType::Utf8 };
//! let totals = write(&["reads.fq.gz".into()], &SourceOptions::default(), &requested, to)?;
//! println!("{} reads", totals.rows);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod alignments;
pub mod error;
mod flow;
pub mod reads;
pub mod signal;
mod stream;
mod text;

pub use flow::{Destination, Limits, Totals};
pub use text::TextType;
