//! SLOW5 and its binary form BLOW5: headers, records, compression of signal and record, and the
//! index, as pure functions on bytes.
//!
//! Source: SLOW5 specification 1.0.0 (slow5specs). Where slow5lib does otherwise its way is
//! followed, and the place says so. Nothing that a file states is believed before it is checked:
//! a length never allocates more memory than the bytes at hand can hold.

pub mod binary;
mod error;
pub mod ex_zd;
pub mod header;
pub mod index;
mod inflation;
mod limits;
mod number;
mod simd;
pub mod stream_vbyte;
pub mod svb_zd;
pub mod text;
pub(crate) mod zlib;

pub use error::{FrameError, HeaderError, IndexError, RecordError, SignalError};
pub use limits::MAX_BODY_BYTES;

/// How the bytes of a record are compressed, each record by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum RecordCompression {
    /// Not at all.
    None,
    /// A zlib stream (RFC 1950): stock zlib's bytes at level 6, which are slow5tools'.
    #[default]
    Zlib,
    /// A zlib stream as well, and files say so, but written by libdeflate in half the time, as
    /// small within one percent: other bytes than slow5tools'. Only requested; no file is read as
    /// this.
    ZlibFast,
    /// A Zstandard frame (RFC 8878), level 1.
    Zstd,
}

/// How the samples of a record are coded before the record is compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum SignalCompression {
    /// Two bytes each.
    None,
    /// Zigzag of differences in StreamVByte ([`svb_zd`]).
    #[default]
    SvbZd,
    /// Zigzag of differences in single bytes, with exceptions ([`ex_zd`]).
    ExZd,
}

/// Both compressions of a BLOW5 file. The default is that of slow5tools: zlib and svb-zd.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Compression {
    /// Of records.
    pub record: RecordCompression,
    /// Of samples.
    pub signal: SignalCompression,
}

impl Compression {
    /// Neither records nor signal are compressed.
    pub const NONE: Self =
        Self { record: RecordCompression::None, signal: SignalCompression::None };
}
