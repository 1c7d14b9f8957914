//! Files of raw signal, whatever their format: SLOW5, BLOW5, FAST5 and POD5 behind one trait.
//!
//! A file is read in batches of frames. A frame is one read as it is stored; finding frames is
//! cheap and is done by one worker at a time, decoding them is not and is done by all.
//!
//! What is wrong with a single read never ends a pass: it becomes a [`Fault`] that names file,
//! read and place. Only what makes the whole file unreadable is a [`StoreError`].

pub mod fast5;
mod frames;
mod index_file;
pub(crate) mod pod5;
mod read_index;
mod record_file;
pub(crate) mod requests;
mod table_file;
pub(crate) mod uuid;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::ReadAt;
use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_format::slow5::Compression;
use seqloom_io::PositionedFile;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::trace;

use crate::flow::account::Fault;
use crate::pool::{Fast5Pool, PooledFile};
use crate::store::fast5::{Fast5File, Fast5Options};
use crate::store::pod5::{Pod5Error, Pod5File};
use table_file::{ReadTable, TableFile};

pub use index_file::{IndexFileError, for_each_entry, index_path, read_index_file};
pub use read_index::{DuplicateReadId, ReadIndex};
pub use record_file::DecodeScratch;
pub(crate) use record_file::RecordFile;
pub use requests::{Location, Requests};
pub use table_file::Fast5Table;

/// What a file of raw signal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFormat {
    /// SLOW5 text.
    Slow5,
    /// BLOW5 with its two compressions.
    Blow5(Compression),
    /// FAST5, single or multi.
    Fast5,
    /// POD5.
    Pod5,
}

impl StoreFormat {
    /// Whether its files are records, one after the other, of which an index file can say where
    /// they are; the others have a table of their reads.
    #[must_use]
    pub fn has_records(self) -> bool {
        matches!(self, Self::Slow5 | Self::Blow5(_))
    }

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Slow5 => "SLOW5",
            Self::Blow5(_) => "BLOW5",
            Self::Fast5 => "FAST5",
            Self::Pod5 => "POD5",
        }
    }
}

const NO_FORMAT: &str =
    "this is not a file of raw signal (it does not begin like any of SLOW5, BLOW5, FAST5 and POD5)";

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
        /// The problem.
        reason: String,
    },
}

impl RunError for StoreError {
    fn class(&self) -> Class {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => Class::of_input(source),
            Self::Unknown { .. } | Self::Malformed { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read { path, offset, .. } => Place::of(path).at_byte(*offset),
            Self::Open { path, .. } | Self::Unknown { path } | Self::Malformed { path, .. } => {
                Place::of(path)
            }
        }
    }
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

/// Some reads of a file as they are stored, one after the other. Buffers are kept when it is
/// filled again.
#[derive(Debug, Default)]
pub struct FrameBatch {
    /// Stored bytes; one after the other without a gap when they come from [`SignalStore::next`].
    pub bytes: Vec<u8>,
    /// The reads.
    pub frames: Vec<Frame>,
    /// What could not be framed, all of it after the frames.
    pub faults: Vec<Fault>,
}

impl FrameBatch {
    /// Empties it, but leaves `bytes` as long as they were: they are overwritten, not appended to.
    pub fn clear(&mut self) {
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

    /// Names of header attributes that are not as the file has them: SLOW5 has no place for a tab
    /// or a line break, where they have a blank.
    fn changed_attributes(&self) -> Vec<String> {
        Vec::new()
    }

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
    /// The problem.
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
    /// The problem.
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

    /// Whether the file ends as it should, as far as its last bytes show.
    ///
    /// # Errors
    /// When it does not, or cannot be read.
    fn check_end(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Only the id of a read, as cheaply as it can be had.
    ///
    /// # Errors
    /// The problem.
    fn read_id(
        &self,
        scratch: &mut DecodeScratch,
        batch: &FrameBatch,
        frame: &Frame,
        id: &mut Vec<u8>,
    ) -> Result<(), ReadError>;
}

/// Opens a FAST5 file; what is wrong with it, where it cannot.
pub type OpenFast5 = fn(&Path, Fast5Options) -> Result<Box<dyn Fast5Table>, String>;

/// What reads FAST5 files.
#[derive(Debug, Clone, Default)]
pub enum Fast5Engine {
    /// The reader of this crate: threads read at once.
    #[default]
    Own,
    /// Child processes, one for each thread: what crashes costs one read.
    Pool(Arc<Fast5Pool>),
    /// A reader from outside.
    Other(OpenFast5),
}

/// How files are opened.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// For FAST5.
    pub fast5: Fast5Options,
    /// Give reads whose id no read may have another one
    /// ([`seqloom_format::signal::read_id::rename`]), instead of refusing them.
    pub mend_names: bool,
    /// What reads it.
    pub fast5_engine: Fast5Engine,
    /// Where the time of reading bytes is booked for formats that read while they decode.
    pub reading: Arc<trace::Stage>,
}

/// How an HDF5 file begins (HDF5 File Format Specification, superblock).
const HDF5_MAGIC: [u8; 8] = *b"\x89HDF\r\n\x1a\n";
/// How a POD5 file begins (POD5 format specification).
const POD5_MAGIC: [u8; 8] = *b"\x8bPOD\r\n\x1a\n";

/// A file whose reading is timed.
struct TimedFile {
    file: PositionedFile,
    reading: Arc<trace::Stage>,
}

impl ReadAt for TimedFile {
    fn size_bytes(&self) -> u64 {
        self.file.size_bytes()
    }

    fn read_exact_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        self.reading.time(|| self.file.read_exact_at(out, offset))
    }
}

/// Opens a file of raw signal, whatever it is; its first bytes decide, not its name.
///
/// # Errors
/// [`StoreError`].
pub fn open(path: &Path, options: &OpenOptions) -> Result<Arc<dyn SignalStore>, StoreError> {
    let failed = |source| StoreError::Open { path: path.to_owned(), source };
    let file = PositionedFile::open(path).map_err(failed)?;
    let size_bytes = file.size_bytes();
    let name: Arc<Path> = Arc::from(path);
    let mut magic = [0; 8];
    let known = file.read_exact_at(&mut magic, 0).map(|()| magic);
    let timed = |file| TimedFile { file, reading: options.reading.clone() };
    match known {
        Ok(HDF5_MAGIC) => open_fast5(timed(file), name, options),
        Ok(POD5_MAGIC) => {
            let table =
                Pod5File::open(Arc::new(timed(file)), path).map_err(|error| match error {
                    Pod5Error::File { source, .. } => StoreError::malformed(path, source),
                    error => StoreError::malformed(path, error),
                })?;
            Ok(Arc::new(TableFile { path: name, table, size_bytes }))
        }
        _ => Ok(Arc::new(RecordFile::new(Box::new(file), name, options.mend_names)?)),
    }
}

/// A FAST5 file in memory, with all its auxiliary fields.
#[cfg(test)]
pub(crate) fn fast5_in_memory(bytes: Vec<u8>) -> Result<Arc<dyn SignalStore>, StoreError> {
    let (size_bytes, path) = (bytes.len() as u64, Arc::from(Path::new("made")));
    let options = Fast5Options { complete_header: true, ..Fast5Options::default() };
    let DecodeScratch { fast5: scratch, .. } = &mut DecodeScratch::default();
    let table = Fast5File::open(Arc::new(bytes), &path, options, scratch);
    let table = table.map_err(|error| StoreError::malformed(&path, error.without_path()))?;
    Ok(Arc::new(TableFile { path, table, size_bytes }))
}

fn open_fast5(
    file: TimedFile,
    path: Arc<Path>,
    options: &OpenOptions,
) -> Result<Arc<dyn SignalStore>, StoreError> {
    fn store<T: ReadTable + 'static>(
        table: Result<T, String>,
        path: Arc<Path>,
        size_bytes: u64,
    ) -> Result<Arc<dyn SignalStore>, StoreError> {
        let table = table.map_err(|reason| StoreError::malformed(&path, reason))?;
        Ok(Arc::new(TableFile { path, table, size_bytes }))
    }
    let size_bytes = file.size_bytes();
    let fast5 = Fast5Options { mend_names: options.mend_names, ..options.fast5 };
    let DecodeScratch { fast5: scratch, .. } = &mut DecodeScratch::default();
    match &options.fast5_engine {
        Fast5Engine::Own => {
            let table = Fast5File::open(Arc::new(file), &path, fast5, scratch);
            store(table.map_err(|error| error.without_path()), path, size_bytes)
        }
        Fast5Engine::Pool(pool) => {
            let table = PooledFile::open(pool, &path, fast5);
            store(table.map(|it| Box::new(it) as Box<dyn Fast5Table>), path, size_bytes)
        }
        Fast5Engine::Other(open) => store(open(&path, fast5), path, size_bytes),
    }
}
