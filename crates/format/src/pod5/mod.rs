//! POD5, as the POD5 Format Specification of Oxford Nanopore Technologies has it: three Arrow
//! tables (reads, signal, run information) in a container of their own.
//!
//! From the outside in: [`container`] finds the tables, [`arrow`] reads tables of the Arrow IPC
//! file format, [`read_table`], [`signal_table`] and [`run_info`] know the columns, and [`row`]
//! decodes the signal of one row. Nothing here keeps what it does not need: of a table only the
//! places of its batches, and of a batch of signal the places of its rows.
//!
//! All versions of the tables are read (0 to 7, the newest of POD5 0.3.49): columns are looked up
//! by name, a column that is missing reads as missing values, and an unknown one is not read.
//! Versions 0 to 2 keep pore, calibration, end reason and run as dictionaries of structures; they
//! are read in place.
//!
//! Limits: [`MAX_METADATA_BYTES`] of one block of metadata, [`row::MAX_ROW_SAMPLES`] of one row,
//! [`MAX_READ_SAMPLES`] of one read. Files of Arrow with compressed bodies or big-endian numbers
//! are refused: no POD5 writer makes them.

mod arrow;
mod container;
mod error;
pub mod flatbuffers;
mod read_table;
mod row;
mod run_info;
mod signal_table;
mod simd;
pub mod svb16;

pub use arrow::Batch;
pub use container::Container;
pub(crate) use container::Span;
pub use error::Pod5FormatError;
pub use read_table::{ReadRow, ReadTable};
pub use row::{RowCoding, RowDecoder, RowError};
pub use run_info::{RunInfo, RunValue, read_runs};
pub use signal_table::SignalTable;

/// Largest block of metadata (the footer of the container or of a table, the head of a batch) that
/// is read. Those of a batch are below 3 kB; a footer has 24 bytes per batch.
pub(crate) const MAX_METADATA_BYTES: u64 = 1 << 30;

/// Most samples of one read: 59 hours at 5 kHz, 2 GiB in memory.
pub const MAX_READ_SAMPLES: u64 = 1 << 30;
