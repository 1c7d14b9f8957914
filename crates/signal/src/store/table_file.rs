//! FAST5 and POD5: files that have a table of their reads, whose bytes are all over the file.
//!
//! A frame of such a file is the number of a read; its bytes are read when it is decoded, by the
//! worker that decodes it.

use std::path::Path;
use std::sync::Arc;

use seqloom_format::signal::{SignalHeader, SignalRead, read_id};

use super::{
    Cursor, DecodeScratch, Frame, FrameBatch, ReadError, SignalStore, StoreError, StoreFormat,
};
use crate::pool::PooledFile;
use crate::store::fast5::Fast5File;
use crate::store::pod5::{Pod5Error, Pod5File};

/// Reads of a batch: enough that taking one costs little, few enough for many workers to share a
/// file of 4,000 reads.
const BATCH_READS: u64 = 32;

/// What the two have in common.
pub(super) trait ReadTable: Send + Sync {
    const FORMAT: StoreFormat;
    fn header(&self) -> &SignalHeader;
    /// As [`SignalStore::changed_attributes`].
    fn changed_attributes(&self) -> Vec<String> {
        Vec::new()
    }
    fn reads(&self) -> usize;
    /// The id of a read as the table has it; empty past the end.
    fn read_id(&self, index: usize) -> Vec<u8>;
    /// Reads and decodes one.
    fn read(
        &self,
        index: usize,
        scratch: &mut DecodeScratch,
        read: &mut SignalRead,
    ) -> Result<(), ReadError>;
}

impl ReadTable for Fast5File {
    const FORMAT: StoreFormat = StoreFormat::Fast5;

    fn header(&self) -> &SignalHeader {
        self.header()
    }

    fn reads(&self) -> usize {
        self.reads()
    }

    fn read_id(&self, index: usize) -> Vec<u8> {
        self.read_id(index).to_vec()
    }

    fn read(
        &self,
        index: usize,
        scratch: &mut DecodeScratch,
        read: &mut SignalRead,
    ) -> Result<(), ReadError> {
        self.read(index, &mut scratch.fast5, read).map_err(|error| ReadError::new(error.problem))
    }
}

/// A FAST5 file that is not read by this crate's threads: its reads, whoever gets them.
pub trait Fast5Table: Send + Sync {
    /// Header of all its reads.
    fn header(&self) -> &SignalHeader;
    /// How many reads it has.
    fn reads(&self) -> usize;
    /// The id of a read; empty past the end.
    fn read_id(&self, index: usize) -> Vec<u8>;
    /// Reads one.
    ///
    /// # Errors
    /// The problem.
    fn read(&self, index: usize, read: &mut SignalRead) -> Result<(), ReadError>;
}

impl Fast5Table for PooledFile {
    fn header(&self) -> &SignalHeader {
        self.header()
    }

    fn reads(&self) -> usize {
        self.reads()
    }

    fn read_id(&self, index: usize) -> Vec<u8> {
        self.read_id(index).to_vec()
    }

    fn read(&self, index: usize, read: &mut SignalRead) -> Result<(), ReadError> {
        self.read(index, read).map_err(ReadError)
    }
}

impl ReadTable for Box<dyn Fast5Table> {
    const FORMAT: StoreFormat = StoreFormat::Fast5;

    fn header(&self) -> &SignalHeader {
        self.as_ref().header()
    }

    fn reads(&self) -> usize {
        self.as_ref().reads()
    }

    fn read_id(&self, index: usize) -> Vec<u8> {
        self.as_ref().read_id(index)
    }

    fn read(
        &self,
        index: usize,
        _: &mut DecodeScratch,
        read: &mut SignalRead,
    ) -> Result<(), ReadError> {
        self.as_ref().read(index, read)
    }
}

impl ReadTable for Pod5File {
    const FORMAT: StoreFormat = StoreFormat::Pod5;

    fn header(&self) -> &SignalHeader {
        self.header()
    }

    fn changed_attributes(&self) -> Vec<String> {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        self.changed_attributes().map(text).collect()
    }

    fn reads(&self) -> usize {
        self.reads()
    }

    fn read_id(&self, index: usize) -> Vec<u8> {
        self.read_id(index).map(Vec::from).unwrap_or_default()
    }

    fn read(
        &self,
        index: usize,
        scratch: &mut DecodeScratch,
        read: &mut SignalRead,
    ) -> Result<(), ReadError> {
        self.read(index, &mut scratch.pod5, read).map_err(|error| match error {
            Pod5Error::Read { source, .. } => ReadError::new(source),
            error => ReadError::new(error),
        })
    }
}

/// An open FAST5 or POD5 file.
pub(super) struct TableFile<T> {
    pub(super) path: Arc<Path>,
    pub(super) table: T,
    pub(super) size_bytes: u64,
}

impl<T: ReadTable> SignalStore for TableFile<T> {
    fn path(&self) -> &Arc<Path> {
        &self.path
    }

    fn format(&self) -> StoreFormat {
        T::FORMAT
    }

    fn header(&self) -> &SignalHeader {
        self.table.header()
    }

    fn changed_attributes(&self) -> Vec<String> {
        self.table.changed_attributes()
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn next(&self, cursor: &mut Cursor, batch: &mut FrameBatch) -> Result<bool, StoreError> {
        batch.clear();
        let end = (cursor.offset + BATCH_READS).min(self.table.reads() as u64);
        let frame = |offset| Frame { offset, ..Frame::default() };
        batch.frames.extend((cursor.offset..end).map(frame));
        cursor.offset = end;
        Ok(!batch.frames.is_empty())
    }

    fn fetch(&self, _: &mut FrameBatch) -> Result<(), StoreError> {
        Ok(())
    }

    fn decode(
        &self,
        scratch: &mut DecodeScratch,
        _: &FrameBatch,
        frame: &Frame,
        read: &mut SignalRead,
    ) -> Result<(), ReadError> {
        let index = usize::try_from(frame.offset).unwrap_or(usize::MAX);
        self.table.read(index, scratch, read).inspect_err(|_| {
            read.read_id = self.table.read_id(index);
        })
    }

    fn read_id(
        &self,
        _: &mut DecodeScratch,
        _: &FrameBatch,
        frame: &Frame,
        id: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let index = usize::try_from(frame.offset).unwrap_or(usize::MAX);
        *id = self.table.read_id(index);
        read_id::check(id).map_err(ReadError::new)
    }
}
