//! Stock zlib, for what libdeflate does not do: the first bytes of a stream without the rest. And,
//! for tests, the very bytes that slow5tools writes, which `crate::deflate` must make too.
//!
//! Each stream is made once and reset between records.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::mem::MaybeUninit;

use libz_sys as z;

/// Error of zlib.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ZlibError {
    /// The stream is broken, or what is required of it makes no sense.
    Data,
    /// There is no memory for its state.
    Memory,
}

/// A stream in a place of its own: its state points back at it, so it must not move.
struct Stream {
    z: Box<z::z_stream>,
    end: unsafe extern "C" fn(z::z_streamp) -> c_int,
}

// SAFETY: the stream owns its state, which nothing else reaches, and zlib keeps nothing per thread.
unsafe impl Send for Stream {}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream was initialised by the function that `end` belongs to.
        unsafe { (self.end)(&raw mut *self.z) };
    }
}

impl Stream {
    /// A stream that `init` initialises and `end` frees.
    ///
    /// # Safety
    /// `init` must be an initialisation of zlib and `end` the function that undoes it.
    unsafe fn new(
        init: impl FnOnce(z::z_streamp) -> c_int,
        end: unsafe extern "C" fn(z::z_streamp) -> c_int,
    ) -> Result<Self, ZlibError> {
        let mut stream = Box::new(MaybeUninit::<z::z_stream>::zeroed());
        match init(stream.as_mut_ptr()) {
            // SAFETY: all fields but the allocators are numbers and pointers, which may be zero,
            // and zlib puts its own functions where the allocators are null.
            z::Z_OK => Ok(Self { z: unsafe { stream.assume_init() }, end }),
            z::Z_MEM_ERROR => Err(ZlibError::Memory),
            _ => Err(ZlibError::Data),
        }
    }

    /// Sets input and output.
    fn set(&mut self, input: &[u8], out: &mut [u8]) -> Result<(), ZlibError> {
        self.z.avail_in = c_uint::try_from(input.len()).map_err(|_| ZlibError::Data)?;
        self.z.avail_out = c_uint::try_from(out.len()).map_err(|_| ZlibError::Data)?;
        self.z.next_in = input.as_ptr().cast_mut(); // zlib does not write to its input
        self.z.next_out = out.as_mut_ptr();
        Ok(())
    }
}

/// Deflates records one by one at zlib's default level.
#[cfg(test)]
pub(crate) struct StockDeflater(Stream);

#[cfg(test)]
impl StockDeflater {
    pub(crate) fn new() -> Result<Self, ZlibError> {
        // zlib.h's defaults, which slow5lib takes: level 6, window of 32 KiB, memory level 8.
        let init = |stream| {
            // SAFETY: the stream is zeroed, as zlib wants it.
            unsafe {
                z::deflateInit_(
                    stream,
                    z::Z_DEFAULT_COMPRESSION,
                    z::zlibVersion(),
                    size_of::<z::z_stream>() as c_int,
                )
            }
        };
        // SAFETY: `init` and `end` belong together.
        Ok(Self(unsafe { Stream::new(init, z::deflateEnd) }?))
    }

    /// Appends one whole stream of `input`.
    pub(crate) fn append(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(), ZlibError> {
        let start = out.len();
        let size = z::uLong::try_from(input.len()).map_err(|_| ZlibError::Data)?;
        // SAFETY: the stream is initialised.
        let (bound, reset) = unsafe {
            (z::deflateBound(&raw mut *self.0.z, size), z::deflateReset(&raw mut *self.0.z))
        };
        let bound = usize::try_from(bound).map_err(|_| ZlibError::Data)?;
        if reset != z::Z_OK {
            return Err(ZlibError::Data);
        }
        out.try_reserve(bound).map_err(|_| ZlibError::Memory)?;
        out.resize(start + bound, 0);
        self.0.set(input, &mut out[start..])?;
        // SAFETY: the stream is initialised, and its input and output are those of `input` and
        // `out`, which live on and do not move.
        let outcome = unsafe { z::deflate(&raw mut *self.0.z, z::Z_FINISH) };
        out.truncate(out.len() - self.0.z.avail_out as usize);
        if outcome == z::Z_STREAM_END { Ok(()) } else { Err(ZlibError::Data) }
    }
}

/// Inflates the first bytes of records.
pub(super) struct Inflater(Stream);

impl Inflater {
    pub(super) fn new() -> Result<Self, ZlibError> {
        let init = |stream| {
            // SAFETY: the stream is zeroed, as zlib wants it.
            unsafe { z::inflateInit_(stream, z::zlibVersion(), size_of::<z::z_stream>() as c_int) }
        };
        // SAFETY: `init` and `end` belong together.
        Ok(Self(unsafe { Stream::new(init, z::inflateEnd) }?))
    }

    /// Fills `out` from the front as far as `stream`, which may end anywhere, gives bytes for it;
    /// returns how far.
    pub(super) fn first_bytes(
        &mut self,
        stream: &[u8],
        out: &mut [u8],
    ) -> Result<usize, ZlibError> {
        self.0.set(stream, out)?;
        // SAFETY: the stream is initialised, and its input and output are those of `stream` and
        // `out`, which live on and do not move.
        let outcome = unsafe {
            z::inflateReset(&raw mut *self.0.z);
            z::inflate(&raw mut *self.0.z, z::Z_SYNC_FLUSH)
        };
        match outcome {
            z::Z_OK | z::Z_STREAM_END | z::Z_BUF_ERROR => {
                Ok(out.len() - self.0.z.avail_out as usize)
            }
            z::Z_MEM_ERROR => Err(ZlibError::Memory),
            _ => Err(ZlibError::Data),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_those_of_zlib() {
        let mut deflater = StockDeflater::new().unwrap();
        let mut out = b"x".to_vec();
        deflater.append(b"", &mut out).unwrap();
        assert_eq!(out, b"x\x78\x9c\x03\0\0\0\0\x01");
        // As `zlib.compress` of Python gives it.
        out.clear();
        deflater.append(b"abcabcabcabc", &mut out).unwrap();
        assert_eq!(out, b"\x78\x9c\x4b\x4c\x4a\x4e\x84\x21\0\x1d\xe0\x04\x99");
    }

    #[test]
    fn the_first_bytes_need_only_the_first_bytes() {
        let text: Vec<u8> = (0..50_000_u32)
            .map(|i| (i.wrapping_mul(i).wrapping_mul(0x9E37_79B1) >> 24) as u8)
            .collect();
        let (mut deflater, mut inflater) =
            (StockDeflater::new().unwrap(), Inflater::new().unwrap());
        let mut stream = Vec::new();
        deflater.append(&text, &mut stream).unwrap();
        let mut out = [0; 100];
        for _ in 0..2 {
            assert_eq!(inflater.first_bytes(&stream, &mut out), Ok(100));
            assert_eq!(out, text[..100]);
        }
        assert_eq!(inflater.first_bytes(&stream[..5000], &mut out), Ok(100));
        assert_eq!(inflater.first_bytes(&stream[..1], &mut out), Ok(0));
        assert_eq!(inflater.first_bytes(&[], &mut out), Ok(0));
        assert_eq!(inflater.first_bytes(b"no zlib", &mut out), Err(ZlibError::Data));
        let mut whole = vec![0; text.len() + 9];
        assert_eq!(inflater.first_bytes(&stream, &mut whole), Ok(text.len()));
        assert_eq!(whole[..text.len()], text);
    }
}
