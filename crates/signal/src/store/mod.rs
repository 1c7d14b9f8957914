//! Files of raw signal, whatever their format: SLOW5, BLOW5, FAST5 and POD5 behind one trait.
//!
//! A file is read in batches of frames. A frame is one read as it is stored; finding frames is
//! cheap and is done by one worker at a time, decoding them is not and is done by all.
//!
//! What is wrong with a single read never ends a pass: it becomes a
//! [`Fault`](crate::flow::account::Fault) that names file, read and place. Only what makes the
//! whole file unreadable is a [`StoreError`].

mod batch;
mod error;
pub mod fast5;
mod frames;
mod index_file;
pub(crate) mod pod5;
mod read_index;
mod record_file;
pub(crate) mod requests;
mod scratch;
mod signal_store;
mod table_file;
pub(crate) mod uuid;

use std::io;
use std::path::Path;
use std::sync::Arc;

use seqloom_format::ReadAt;
use seqloom_io::PositionedFile;
use seqloom_runtime::trace;

use crate::pool::{Fast5Pool, PooledFile};
use crate::store::fast5::{Fast5File, Fast5Options};
use crate::store::pod5::{Pod5Error, Pod5File};
use table_file::{ReadTable, TableFile};

pub use batch::{Cursor, Frame, FrameBatch};
pub use error::{ReadError, StoreError};
pub use index_file::{IndexFileError, for_each_entry, index_path, read_index_file};
pub use read_index::{DuplicateReadId, ReadIndex};
pub(crate) use record_file::RecordFile;
pub use requests::{Location, Requests};
pub use scratch::DecodeScratch;
pub use signal_store::{SignalStore, StoreFormat};
pub use table_file::Fast5Table;

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
    /// Time of reading bytes, for formats that read while they decode.
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
