//! VBZ, the filter that nanopore signal is compressed with in HDF5 (registered number 32020).
//!
//! A chunk is the number of bytes that it stands for (`u32`, little-endian), then a payload, as a
//! zstd frame unless the level is 0. The payload is the bytes themselves (integer size 0), or the
//! [`stream_vbyte`] coding of 32-bit values, which are zigzag-coded differences where the client
//! requested them: for 16-bit integers that is the coding of BLOW5's svb-zd. Version 1 codes single
//! bytes in half bytes. The layout is that of Oxford Nanopore's vbz_compression 1.0.

use zstd::bulk::Decompressor;
use zstd::zstd_safe::get_frame_content_size;

use crate::slow5::{SignalError, stream_vbyte, svb_zd};

/// Number of the filter in HDF5's registry.
pub const FILTER_ID: u16 = 32020;

/// Why a chunk could not be decoded.
#[derive(Debug, thiserror::Error)]
pub enum VbzError {
    /// The filter's parameters are none that exist.
    #[error("VBZ with parameters {0:?} does not exist")]
    Parameters(Vec<u32>),
    /// It stands for more than a chunk holds, or for a number of bytes that are no whole integers.
    #[error("a VBZ chunk encodes {0} bytes")]
    Size(u32),
    /// The zstd frame is damaged.
    #[error("damaged zstd frame in a VBZ chunk")]
    Zstd,
    /// Keys or values are missing, or there is more than they account for.
    #[error(transparent)]
    Values(#[from] SignalError),
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
    buffers: Buffers,
}

#[derive(Default)]
struct Buffers {
    payload: Vec<u8>,
    samples: Vec<i16>,
    values: Vec<u32>,
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
        let (prefix, payload) = chunk.split_first_chunk().ok_or(SignalError::Truncated)?;
        let size = u32::from_le_bytes(*prefix);
        let bytes = size as usize;
        let integer_bytes = parameters.integer_bytes;
        if bytes > limit_bytes || (integer_bytes > 0 && !bytes.is_multiple_of(integer_bytes)) {
            return Err(VbzError::Size(size));
        }
        let count = bytes.checked_div(integer_bytes).unwrap_or(0);
        // Keys and the longest values; or the bytes themselves.
        let most = if integer_bytes == 0 { bytes } else { count.div_ceil(4) + 4 * count };
        let Self { zstd, buffers: Buffers { payload: unpacked, samples, values } } = self;
        let payload = if parameters.is_zstd {
            unpack(zstd, payload, most, unpacked)?;
            &unpacked[..]
        } else {
            payload
        };
        out.clear();
        match (parameters.version, integer_bytes, parameters.is_zigzag) {
            (_, 0, _) if payload.len() == bytes => out.extend_from_slice(payload),
            (_, 0, _) => return Err(VbzError::Size(size)),
            (_, 2, true) => {
                svb_zd::decode_coded(count, payload, samples)?;
                out.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
            }
            (1, 1, is_zigzag) => half_bytes(count, payload, is_zigzag, out)?,
            (_, _, is_zigzag) => {
                stream_vbyte::decode(count, payload, values)?;
                let mut running = Running { is_zigzag, last: 0 };
                for &value in &*values {
                    let bytes = running.next(value).to_le_bytes();
                    out.extend_from_slice(&bytes[..integer_bytes]);
                }
            }
        }
        Ok(())
    }
}

/// Decompresses a zstd frame of at most `most` bytes.
fn unpack(
    zstd: &mut Option<Decompressor<'static>>,
    frame: &[u8],
    most: usize,
    out: &mut Vec<u8>,
) -> Result<(), VbzError> {
    let size = get_frame_content_size(frame).map_err(|_| VbzError::Zstd)?;
    let size = usize::try_from(size.unwrap_or(most as u64)).unwrap_or(usize::MAX);
    if size > most {
        return Err(VbzError::Zstd);
    }
    if zstd.is_none() {
        *zstd = Some(Decompressor::new().map_err(|_| VbzError::Zstd)?);
    }
    let Some(zstd) = zstd else { return Err(VbzError::Zstd) };
    out.clear();
    // Memory that zstd does not write to is never touched.
    out.reserve(size);
    zstd.decompress_to_buffer(frame, out).map_err(|_| VbzError::Zstd)?;
    Ok(())
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

/// Version 1 of single bytes: keys 0 to 3 for no, one, two and four half bytes, low half first.
fn half_bytes(
    count: usize,
    payload: &[u8],
    is_zigzag: bool,
    out: &mut Vec<u8>,
) -> Result<(), VbzError> {
    let keys_and_data = payload.split_at_checked(stream_vbyte::key_bytes(count));
    let (keys, data) = keys_and_data.ok_or(SignalError::Truncated)?;
    let mut running = Running { is_zigzag, last: 0 };
    let mut at = 0;
    for index in 0..count {
        let key = keys[index / 4] >> (2 * (index % 4)) & 3;
        let halves = [0, 1, 2, 4][usize::from(key)];
        let mut value = 0;
        for half in 0..halves {
            let byte = data.get(at / 2).ok_or(SignalError::Truncated)?;
            value |= u32::from(byte >> (4 * (at % 2)) & 0x0f) << (4 * half);
            at += 1;
        }
        out.push(running.next(value) as u8);
    }
    match data.len() - at.div_ceil(2) {
        0 => Ok(()),
        rest => Err(SignalError::TrailingBytes(rest).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(parameters: &[u32], chunk: &[u8]) -> Result<Vec<u8>, VbzError> {
        let mut out = vec![9];
        VbzDecoder::default().decode(parameters, chunk, 100, &mut out).map(|()| out)
    }

    #[test]
    fn chunks_of_every_form_are_decoded() {
        fn t(parameters: &[u32], chunk: &[u8], expected: &[u8]) {
            assert_eq!(decoded(parameters, chunk).unwrap(), expected, "{parameters:?}");
        }
        t(&[0, 0, 0, 0], &[3, 0, 0, 0, 7, 8, 9], &[7, 8, 9]);
        t(&[1, 2, 1, 0], &[0, 0, 0, 0], &[]);
        // Values 2 (as 4), then -1 (3 down, as 5), in 16 bits.
        t(&[0, 2, 1, 0], &[4, 0, 0, 0, 0, 4, 5], &[2, 0, 0xff, 0xff]);
        t(&[1, 2, 0, 0], &[4, 0, 0, 0, 4, 4, 5, 6], &[4, 0, 5, 6]);
        t(&[0, 4, 0, 0], &[4, 0, 0, 0, 3, 1, 2, 3, 4], &[1, 2, 3, 4]);
        t(&[0, 1, 1, 0], &[2, 0, 0, 0, 0, 4, 5], &[2, 0xff]);
        // Half bytes: none (0), one (5), two (0x21).
        t(&[1, 1, 0, 0], &[3, 0, 0, 0, 0b10_01_00, 0x15, 0x02], &[0, 5, 0x21]);
        let frame = zstd::bulk::compress(&[0, 4, 5], 1).unwrap();
        for level in [&[0, 2, 1, 1][..], &[0, 2, 1]] {
            t(level, &[&[4, 0, 0, 0], &frame[..]].concat(), &[2, 0, 0xff, 0xff]);
        }
    }

    #[test]
    fn damage_is_named() {
        fn t(parameters: &[u32], chunk: &[u8], expected: &str) {
            assert_eq!(decoded(parameters, chunk).unwrap_err().to_string(), expected);
        }
        t(&[2, 2, 1, 0], &[], "VBZ with parameters [2, 2, 1, 0] does not exist");
        t(&[0, 3, 1, 0], &[], "VBZ with parameters [0, 3, 1, 0] does not exist");
        t(&[0, 2], &[], "VBZ with parameters [0, 2] does not exist");
        t(&[0, 2, 1, 0], &[1, 0, 0], "coded signal is cut short");
        t(&[0, 2, 1, 0], &[3, 0, 0, 0], "a VBZ chunk encodes 3 bytes");
        t(&[0, 2, 1, 0], &[102, 0, 0, 0], "a VBZ chunk encodes 102 bytes");
        t(&[0, 0, 1, 0], &[2, 0, 0, 0, 1], "a VBZ chunk encodes 2 bytes");
        t(&[0, 2, 1, 0], &[2, 0, 0, 0, 0, 1, 1], "coded signal has 1 bytes too many");
        t(&[1, 1, 1, 0], &[2, 0, 0, 0, 0, 1], "coded signal has 1 bytes too many");
        t(&[1, 1, 1, 0], &[2, 0, 0, 0, 1], "coded signal is cut short");
        t(&[0, 2, 1, 1], &[2, 0, 0, 0, 0, 1], "damaged zstd frame in a VBZ chunk");
        let frame = zstd::bulk::compress(&[0; 1000], 1).unwrap();
        t(
            &[0, 2, 1, 1],
            &[&[2, 0, 0, 0], &frame[..]].concat(),
            "damaged zstd frame in a VBZ chunk",
        );
    }
}
