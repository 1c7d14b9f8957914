//! What every file of raw signal can do.

use std::path::Path;
use std::sync::Arc;

use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_format::slow5::Compression;

use super::batch::{Cursor, Frame, FrameBatch};
use super::error::{ReadError, StoreError};
use super::scratch::DecodeScratch;

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

/// A file of raw signal.
pub trait SignalStore: Send + Sync {
    /// Where it is.
    fn path(&self) -> &Arc<Path>;

    /// What it is.
    fn format(&self) -> StoreFormat;

    /// Header of all its reads.
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
