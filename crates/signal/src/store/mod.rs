//! Files of raw signal, whatever their format: SLOW5, BLOW5, FAST5 and POD5 behind one trait.
//!
//! A file is read in batches of frames. A frame is one read as it is stored; finding frames is
//! cheap and is done by one worker at a time, decoding them is not and is done by all.
//!
//! What is wrong with a single read never ends a pass: it becomes a [`Fault`] that names file,
//! read and place. Only what makes the whole file unreadable is a [`StoreError`].

mod frames;
mod index_file;
mod read_index;
mod record_file;
pub mod requests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_format::slow5::Compression;

use crate::account::Fault;

pub use frames::{FrameDefect, MAX_LINE_BYTES};
pub use index_file::{IndexFileError, check_index, index_path, read_index_file};
pub use read_index::{DuplicateReadId, ReadIndex};
pub use record_file::{DecodeScratch, RecordFile};

/// What a file of raw signal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFormat {
    /// SLOW5 text.
    Slow5,
    /// BLOW5 with its two compressions.
    Blow5(Compression),
}

const NO_FORMAT: &str =
    "this is no file of raw signal (it begins like none of SLOW5, BLOW5, FAST5 and POD5)";

/// Why a whole file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be opened.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("cannot read {}: byte {offset}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// From where.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// It is none of the formats.
    #[error("{}: {NO_FORMAT}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
    },
    /// Its header, or what stands for one, is malformed.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl StoreError {
    /// Whether the file is there and readable, but not what it should be.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Malformed { .. })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Open { path, .. }
            | Self::Read { path, .. }
            | Self::Unknown { path }
            | Self::Malformed { path, .. } => path,
        }
    }

    /// What is wrong with it, without its name.
    #[must_use]
    pub fn reason(&self) -> String {
        match self {
            Self::Open { source, .. } => format!("cannot be opened: {source}"),
            Self::Read { offset, source, .. } => format!("byte {offset}: cannot be read: {source}"),
            Self::Unknown { .. } => NO_FORMAT.to_owned(),
            Self::Malformed { reason, .. } => reason.clone(),
        }
    }

    pub(crate) fn malformed(path: &Path, reason: impl ToString) -> Self {
        Self::Malformed { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// Why one read cannot be decoded, in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(pub String);

impl ReadError {
    /// From whatever a codec says.
    pub(crate) fn new(reason: impl ToString) -> Self {
        Self(reason.to_string())
    }
}

/// Where one read is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// Where its stored bytes begin in [`FrameBatch::bytes`]; nothing for formats without records.
    pub start: usize,
    /// Where they end.
    pub end: usize,
    /// Where the record begins in the file; the index of the read for formats without records.
    pub offset: u64,
    /// Bytes of the record in the file.
    pub size_bytes: u64,
}

/// Some reads of a file as they are stored, one behind the other. Buffers are kept when it is
/// filled again.
#[derive(Debug, Default)]
pub struct FrameBatch {
    /// Stored bytes; one behind the other without a gap when they come from [`SignalStore::next`].
    pub bytes: Vec<u8>,
    /// The reads.
    pub frames: Vec<Frame>,
    /// What could not be framed, all of it behind the frames.
    pub faults: Vec<Fault>,
}

impl FrameBatch {
    /// Empties it, but leaves `bytes` as long as they were: they are overwritten, not appended to.
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.faults.clear();
    }

    /// Nothing but a fault.
    pub(crate) fn of_fault(fault: Fault) -> Self {
        Self { faults: vec![fault], ..Self::default() }
    }

    /// Stored bytes of a frame.
    #[must_use]
    pub fn stored(&self, frame: &Frame) -> &[u8] {
        self.bytes.get(frame.start..frame.end).unwrap_or_default()
    }
}

/// How far a sequential pass is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    /// Where the next record begins; index of the next read for formats without records.
    offset: u64,
    started: bool,
    ended: bool,
}

/// A file of raw signal.
pub trait SignalStore: Send + Sync {
    /// Where it is.
    fn path(&self) -> &Arc<Path>;

    /// What it is.
    fn format(&self) -> StoreFormat;

    /// What all its reads have in common.
    fn header(&self) -> &SignalHeader;

    /// Bytes of the file.
    fn size_bytes(&self) -> u64;

    /// Fills `batch` with the next reads; `false` when there are none left. Cheap: nothing is
    /// decoded.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn next(&self, cursor: &mut Cursor, batch: &mut FrameBatch) -> Result<bool, StoreError>;

    /// Fills `batch.bytes` for frames of which `offset` and `size_bytes` are given (from an index),
    /// reading neighbours at once.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn fetch(&self, batch: &mut FrameBatch) -> Result<(), StoreError>;

    /// Decodes one read.
    ///
    /// # Errors
    /// What is wrong with it.
    fn decode(
        &self,
        scratch: &mut DecodeScratch,
        batch: &FrameBatch,
        frame: &Frame,
        read: &mut SignalRead,
    ) -> Result<(), ReadError>;

    /// As [`SignalStore::decode`], but for the samples; gives their number.
    ///
    /// # Errors
    /// What is wrong with it.
    fn decode_without_samples(
        &self,
        scratch: &mut DecodeScratch,
        batch: &FrameBatch,
        frame: &Frame,
        read: &mut SignalRead,
    ) -> Result<u64, ReadError> {
        self.decode(scratch, batch, frame, read)?;
        let samples = read.samples.len() as u64;
        read.samples.clear();
        Ok(samples)
    }

    /// Whether the file ends as it should, as far as its last bytes tell.
    ///
    /// # Errors
    /// When it does not, or cannot be read.
    fn check_end(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Only the id of a read, as cheaply as it can be had.
    ///
    /// # Errors
    /// What is wrong with it.
    fn read_id(
        &self,
        scratch: &mut DecodeScratch,
        batch: &FrameBatch,
        frame: &Frame,
        id: &mut Vec<u8>,
    ) -> Result<(), ReadError>;
}

/// Opens a file of raw signal, whatever it is; its first bytes decide, not its name.
///
/// # Errors
/// [`StoreError`].
pub fn open(path: &Path) -> Result<Arc<dyn SignalStore>, StoreError> {
    Ok(Arc::new(RecordFile::open(path)?))
}
