//! Records of BLOW5, inflated: whole ones, and the first bytes alone.

use std::time::{Duration, Instant};

use libdeflater::{DecompressionError, Decompressor};
use zstd::zstd_safe::{self, DCtx, InBuffer, OutBuffer, ResetDirective};

use super::limits::MAX_BODY_BYTES;
use super::zlib::{Inflater, ZlibError};
use super::{RecordCompression, RecordError};

/// Deflate makes at most 1032 bytes of one (zlib's documentation), and a stream has a header.
const MAX_INFLATION: usize = 1032;
/// A block of Zstandard has at least four bytes and at most 128 KiB inflated (RFC 8878).
const ZSTD_BLOCK_BYTES: usize = 128 << 10;
/// Inflater of records.
pub(super) enum Inflation {
    None,
    Zlib { whole: Decompressor, first: Inflater, body: Vec<u8> },
    Zstd { context: DCtx<'static>, body: Vec<u8> },
}

fn from_zlib(error: ZlibError) -> RecordError {
    match error {
        ZlibError::Data => RecordError::BadZlib,
        ZlibError::Memory => RecordError::OutOfMemory(0),
    }
}

/// Makes room for `size_bytes` at the front of `buffer`.
fn grow(buffer: &mut Vec<u8>, size_bytes: usize) -> Result<(), RecordError> {
    if let Some(more) = size_bytes.checked_sub(buffer.len()) {
        buffer.try_reserve(more).map_err(|_| RecordError::OutOfMemory(size_bytes))?;
        buffer.resize(size_bytes, 0);
    }
    Ok(())
}

impl Inflation {
    /// For records of this compression.
    pub(super) fn new(compression: RecordCompression) -> Result<Self, RecordError> {
        Ok(match compression {
            RecordCompression::None => Self::None,
            RecordCompression::Zlib | RecordCompression::ZlibFast => Self::Zlib {
                whole: Decompressor::new(),
                first: Inflater::new().map_err(from_zlib)?,
                body: Vec::new(),
            },
            RecordCompression::Zstd => Self::Zstd {
                context: DCtx::try_create().ok_or(RecordError::OutOfMemory(0))?,
                body: Vec::new(),
            },
        })
    }

    /// The whole record; the time it takes is added to `time`.
    pub(super) fn timed<'a>(
        &'a mut self,
        stored: &'a [u8],
        time: &mut Duration,
    ) -> Result<&'a [u8], RecordError> {
        let start = Instant::now();
        let body = self.inflate(stored);
        *time += start.elapsed();
        body
    }

    /// The whole record.
    fn inflate<'a>(&'a mut self, stored: &'a [u8]) -> Result<&'a [u8], RecordError> {
        if stored.len() > MAX_BODY_BYTES {
            return Err(RecordError::TooLong);
        }
        match self {
            Self::None => Ok(stored),
            Self::Zlib { whole, body, .. } => {
                let size = inflate_zlib(whole, stored, body)?;
                Ok(&body[..size])
            }
            Self::Zstd { context, body } => {
                let size = inflate_zstd(context, stored, body)?;
                Ok(&body[..size])
            }
        }
    }

    /// Fills `out` from the front as far as the stored bytes give bytes for it; returns how far.
    pub(super) fn first_bytes(
        &mut self,
        stored: &[u8],
        out: &mut [u8],
    ) -> Result<usize, RecordError> {
        match self {
            Self::None => {
                let size = stored.len().min(out.len());
                out[..size].copy_from_slice(&stored[..size]);
                Ok(size)
            }
            Self::Zlib { first, .. } => first.first_bytes(stored, out).map_err(from_zlib),
            Self::Zstd { context, .. } => {
                let bad = |code| RecordError::BadZstd(zstd_safe::get_error_name(code));
                context.reset(ResetDirective::SessionOnly).map_err(bad)?;
                let mut input = InBuffer::around(stored);
                let mut output = OutBuffer::around(out);
                // One call gives what one block has; the id of a long one may take more.
                loop {
                    let before = (input.pos, output.pos());
                    let left = context.decompress_stream(&mut output, &mut input).map_err(bad)?;
                    let is_full = output.pos() == output.capacity();
                    if left == 0 || is_full || before == (input.pos, output.pos()) {
                        return Ok(output.pos());
                    }
                }
            }
        }
    }
}

/// Inflates a zlib stream to the front of `body`, whose length is what was needed so far.
fn inflate_zlib(
    inflater: &mut Decompressor,
    stored: &[u8],
    body: &mut Vec<u8>,
) -> Result<usize, RecordError> {
    let most = MAX_BODY_BYTES.min(stored.len().saturating_mul(MAX_INFLATION));
    grow(body, most.min(stored.len().saturating_mul(2)))?;
    loop {
        match inflater.zlib_decompress(stored, body) {
            Ok(size) => return Ok(size),
            Err(DecompressionError::BadData) => return Err(RecordError::BadZlib),
            Err(DecompressionError::InsufficientSpace) if body.len() >= most => {
                return Err(RecordError::TooLong);
            }
            Err(DecompressionError::InsufficientSpace) => {
                let size = most.min(body.len().saturating_mul(2));
                grow(body, size)?;
            }
        }
    }
}

/// Inflates a zstd frame that states its size to the front of `body`.
fn inflate_zstd(
    context: &mut DCtx<'static>,
    stored: &[u8],
    body: &mut Vec<u8>,
) -> Result<usize, RecordError> {
    let stated = zstd_safe::get_frame_content_size(stored)
        .map_err(|_| RecordError::BadZstd("not a frame"))?
        .ok_or(RecordError::BadZstd("its size is not stated"))?;
    let most = (stored.len() / 4 + 1).saturating_mul(ZSTD_BLOCK_BYTES);
    let size = usize::try_from(stated)
        .ok()
        .filter(|&size| size <= MAX_BODY_BYTES)
        .ok_or(RecordError::TooLong)?;
    if size > most {
        return Err(RecordError::BadZstd("it states more bytes than it can hold"));
    }
    // Not filled with zeros, which would cost more than the frame is worth where it is.
    body.clear();
    body.try_reserve(size).map_err(|_| RecordError::OutOfMemory(size))?;
    match context.decompress(body, stored) {
        Ok(found) if found == size => Ok(size),
        Ok(_) => Err(RecordError::BadZstd("it has not as many bytes as it states")),
        Err(code) => Err(RecordError::BadZstd(zstd_safe::get_error_name(code))),
    }
}
