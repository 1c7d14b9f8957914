//! SLOW5 and BLOW5: files of records one after the other.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use seqloom_format::ReadAt;
use seqloom_format::signal::{SignalHeader, SignalRead, read_id};
use seqloom_format::slow5::binary::END_OF_FILE;
use seqloom_format::slow5::{Compression, header, text};

use super::frames::{self, Found, PREFIX_BYTES};
use super::{
    Cursor, DecodeScratch, Frame, FrameBatch, ReadError, SignalStore, StoreError, StoreFormat,
};
use crate::flow::account::{Fault, Loss};

/// Bytes read at once: some dozens of compressed reads, so that many workers find work in a small
/// file, and few enough calls that framing stays cheap.
const BATCH_BYTES: u64 = 1 << 20;

/// Most reads of one batch; tiny reads would else make batches that take long to decode.
const BATCH_READS: usize = 512;

/// Bytes of a file looked at first for its header; doubled until it fits.
const HEADER_BYTES: u64 = 1 << 16;

/// Largest header that is read: 4,096 read groups of 100 attributes of 600 bytes.
const MAX_HEADER_BYTES: u64 = 1 << 28;

/// Records of a window that are closer than this are read with one call: a seek costs more.
const MAX_GAP_BYTES: u64 = 64 << 10;

/// Most bytes read with one call when records are fetched.
const MAX_RUN_BYTES: u64 = 8 << 20;

/// A SLOW5 or BLOW5 file.
pub(crate) struct RecordFile {
    path: Arc<Path>,
    bytes: Box<dyn ReadAt>,
    header: SignalHeader,
    /// `None` for text.
    compression: Option<Compression>,
    first_record: u64,
    /// Whether ids that a read may not have are replaced.
    mend_names: bool,
}

impl RecordFile {
    /// Reads the header of `bytes`, which are called `path` in messages. With `mend_names` ids
    /// that a read may not have are replaced.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Unknown`] when it begins like neither format.
    pub(crate) fn new(
        bytes: Box<dyn ReadAt>,
        path: Arc<Path>,
        mend_names: bool,
    ) -> Result<Self, StoreError> {
        let mut prefix = Vec::new();
        let mut requested = HEADER_BYTES;
        loop {
            let held = requested.min(bytes.size_bytes());
            prefix.resize(held as usize, 0);
            read_at(bytes.as_ref(), &path, &mut prefix, 0)?;
            if let Some((header, compression, first)) = parse_header(&prefix, &path)? {
                let first_record = first as u64;
                return Ok(Self { path, bytes, header, compression, first_record, mend_names });
            }
            if held == bytes.size_bytes() {
                return Err(StoreError::malformed(&path, "the file ends within its header"));
            }
            if requested >= MAX_HEADER_BYTES {
                let reason = format!("the header is larger than the limit of {MAX_HEADER_BYTES}");
                return Err(StoreError::malformed(&path, reason));
            }
            requested *= 2;
        }
    }

    fn read(&self, out: &mut [u8], offset: u64) -> Result<(), StoreError> {
        read_at(self.bytes.as_ref(), &self.path, out, offset)
    }

    fn find(&self, bytes: &[u8], left_bytes: u64) -> Found {
        match self.compression {
            Some(_) => frames::blow5(bytes, left_bytes),
            None => frames::slow5(bytes, left_bytes),
        }
    }

    /// Checks whether a read may have this id.
    fn check_id(&self, id: &mut Vec<u8>) -> Result<(), ReadError> {
        if self.mend_names {
            read_id::rename(id);
        }
        read_id::check(id).map_err(ReadError::new)
    }

    fn fault(&self, offset: u64, reason: impl ToString, loss: Loss) -> Fault {
        let path = self.path.clone();
        Fault { path, read_id: None, offset: Some(offset), reason: reason.to_string(), loss }
    }

    /// The record without its length or line feed; an error when the length is not that of the
    /// frame, which says that an index belongs to another file.
    fn body<'a>(&self, batch: &'a FrameBatch, frame: &Frame) -> Result<&'a [u8], ReadError> {
        let stored = batch.stored(frame);
        let body = match self.compression {
            None => stored.strip_suffix(b"\n"),
            Some(_) => stored.split_first_chunk::<{ PREFIX_BYTES as usize }>().and_then(
                |(prefix, body)| (u64::from_le_bytes(*prefix) == body.len() as u64).then_some(body),
            ),
        };
        body.ok_or_else(|| ReadError::new("there is no record here: the index is another file's"))
    }
}

fn read_at(bytes: &dyn ReadAt, path: &Path, out: &mut [u8], offset: u64) -> Result<(), StoreError> {
    let failed = |source: io::Error| StoreError::Read { path: path.to_owned(), offset, source };
    bytes.read_exact_at(out, offset).map_err(failed)
}

/// Header, compression of a BLOW5 file, and bytes of the header; `None` when it needs more bytes.
type ParsedHeader = Option<(SignalHeader, Option<Compression>, usize)>;

fn parse_header(prefix: &[u8], path: &Path) -> Result<ParsedHeader, StoreError> {
    let malformed = |error: &dyn std::fmt::Display| StoreError::malformed(path, error);
    if prefix.starts_with(b"BLOW5") {
        let parsed = header::parse_binary(prefix).map_err(|error| malformed(&error))?;
        return Ok(parsed.map(|(header, compression, size)| (header, Some(compression), size)));
    }
    if prefix.starts_with(b"#slow5_version") {
        let parsed = header::parse_text(prefix).map_err(|error| malformed(&error))?;
        return Ok(parsed.map(|(header, size)| (header, None, size)));
    }
    Err(StoreError::Unknown { path: path.to_owned() })
}

impl SignalStore for RecordFile {
    fn path(&self) -> &Arc<Path> {
        &self.path
    }

    fn format(&self) -> StoreFormat {
        self.compression.map_or(StoreFormat::Slow5, StoreFormat::Blow5)
    }

    fn header(&self) -> &SignalHeader {
        &self.header
    }

    fn size_bytes(&self) -> u64 {
        self.bytes.size_bytes()
    }

    fn next(&self, cursor: &mut Cursor, batch: &mut FrameBatch) -> Result<bool, StoreError> {
        batch.clear();
        if !cursor.started {
            (cursor.started, cursor.offset) = (true, self.first_record);
        }
        let mut requested = BATCH_BYTES;
        while !cursor.ended {
            let left_bytes = self.size_bytes().saturating_sub(cursor.offset);
            let held_bytes = requested.min(left_bytes) as usize;
            batch.bytes.resize(held_bytes, 0);
            self.read(&mut batch.bytes, cursor.offset)?;
            let found = self.frame(cursor, batch, left_bytes);
            if !batch.frames.is_empty() {
                return Ok(true);
            }
            match found {
                Found::More(more) => requested = more,
                Found::Skip(size_bytes, reason) => {
                    batch.faults.push(self.fault(cursor.offset, reason, Loss::Read));
                    cursor.offset += size_bytes;
                    return Ok(true);
                }
                Found::Broken(reason) => {
                    batch.faults.push(self.fault(cursor.offset, reason, Loss::RestOfFile));
                    cursor.ended = true;
                    return Ok(true);
                }
                Found::End | Found::Record(_) => cursor.ended = true,
            }
        }
        Ok(false)
    }

    fn fetch(&self, batch: &mut FrameBatch) -> Result<(), StoreError> {
        let mut order: Vec<usize> = (0..batch.frames.len()).collect();
        order.sort_unstable_by_key(|&at| batch.frames[at].offset);
        batch.bytes.clear();
        let mut runs = order.as_slice();
        while !runs.is_empty() {
            let Run { count, bytes: Range { start, end } } = run_of(&batch.frames, runs);
            let base = batch.bytes.len();
            batch.bytes.resize(base + (end - start) as usize, 0);
            self.read(&mut batch.bytes[base..], start)?;
            for &at in &runs[..count] {
                let frame = &mut batch.frames[at];
                frame.start = base + (frame.offset - start) as usize;
                frame.end = frame.start + frame.size_bytes as usize;
            }
            runs = &runs[count..];
        }
        Ok(())
    }

    fn decode(
        &self,
        scratch: &mut DecodeScratch,
        batch: &FrameBatch,
        frame: &Frame,
        read: &mut SignalRead,
    ) -> Result<(), ReadError> {
        let body = self.body(batch, frame)?;
        let decoded = match self.compression {
            None => text::parse_record(body, &self.header, read),
            Some(compression) => scratch.blow5(compression)?.decode(body, &self.header, read),
        };
        decoded.map_err(ReadError::new)?;
        self.check_id(&mut read.read_id)
    }

    fn decode_without_samples(
        &self,
        scratch: &mut DecodeScratch,
        batch: &FrameBatch,
        frame: &Frame,
        read: &mut SignalRead,
    ) -> Result<u64, ReadError> {
        let Some(compression) = self.compression else {
            self.decode(scratch, batch, frame, read)?;
            return Ok(read.samples.len() as u64);
        };
        let body = self.body(batch, frame)?;
        let decoder = scratch.blow5(compression)?;
        let samples = decoder.decode_without_samples(body, &self.header, read);
        let samples = samples.map_err(ReadError::new)?;
        self.check_id(&mut read.read_id)?;
        Ok(samples)
    }

    fn check_end(&self) -> Result<(), StoreError> {
        let end: &[u8] = if self.compression.is_some() { &END_OF_FILE } else { b"\n" };
        let mut last = vec![0; end.len()];
        let offset = self.size_bytes().saturating_sub(end.len() as u64).max(self.first_record);
        let has_end = self.size_bytes() - offset.min(self.size_bytes()) == end.len() as u64;
        let is_empty_text = self.compression.is_none() && self.size_bytes() == self.first_record;
        if has_end {
            self.read(&mut last, offset)?;
        }
        if is_empty_text || has_end && last == end {
            return Ok(());
        }
        Err(StoreError::malformed(&self.path, "the file does not end as it should: truncated"))
    }

    fn read_id(
        &self,
        scratch: &mut DecodeScratch,
        batch: &FrameBatch,
        frame: &Frame,
        id: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let body = self.body(batch, frame)?;
        match self.compression {
            None => {
                let end = memchr::memchr(b'\t', body);
                let end = end.ok_or_else(|| ReadError::new("the line has no read id"))?;
                id.clear();
                id.extend_from_slice(&body[..end]);
            }
            Some(compression) => {
                scratch.blow5(compression)?.read_id(body, id).map_err(ReadError::new)?;
            }
        }
        self.check_id(id)
    }
}

impl RecordFile {
    /// Finds the records in `batch.bytes`, which were read from the cursor on, and moves it after
    /// the last one. What is there is the result.
    fn frame(&self, cursor: &mut Cursor, batch: &mut FrameBatch, mut left_bytes: u64) -> Found {
        let mut at = 0;
        loop {
            match self.find(&batch.bytes[at..], left_bytes) {
                Found::Record(size) if batch.frames.len() < BATCH_READS => {
                    let size_bytes = size as u64;
                    let offset = cursor.offset;
                    batch.frames.push(Frame { start: at, end: at + size, offset, size_bytes });
                    at += size;
                    cursor.offset += size_bytes;
                    left_bytes -= size_bytes;
                }
                found => {
                    batch.bytes.truncate(at);
                    return found;
                }
            }
        }
    }
}

/// Frames that are read with one call.
struct Run {
    count: usize,
    /// Of the file.
    bytes: Range<u64>,
}

/// How many of the frames at `order` are read with one call.
fn run_of(frames: &[Frame], order: &[usize]) -> Run {
    let first = &frames[order[0]];
    let (start, mut end) = (first.offset, first.offset + first.size_bytes);
    let mut count = 1;
    for &at in &order[1..] {
        let frame = &frames[at];
        let new_end = end.max(frame.offset + frame.size_bytes);
        if frame.offset > end + MAX_GAP_BYTES || new_end - start > MAX_RUN_BYTES {
            break;
        }
        end = new_end;
        count += 1;
    }
    Run { count, bytes: start..end }
}
