//! One POD5 file, shared by all who read from it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::ReadAt;
use seqloom_format::pod5::{
    Batch, Container, MAX_READ_SAMPLES, Pod5FormatError, ReadTable, RowCoding, SignalTable,
    read_runs,
};
use seqloom_format::signal::{SignalHeader, SignalRead};

use super::error::{Pod5Error, Pod5ReadError};
use super::mapping::{Defect, Mapping};
use super::scratch::{CodedRow, Pod5Scratch};
use crate::store::uuid;

/// An open POD5 file. It does not change, so any number of threads may read from it.
pub(crate) struct Pod5File {
    /// Distinguishes the batches of several files in one scratch.
    number: u64,
    file: Arc<dyn ReadAt>,
    path: PathBuf,
    header: SignalHeader,
    mapping: Mapping,
    reads: ReadTable,
    signal: SignalTable,
    ids: Vec<[u8; 16]>,
    /// First read of each batch.
    starts: Vec<usize>,
}

impl std::fmt::Debug for Pod5File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pod5File").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Pod5File {
    /// Opens a file: reads its footers, its runs and its read ids. `path` is what messages call it.
    ///
    /// # Errors
    /// [`Pod5Error`] of the file as a whole.
    pub(crate) fn open(file: Arc<dyn ReadAt>, path: impl Into<PathBuf>) -> Result<Self, Pod5Error> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let path = path.into();
        let failed = |source: Pod5FormatError| Pod5Error::File {
            path: path.clone(),
            source: Box::new(source),
        };
        let container = Container::read(&*file).map_err(failed)?;
        let reads = ReadTable::open(&*file, container.reads).map_err(failed)?;
        let signal = SignalTable::open(&*file, container.signal).map_err(failed)?;
        let runs = read_runs(&*file, container.run_info, &reads).map_err(failed)?;
        let (mapping, header) =
            Mapping::new(&runs, reads.end_reasons()).map_err(|defect| match defect {
                Defect::Lacks { run, column } => Pod5Error::Run { path: path.clone(), run, column },
                Defect::TooManyAttributes => Pod5Error::TooManyAttributes { path: path.clone() },
            })?;
        let (mut ids, mut starts) = (Vec::new(), Vec::with_capacity(reads.batches()));
        for batch in 0..reads.batches() {
            starts.push(ids.len());
            reads.read_ids(&*file, batch, &mut ids).map_err(failed)?;
        }
        if u32::try_from(ids.len()).is_err() {
            return Err(Pod5Error::TooManyReads { path, reads: ids.len() });
        }
        ids.shrink_to_fit();
        // Relaxed: every number is given once.
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        Ok(Self { number, file, path, header, mapping, reads, signal, ids, starts })
    }

    /// Read groups, attributes and auxiliary fields.
    #[must_use]
    pub(crate) fn header(&self) -> &SignalHeader {
        &self.header
    }

    /// Header attributes that are not as the file has them, by name.
    pub(crate) fn changed_attributes(&self) -> impl Iterator<Item = &[u8]> {
        self.mapping.changed()
    }

    /// Number of reads.
    #[must_use]
    pub(crate) fn reads(&self) -> usize {
        self.ids.len()
    }

    /// Id of read `index`, a UUID in text; `None` past the last.
    #[must_use]
    pub(crate) fn read_id(&self, index: usize) -> Option<[u8; 36]> {
        self.ids.get(index).map(|&id| uuid::text(id))
    }

    /// Read `index` with its samples into `read`, whatever that held. Reads near each other in
    /// number are near each other in the file.
    ///
    /// # Errors
    /// [`Pod5Error::Read`]; the other reads may be sound.
    pub(crate) fn read(
        &self,
        index: usize,
        scratch: &mut Pod5Scratch,
        read: &mut SignalRead,
    ) -> Result<(), Pod5Error> {
        self.fetch(index, scratch, read)?;
        self.decode(index, scratch, read)
    }

    /// The first half of [`Self::read`]: all but the samples, whose coded bytes wait in `scratch`.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn fetch(
        &self,
        index: usize,
        scratch: &mut Pod5Scratch,
        read: &mut SignalRead,
    ) -> Result<(), Pod5Error> {
        self.try_fetch(index, scratch, read).map_err(|error| self.of_read(index, error))
    }

    /// The second half of [`Self::read`], with the same arguments.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn decode(
        &self,
        index: usize,
        scratch: &mut Pod5Scratch,
        read: &mut SignalRead,
    ) -> Result<(), Pod5Error> {
        let decoded = decode_rows(self.signal.coding(), scratch, &mut read.samples);
        decoded.map_err(|error| self.of_read(index, error))
    }

    fn of_read(&self, index: usize, error: Pod5ReadError) -> Pod5Error {
        let id = self.read_id(index).map(|id| String::from_utf8_lossy(&id).into_owned());
        let (path, read_id) = (self.path.clone(), id.unwrap_or_else(|| "?".into()));
        Pod5Error::Read { path, index, read_id, source: Box::new(error) }
    }

    fn try_fetch(
        &self,
        index: usize,
        scratch: &mut Pod5Scratch,
        read: &mut SignalRead,
    ) -> Result<(), Pod5ReadError> {
        read.clear();
        let batch = self.starts.partition_point(|&start| start <= index);
        let batch = batch.checked_sub(1).filter(|_| index < self.ids.len());
        let batch = batch.ok_or(Pod5ReadError::NoSuchRead)?;
        let row = index - self.starts[batch];
        let (batch, coded, rows) = scratch
            .batch((self.number, batch), |held| self.reads.load(&*self.file, batch, held))?;
        let values = self.reads.row(batch, row)?;
        self.mapping.fill(&values, read)?;
        let found = self.fetch_rows(batch, row, coded, rows)?;
        match values.num_samples {
            Some(expected) if expected != found => {
                Err(Pod5ReadError::SampleCount { found, expected })
            }
            _ => Ok(()),
        }
    }

    /// The coded signal of a read, and its number of samples. Rows that touch each other are read
    /// at once.
    fn fetch_rows(
        &self,
        batch: &Batch,
        row: usize,
        coded: &mut Vec<u8>,
        rows: &mut Vec<CodedRow>,
    ) -> Result<u64, Pod5ReadError> {
        coded.clear();
        rows.clear();
        let (mut samples, mut waiting) = (0_u64, (0_u64, 0_usize));
        self.reads.signal_rows(batch, row, |number| {
            // Increasing rows cannot ask for more than the file has, and the specification has them
            // "in order".
            if let Some(previous) = rows.last().map(|row| row.number).filter(|&p| p >= number) {
                return Err(Pod5ReadError::RowOrder { row: number, previous });
            }
            let found = self.signal.row(&*self.file, number)?;
            samples += u64::from(found.samples);
            if samples > MAX_READ_SAMPLES {
                return Err(Pod5ReadError::TooLong);
            }
            let bytes = found.span.len as usize;
            if waiting.0 + waiting.1 as u64 != found.span.offset {
                self.fetch_bytes(waiting, coded)?;
                waiting = (found.span.offset, 0);
            }
            waiting.1 += bytes;
            rows.push(CodedRow { number, bytes, samples: found.samples });
            Ok(())
        })?;
        self.fetch_bytes(waiting, coded)?;
        Ok(samples)
    }

    /// Appends bytes of the file that are known to be in it.
    fn fetch_bytes(
        &self,
        (offset, bytes): (u64, usize),
        coded: &mut Vec<u8>,
    ) -> Result<(), Pod5FormatError> {
        let start = coded.len();
        coded.resize(start + bytes, 0);
        Ok(self.file.read_exact_at(&mut coded[start..], offset)?)
    }
}

/// The samples of the rows that wait in `scratch`.
fn decode_rows(
    coding: RowCoding,
    scratch: &mut Pod5Scratch,
    samples: &mut Vec<i16>,
) -> Result<(), Pod5ReadError> {
    samples.clear();
    let mut coded = scratch.coded.as_slice();
    for row in &scratch.rows {
        let (bytes, rest) = coded.split_at_checked(row.bytes).unwrap_or((coded, &[]));
        coded = rest;
        let decoded = scratch.decoder.decode(coding, bytes, row.samples, samples);
        let number = row.number;
        decoded.map_err(|source| Pod5FormatError::Row { row: number, source })?;
    }
    Ok(())
}
