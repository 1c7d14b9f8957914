//! VBZ, the filter that nanopore signal is compressed with in HDF5 (registered number 32020).
//!
//! A chunk is the number of bytes that it stands for (`u32`, little-endian), then a payload, as a
//! zstd frame unless the level is 0. The payload is the bytes themselves (integer size 0), or
//! StreamVByte of 32-bit values: keys of two bits, four to a byte from the lowest bits on, then the
//! bytes of the values. Values are zigzag-coded differences where the client asked for them.
//! Sources: D. Lemire, N. Kurz, C. Rupp, *Stream VByte: Faster Byte-Oriented Integer Compression*,
//! 2018; the layout is that of Oxford Nanopore's vbz_compression 1.0, versions 0 and 1.

use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

/// Number of the filter in HDF5's registry.
pub const FILTER_ID: u16 = 32020;

/// Why a chunk could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum VbzError {
    /// The filter's parameters are none that exist.
    #[error("VBZ with parameters {0:?} does not exist")]
    Parameters(Vec<u32>),
    /// It stands for more than a chunk holds, or for a number of bytes that are no whole integers.
    #[error("a VBZ chunk stands for {0} bytes")]
    Size(u32),
    /// The zstd frame is damaged.
    #[error("damaged zstd frame in a VBZ chunk")]
    Zstd,
    /// Keys or values are missing, or there is more than they account for.
    #[error("a VBZ chunk has {found} bytes of values instead of {expected}")]
    Values {
        /// Bytes that the keys ask for; those of the keys where these are not complete.
        expected: usize,
        /// Bytes that there are.
        found: usize,
    },
}

/// Parameters of the filter, as HDF5 keeps them: four numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parameters {
    version: u32,
    integer_bytes: usize,
    is_zigzag: bool,
    is_zstd: bool,
}

impl Parameters {
    fn new(values: &[u32]) -> Result<Self, VbzError> {
        let unknown = || VbzError::Parameters(values.to_vec());
        let &[version, size, zigzag, ref level @ ..] = values else { return Err(unknown()) };
        if version > 1 || !matches!(size, 0 | 1 | 2 | 4) {
            return Err(unknown());
        }
        // The filter's default level is 1.
        let is_zstd = level.first() != Some(&0);
        Ok(Self { version, integer_bytes: size as usize, is_zigzag: zigzag != 0, is_zstd })
    }
}

/// A decoder with its buffers.
#[derive(Default)]
pub struct VbzDecoder {
    zstd: Option<Decompressor<'static>>,
    payload: Vec<u8>,
}

impl VbzDecoder {
    /// Decodes `chunk`, which was encoded with these parameters, into `out`, at most `limit_bytes`.
    ///
    /// # Errors
    /// See [`VbzError`]; `out` then holds nothing of use.
    pub fn decode(
        &mut self,
        parameters: &[u32],
        chunk: &[u8],
        limit_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), VbzError> {
        let parameters = Parameters::new(parameters)?;
        let Some((prefix, payload)) = chunk.split_first_chunk::<4>() else {
            return Err(VbzError::Values { expected: 4, found: chunk.len() });
        };
        let size = u32::from_le_bytes(*prefix);
        let bytes = size as usize;
        let integer_bytes = parameters.integer_bytes;
        if bytes > limit_bytes || (integer_bytes > 0 && bytes % integer_bytes != 0) {
            return Err(VbzError::Size(size));
        }
        let values = bytes.checked_div(integer_bytes).unwrap_or(0);
        let payload = if parameters.is_zstd {
            // Keys and the longest values; or the bytes themselves.
            let most = if integer_bytes == 0 { bytes } else { values.div_ceil(4) + 4 * values };
            self.unpack(payload, most)?
        } else {
            payload
        };
        out.clear();
        if integer_bytes == 0 {
            if payload.len() != bytes {
                return Err(VbzError::Values { expected: bytes, found: payload.len() });
            }
            out.extend_from_slice(payload);
            return Ok(());
        }
        if payload.len() < values.div_ceil(4) {
            let (expected, found) = (values.div_ceil(4), payload.len());
            return Err(VbzError::Values { expected, found });
        }
        let (keys, data) = payload.split_at(values.div_ceil(4));
        // Every four values have a byte of keys, so this is at most 16 times the payload.
        out.resize(bytes, 0);
        match (parameters.version, integer_bytes, parameters.is_zigzag) {
            (1, 1, zigzag) => half_bytes(keys, data, zigzag, out),
            (_, 1, zigzag) => whole_bytes::<1>(keys, data, zigzag, out),
            (_, 2, zigzag) => whole_bytes::<2>(keys, data, zigzag, out),
            (_, _, zigzag) => whole_bytes::<4>(keys, data, zigzag, out),
        }
    }

    /// Decompresses a zstd frame of at most `most` bytes.
    fn unpack(&mut self, frame: &[u8], most: usize) -> Result<&[u8], VbzError> {
        let size = get_frame_content_size(frame).map_err(|_| VbzError::Zstd)?;
        let size = usize::try_from(size.unwrap_or(most as u64)).unwrap_or(usize::MAX);
        if size > most {
            return Err(VbzError::Zstd);
        }
        if self.zstd.is_none() {
            self.zstd = Some(Decompressor::new().map_err(|_| VbzError::Zstd)?);
        }
        self.payload.clear();
        // Memory that zstd does not write to is never touched.
        self.payload.reserve(size);
        let Some(zstd) = &mut self.zstd else { return Err(VbzError::Zstd) };
        let unpacked = zstd.decompress_to_buffer(frame, &mut self.payload);
        unpacked.map_err(|_| VbzError::Zstd)?;
        Ok(&self.payload)
    }
}

/// Adds up differences where there are any. All sums wrap: only the low bits are kept.
#[derive(Default)]
struct Running {
    is_zigzag: bool,
    last: u32,
}

impl Running {
    fn next(&mut self, value: u32) -> u32 {
        if !self.is_zigzag {
            return value;
        }
        let difference = (value >> 1) ^ (value & 1).wrapping_neg();
        self.last = self.last.wrapping_add(difference);
        self.last
    }
}

/// StreamVByte-1234: keys 0 to 3 for one to four bytes.
fn whole_bytes<const SIZE: usize>(
    keys: &[u8],
    data: &[u8],
    is_zigzag: bool,
    out: &mut [u8],
) -> Result<(), VbzError> {
    const MASKS: [u32; 4] = [0xff, 0xffff, 0x00ff_ffff, u32::MAX];
    let mut running = Running { is_zigzag, last: 0 };
    let mut at = 0;
    for (&keys, out) in keys.iter().zip(out.chunks_mut(4 * SIZE)) {
        let lengths = [keys & 3, keys >> 2 & 3, keys >> 4 & 3, keys >> 6];
        for (length, out) in lengths.into_iter().zip(out.chunks_mut(SIZE)) {
            let length = usize::from(length);
            let value = match data.get(at..at + 4) {
                Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]) & MASKS[length],
                _ => {
                    let bytes = data
                        .get(at..at + length + 1)
                        .ok_or(VbzError::Values { expected: at + length + 1, found: data.len() })?;
                    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
                }
            };
            at += length + 1;
            out.copy_from_slice(&running.next(value).to_le_bytes()[..SIZE]);
        }
    }
    ends_at(at, data.len())
}

/// Version 1 of single bytes: keys 0 to 3 for no, one, two and four half bytes, low half first.
fn half_bytes(keys: &[u8], data: &[u8], is_zigzag: bool, out: &mut [u8]) -> Result<(), VbzError> {
    let mut running = Running { is_zigzag, last: 0 };
    let mut at = 0;
    for (index, out) in out.iter_mut().enumerate() {
        let key = keys[index / 4] >> (2 * (index % 4)) & 3;
        let halves = [0, 1, 2, 4][usize::from(key)];
        let mut value = 0;
        for half in 0..halves {
            let byte = data.get(at / 2);
            let byte = byte.ok_or(VbzError::Values { expected: at / 2 + 1, found: data.len() })?;
            value |= u32::from(byte >> (4 * (at % 2)) & 0x0f) << (4 * half);
            at += 1;
        }
        *out = running.next(value) as u8;
    }
    ends_at(at.div_ceil(2), data.len())
}

fn ends_at(expected: usize, found: usize) -> Result<(), VbzError> {
    if expected == found { Ok(()) } else { Err(VbzError::Values { expected, found }) }
}
