//! What can be wrong with a POD5 file.

use super::flatbuffers::FlatError;

/// Why bytes are not the POD5 that is requested. Places are bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
pub enum Pod5FormatError {
    /// The bytes could not be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The first bytes are not those of a POD5 file.
    #[error("not a POD5 file: it does not start with the signature of one")]
    NotPod5,
    /// The footer is not there.
    #[error(
        "the file ends at byte {size_bytes} without the footer of a POD5 file: it was cut short, \
         or its writer was stopped before the end (`pod5 recover` may save what its writer left)"
    )]
    NoFooter {
        /// Size of the file.
        size_bytes: u64,
    },
    /// A table that every POD5 file has is not there.
    #[error("the file has no {table} table")]
    NoTable {
        /// Its name.
        table: &'static str,
    },
    /// A column without which nothing can be read is not there.
    #[error("the {table} table has no column {column}")]
    NoColumn {
        /// Name of the table.
        table: &'static str,
        /// Name of the column.
        column: &'static str,
    },
    /// Something contradicts the format.
    #[error("damaged: {what} (byte {at})")]
    Malformed {
        /// The problem.
        what: &'static str,
        /// Near which byte of the file.
        at: u64,
    },
    /// A value contradicts the format.
    #[error("damaged: {what} in column {column}, row {row} of the batch at byte {at}")]
    Value {
        /// The problem.
        what: &'static str,
        /// Name of the column.
        column: String,
        /// Row in its batch.
        row: usize,
        /// Start of the batch's body.
        at: u64,
    },
    /// Sound, but not read here.
    #[error("not supported: {what} (byte {at})")]
    Unsupported {
        /// Name of the structure.
        what: &'static str,
        /// Near which byte of the file.
        at: u64,
    },
    /// The signal of a read is in a row that the Signal table has not.
    #[error("signal row {row} is not in the signal table")]
    NoRow {
        /// Number of the row.
        row: u64,
    },
    /// The signal of a row cannot be decoded.
    #[error("signal row {row}: {source}")]
    Row {
        /// Number of the row in the signal table.
        row: u64,
        /// The cause.
        source: super::row::RowError,
    },
}

/// Names the place in the file of an error in a FlatBuffer that starts at `start`.
pub(super) fn in_flatbuffer(start: u64) -> impl Fn(FlatError) -> Pod5FormatError + Copy {
    move |error| {
        let at = start.saturating_add(error.at as u64);
        Pod5FormatError::Malformed { what: error.what, at }
    }
}
