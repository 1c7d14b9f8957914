//! What can go wrong with a POD5 file and with one of its reads.

use std::path::PathBuf;

use seqloom_format::pod5::{MAX_READ_SAMPLES, Pod5FormatError};

/// Most attribute values of a header, missing ones included: 100 names of 40,000 runs.
pub(super) const MAX_ATTRIBUTES: usize = 1 << 22;

/// Why a file or one of its reads cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Pod5Error {
    /// The file as a whole.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: Box<Pod5FormatError>,
    },
    /// A run of the file does not say what every read of it needs.
    #[error("{}: run {run} has no {column}", path.display())]
    Run {
        /// The file.
        path: PathBuf,
        /// Its acquisition id.
        run: String,
        /// What it lacks.
        column: &'static str,
    },
    /// The runs of the file have too many attributes, most of which others lack.
    #[error("{}: the runs have more than {MAX_ATTRIBUTES} attributes", path.display())]
    TooManyAttributes {
        /// The file.
        path: PathBuf,
    },
    /// The file has too many reads.
    #[error("{}: {reads} reads, more than the 4,294,967,295 that can be", path.display())]
    TooManyReads {
        /// The file.
        path: PathBuf,
        /// How many it has.
        reads: usize,
    },
    /// One read; the others may be sound.
    #[error("{}: read {read_id} (number {index} in the file): {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Which read, from 0.
        index: usize,
        /// Its id.
        read_id: String,
        /// The cause.
        source: Box<Pod5ReadError>,
    },
}

/// Why a read cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Pod5ReadError {
    /// The file is damaged where the read is, or could not be read.
    #[error(transparent)]
    Format(#[from] Pod5FormatError),
    /// The file has fewer reads.
    #[error("there is no such read")]
    NoSuchRead,
    /// Its run is not in the Run Info table.
    #[error("it is of run {acquisition_id}, which the run information lacks")]
    UnknownRun {
        /// What the read calls its run.
        acquisition_id: String,
    },
    /// Its samples cannot be turned into current.
    #[error("it has no calibration")]
    NoCalibration,
    /// The same row twice, or a later one before an earlier one.
    #[error("its rows of signal are not in order: row {row} follows row {previous}")]
    RowOrder {
        /// The row.
        row: u64,
        /// The one before it.
        previous: u64,
    },
    /// More signal than is read of one read.
    #[error("it has more than {MAX_READ_SAMPLES} samples")]
    TooLong,
    /// Rows are missing, or too many.
    #[error("it has {found} samples in its rows of signal, but says {expected}")]
    SampleCount {
        /// Samples by the rows of its signal.
        found: u64,
        /// What the read says.
        expected: u64,
    },
}
