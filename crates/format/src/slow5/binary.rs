//! Records of BLOW5: `u64` stored bytes, then the record, compressed by itself.
//!
//! Source: SLOW5 specification 1.0.0, "BLOW5". Inflated, a record is: `u16` length and the read id,
//! `u32` read group, four `f64` (digitisation, offset, range, sampling rate), `u64` length and the
//! signal, the auxiliary fields of the header. The signal's length counts samples when the signal
//! is not coded and bytes when it is (so slow5lib; the specification does not say). An array has
//! preceded by its number of elements as a `u64`. Everything is little-endian.

use std::time::Duration;

use libdeflater::{CompressionLvl, Compressor};
use zstd::zstd_safe::{self, CCtx};

use super::inflation::Inflation;
use super::limits::MAX_BODY_BYTES;
use super::{
    Compression, FrameError, RecordCompression, RecordError, SignalCompression, ex_zd, header,
    svb_zd,
};
use crate::deflate::Deflater;
use crate::signal::{AuxiliaryValues, SignalHeader, SignalRead, read_id};

/// Bytes that end a BLOW5 file.
pub const END_OF_FILE: [u8; 5] = *b"5WOLB";
/// Bytes before a record.
pub const LENGTH_BYTES: usize = 8;

/// Level of Zstandard, as slow5lib has it.
const ZSTD_LEVEL: i32 = 1;
/// Bytes that hold the read id of nearly every record: its length and a UUID.
const USUAL_ID_BYTES: usize = 2 + 64;

/// Contents of a place where a record may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A record of so many stored bytes after its length.
    Record {
        /// Stored bytes; they are within the file where its end is known.
        stored_bytes: usize,
    },
    /// The end marker, and the file's end after it.
    EndOfFile,
}

/// Returns what is at a record boundary. `bytes` are the next [`LENGTH_BYTES`] there, fewer only
/// where the file ends; `remaining_bytes` is what the file has from here on, where that is known.
///
/// # Errors
/// When it is neither a record nor the end.
pub fn parse_frame(bytes: &[u8], remaining_bytes: Option<u64>) -> Result<Frame, FrameError> {
    let Some(length) = bytes.first_chunk::<LENGTH_BYTES>() else {
        let is_end = bytes == END_OF_FILE;
        return if is_end { Ok(Frame::EndOfFile) } else { Err(FrameError::NoEndMarker) };
    };
    // Files that were joined byte by byte have an end marker and a header in the middle.
    let (marker, after) = length.split_at(END_OF_FILE.len());
    if length.starts_with(&header::BINARY_MAGIC)
        || marker == END_OF_FILE && header::BINARY_MAGIC.starts_with(after)
    {
        return Err(FrameError::SecondHeader);
    }
    let stored_bytes = u64::from_le_bytes(*length);
    let left = remaining_bytes.map(|remaining| remaining.saturating_sub(LENGTH_BYTES as u64));
    if let Some(remaining_bytes) = left.filter(|&left| stored_bytes > left) {
        return Err(FrameError::PastEnd { stored_bytes, remaining_bytes });
    }
    match usize::try_from(stored_bytes).ok().filter(|&bytes| bytes <= MAX_BODY_BYTES) {
        Some(stored_bytes) => Ok(Frame::Record { stored_bytes }),
        None => Err(FrameError::TooLong(stored_bytes)),
    }
}

/// Decodes records of one file, with buffers and streams that it keeps.
pub struct RecordDecoder {
    signal: SignalCompression,
    inflation: Inflation,
    inflate_time: Duration,
    scratch: ex_zd::Scratch,
}

impl RecordDecoder {
    /// For records of this compression.
    ///
    /// # Errors
    /// [`RecordError::OutOfMemory`].
    pub fn new(compression: Compression) -> Result<Self, RecordError> {
        let inflation = Inflation::new(compression.record)?;
        let (inflate_time, scratch) = (Duration::ZERO, ex_zd::Scratch::default());
        Ok(Self { signal: compression.signal, inflation, inflate_time, scratch })
    }

    /// Replaces `read` by the record in `stored`, the bytes after its length.
    ///
    /// # Errors
    /// When the bytes are not a record of this header; `read` is undefined then.
    pub fn decode(
        &mut self,
        stored: &[u8],
        header: &SignalHeader,
        read: &mut SignalRead,
    ) -> Result<(), RecordError> {
        let mut fields = Fields::new(self.inflation.timed(stored, &mut self.inflate_time)?);
        let signal = fields.read_primary(self.signal, header, read)?;
        match self.signal {
            SignalCompression::None => {
                read.samples.clear();
                let (samples, _) = signal.as_chunks::<2>();
                read.samples.extend(samples.iter().map(|bytes| i16::from_le_bytes(*bytes)));
            }
            SignalCompression::SvbZd => svb_zd::decode(signal, &mut read.samples)?,
            SignalCompression::ExZd => {
                ex_zd::decode(signal, &mut self.scratch, &mut read.samples)?;
            }
        }
        fields.read_auxiliary(header, &mut read.auxiliary)
    }

    /// As [`RecordDecoder::decode`], but for the samples, which are left empty. Gives their number,
    /// as the record states it.
    ///
    /// # Errors
    /// As [`RecordDecoder::decode`]; coded samples are not looked at after their number.
    pub fn decode_without_samples(
        &mut self,
        stored: &[u8],
        header: &SignalHeader,
        read: &mut SignalRead,
    ) -> Result<u64, RecordError> {
        let mut fields = Fields::new(self.inflation.timed(stored, &mut self.inflate_time)?);
        read.samples.clear();
        let signal = fields.read_primary(self.signal, header, read)?;
        let samples = match self.signal {
            SignalCompression::None => signal.len() / 2,
            SignalCompression::SvbZd => svb_zd::count(signal)?.0,
            SignalCompression::ExZd => ex_zd::count(signal)?,
        };
        fields.read_auxiliary(header, &mut read.auxiliary)?;
        Ok(samples as u64)
    }

    /// Time spent inflating whole records since the last call: a part of the time of decoding them
    /// that reports show by itself.
    pub fn take_inflate_time(&mut self) -> Duration {
        std::mem::take(&mut self.inflate_time)
    }

    /// Replaces `out` by the record's read id, inflating no more than it takes: some bytes of zlib,
    /// a block of zstd. `stored` may end anywhere after those.
    ///
    /// # Errors
    /// When the bytes do not give a read id.
    pub fn read_id(&mut self, stored: &[u8], out: &mut Vec<u8>) -> Result<(), RecordError> {
        out.resize(USUAL_ID_BYTES, 0);
        let mut found = self.inflation.first_bytes(stored, out)?;
        let truncated = RecordError::Truncated { field: "read_id", offset: 0 };
        let length = out[..found].first_chunk().ok_or(truncated.clone())?;
        let end = 2 + usize::from(u16::from_le_bytes(*length));
        if end > USUAL_ID_BYTES {
            out.resize(end, 0);
            found = self.inflation.first_bytes(stored, out)?;
        }
        if found < end {
            return Err(truncated);
        }
        out.truncate(end);
        out.drain(..2);
        Ok(())
    }
}

/// The fields of an inflated record, from the front.
struct Fields<'a> {
    body: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    fn new(body: &'a [u8]) -> Self {
        Self { body, at: 0 }
    }

    fn take(&mut self, size: usize, field: &'static str) -> Result<&'a [u8], RecordError> {
        let rest = &self.body[self.at..];
        let taken = rest.get(..size).ok_or(RecordError::Truncated { field, offset: self.at })?;
        self.at += size;
        Ok(taken)
    }

    fn array<const SIZE: usize>(&mut self, field: &'static str) -> Result<[u8; SIZE], RecordError> {
        let offset = self.at;
        let bytes = self.take(SIZE, field)?;
        bytes.try_into().map_err(|_| RecordError::Truncated { field, offset })
    }

    fn double(&mut self, field: &'static str) -> Result<f64, RecordError> {
        Ok(f64::from_le_bytes(self.array(field)?))
    }

    /// `u64` number of elements, then these.
    fn counted(&mut self, size: usize, field: &'static str) -> Result<&'a [u8], RecordError> {
        let offset = self.at;
        let count = u64::from_le_bytes(self.array(field)?);
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(size));
        self.take(bytes.ok_or(RecordError::Truncated { field, offset })?, field)
    }

    /// Everything before the auxiliary fields; gives the bytes of the signal.
    fn read_primary(
        &mut self,
        signal: SignalCompression,
        header: &SignalHeader,
        read: &mut SignalRead,
    ) -> Result<&'a [u8], RecordError> {
        let length = u16::from_le_bytes(self.array("read_id")?);
        read.read_id.clear();
        read.read_id.extend_from_slice(self.take(length.into(), "read_id")?);
        read.read_group = u32::from_le_bytes(self.array("read_group")?);
        if read.read_group >= header.read_groups {
            let (read_group, read_groups) = (read.read_group, header.read_groups);
            return Err(RecordError::ReadGroup { read_group, read_groups });
        }
        read.digitisation = self.double("digitisation")?;
        read.offset = self.double("offset")?;
        read.range = self.double("range")?;
        read.sampling_rate = self.double("sampling_rate")?;
        let unit = if signal == SignalCompression::None { 2 } else { 1 };
        self.counted(unit, "raw_signal")
    }

    /// The auxiliary fields, up to the end.
    fn read_auxiliary(
        mut self,
        header: &SignalHeader,
        values: &mut AuxiliaryValues,
    ) -> Result<(), RecordError> {
        values.clear();
        for field in &header.auxiliary {
            let size = field.kind.size_bytes();
            values.push(if field.is_array {
                self.counted(size, "an auxiliary array")?
            } else {
                self.take(size, "an auxiliary value")?
            });
        }
        match self.body.len() - self.at {
            0 => Ok(()),
            rest => Err(RecordError::TrailingBytes(rest)),
        }
    }
}

/// Encodes reads of one file, with buffers and streams that it keeps.
pub struct RecordEncoder {
    signal: SignalCompression,
    deflation: Deflation,
    scratch: ex_zd::Scratch,
    body: Vec<u8>,
}

/// Compressor of records.
enum Deflation {
    None,
    Zlib(Box<Deflater>),
    ZlibFast(Compressor),
    Zstd(CCtx<'static>),
}

impl RecordEncoder {
    /// For records of this compression.
    ///
    /// # Errors
    /// [`RecordError::OutOfMemory`].
    pub fn new(compression: Compression) -> Result<Self, RecordError> {
        let deflation = match compression.record {
            RecordCompression::None => Deflation::None,
            RecordCompression::Zlib => Deflation::Zlib(Box::default()),
            RecordCompression::ZlibFast => Deflation::ZlibFast(Compressor::new(fast_level())),
            RecordCompression::Zstd => {
                Deflation::Zstd(CCtx::try_create().ok_or(RecordError::OutOfMemory(0))?)
            }
        };
        let scratch = ex_zd::Scratch::default();
        Ok(Self { signal: compression.signal, deflation, scratch, body: Vec::new() })
    }

    /// Appends the read as a record preceded by its length; nothing when it fails. The bytes are
    /// those that slow5lib writes, but for [`RecordCompression::ZlibFast`].
    ///
    /// # Errors
    /// When the read does not fit the header or is too long.
    pub fn append(
        &mut self,
        read: &SignalRead,
        header: &SignalHeader,
        out: &mut Vec<u8>,
    ) -> Result<(), RecordError> {
        check_read(read, header)?;
        self.body.clear();
        append_body(read, header, self.signal, &mut self.scratch, &mut self.body)?;
        if self.body.len() > MAX_BODY_BYTES {
            return Err(RecordError::TooLong);
        }
        let start = out.len();
        out.extend_from_slice(&[0; LENGTH_BYTES]);
        if let Err(error) = self.deflation.append(&self.body, out) {
            out.truncate(start);
            return Err(error);
        }
        let stored_bytes = (out.len() - start - LENGTH_BYTES) as u64;
        out[start..start + LENGTH_BYTES].copy_from_slice(&stored_bytes.to_le_bytes());
        Ok(())
    }
}

impl Deflation {
    fn append(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<(), RecordError> {
        match self {
            Self::None => out.extend_from_slice(body),
            Self::Zlib(deflater) => deflater.append(body, out),
            Self::ZlibFast(compressor) => {
                let start = out.len();
                out.resize(start + compressor.zlib_compress_bound(body.len()), 0);
                let size = compressor
                    .zlib_compress(body, &mut out[start..])
                    .map_err(|_| RecordError::TooLong)?;
                out.truncate(start + size);
            }
            Self::Zstd(context) => {
                let start = out.len();
                out.resize(start + zstd_safe::compress_bound(body.len()), 0);
                let size = context
                    .compress(&mut out[start..], body, ZSTD_LEVEL)
                    .map_err(|code| RecordError::BadZstd(zstd_safe::get_error_name(code)))?;
                out.truncate(start + size);
            }
        }
        Ok(())
    }
}

/// libdeflate's level 1: streams of svb-zd are 0.5 % smaller than stock zlib's. Level 4, whose are
/// smallest of 1 to 6, saves another 0.2 % in twice the time.
fn fast_level() -> CompressionLvl {
    CompressionLvl::new(1).unwrap_or_default()
}

/// Whether a read has what a record of this header needs.
pub(super) fn check_read(read: &SignalRead, header: &SignalHeader) -> Result<(), RecordError> {
    read_id::check(&read.read_id)?;
    if read.read_group >= header.read_groups {
        let (read_group, read_groups) = (read.read_group, header.read_groups);
        return Err(RecordError::ReadGroup { read_group, read_groups });
    }
    if read.auxiliary.len() != header.auxiliary.len() {
        let (values, fields) = (read.auxiliary.len(), header.auxiliary.len());
        return Err(RecordError::AuxiliaryCount { values, fields });
    }
    for (field, value) in header.auxiliary.iter().zip(read.auxiliary.iter()) {
        let size = field.kind.size_bytes();
        let fits = if field.is_array { value.len() % size == 0 } else { value.len() == size };
        if !fits {
            let name = String::from_utf8_lossy(&field.name).into_owned();
            return Err(RecordError::AuxiliarySize(name));
        }
    }
    Ok(())
}

fn append_body(
    read: &SignalRead,
    header: &SignalHeader,
    signal: SignalCompression,
    scratch: &mut ex_zd::Scratch,
    out: &mut Vec<u8>,
) -> Result<(), RecordError> {
    out.extend_from_slice(&(read.read_id.len() as u16).to_le_bytes());
    out.extend_from_slice(&read.read_id);
    out.extend_from_slice(&read.read_group.to_le_bytes());
    for value in [read.digitisation, read.offset, read.range, read.sampling_rate] {
        out.extend_from_slice(&value.to_le_bytes());
    }
    let length_at = out.len();
    out.extend_from_slice(&[0; 8]);
    let length = match signal {
        SignalCompression::None => {
            out.reserve(2 * read.samples.len());
            read.samples.iter().for_each(|sample| out.extend_from_slice(&sample.to_le_bytes()));
            read.samples.len()
        }
        SignalCompression::SvbZd => {
            svb_zd::encode(&read.samples, out)?;
            out.len() - length_at - 8
        }
        SignalCompression::ExZd => {
            ex_zd::encode(&read.samples, scratch, out)?;
            out.len() - length_at - 8
        }
    };
    out[length_at..length_at + 8].copy_from_slice(&(length as u64).to_le_bytes());
    for (field, value) in header.auxiliary.iter().zip(read.auxiliary.iter()) {
        if field.is_array {
            let count = (value.len() / field.kind.size_bytes()) as u64;
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(value);
    }
    Ok(())
}

#[cfg(test)]
#[path = "binary_tests.rs"]
mod tests;
