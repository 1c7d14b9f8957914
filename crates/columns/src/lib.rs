//! Alignments, reads and raw signal as columns: streams of Arrow record batches.
//!
//! A stream is the same bytes whatever the number of threads: rows are cut into batches in the
//! order of the input, by their number and size alone, and every batch is encoded by the worker
//! that built it.
//!
//! In the order of use:
//!
//! * [`Limits`]: threads, rows of a batch, memory; [`Destination`]: where a stream goes;
//!   [`TextType`]: how text is given.
//! * [`alignments`]: [`Alignments`](alignments::Alignments) are opened, restricted to
//!   [`Region`](alignments::Region)s and written as [`Requested`](alignments::Requested):
//!   [`Column`](alignments::Column)s, and [`TagColumn`](alignments::TagColumn)s of tags.
//! * [`reads`]: [`write`](reads::write) gives [`ReadColumn`](reads::ReadColumn)s of files of reads,
//!   as [`RequestedReads`](reads::RequestedReads) says.
//! * [`signal`]: [`write`](signal::write) gives raw signal, with the fields of its files.
//! * [`Totals`] of a stream, or a [`ColumnsError`](error::ColumnsError).
//!
//! Names and bases of all reads of a file:
//!
//! ```
//! use seqloom_columns::reads::{ReadColumn, RequestedReads, write};
//! use seqloom_columns::{Destination, Limits, TextType};
//! use seqloom_io::Output;
//! use seqloom_io::reads::SourceOptions;
//!
//! # let folder = tempfile::tempdir()?;
//! let [reads, stream] = ["reads.fq", "reads.arrows"].map(|name| folder.path().join(name));
//! std::fs::write(&reads, "@r1\nACGT\n+\nIIII\n@r2\nGATTACA\n+\nIIIIIII\n")?;
//! let threads = std::num::NonZeroUsize::MIN;
//! let batch_rows = threads.saturating_add(9_999);
//! let limits = Limits { threads, batch_rows, memory_bytes: Limits::least_bytes(threads) };
//! let mut output = Output::create(&stream)?;
//! let to = Destination { limits: &limits, output: &mut output, watch: &|_, _| Ok(()) };
//! let columns = ["name".parse::<ReadColumn>()?, "sequence".parse()?];
//! let requested = RequestedReads { columns: &columns, text: TextType::Utf8 };
//! let totals = write(&[reads], &SourceOptions::default(), &requested, to)?;
//! assert_eq!((totals.rows, totals.batches), (2, 1));
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
