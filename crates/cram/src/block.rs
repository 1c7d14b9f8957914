//! Blocks (CRAM specification 3.0, section 8): what every part of a file is wrapped in.

use crate::integers::push_itf8;

/// How the bytes of a block are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Not at all.
    Raw = 0,
    /// gzip.
    Gzip = 1,
    /// rANS 4x8.
    Rans = 4,
    /// rANS Nx16, of 3.1.
    RansNx16 = 5,
    /// The name tokeniser, of 3.1.
    Names = 8,
}

/// Content of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// The SAM header.
    FileHeader = 0,
    /// How the records of a container are encoded.
    CompressionHeader = 1,
    /// Header of a slice.
    SliceHeader = 2,
    /// A data series, or a part of one.
    External = 4,
    /// Data encoded bit by bit.
    Core = 5,
}

/// Appends a block of `bytes`, which are `raw_bytes` when they are inflated, with its CRC-32.
pub(crate) fn push_block(
    out: &mut Vec<u8>,
    (method, content, id): (Method, Content, i32),
    raw_bytes: usize,
    bytes: &[u8],
) {
    let start = out.len();
    out.extend_from_slice(&[method as u8, content as u8]);
    push_itf8(out, id);
    push_itf8(out, bytes.len() as i32);
    push_itf8(out, raw_bytes as i32);
    out.extend_from_slice(bytes);
    let checksum = crc32fast::hash(&out[start..]);
    out.extend_from_slice(&checksum.to_le_bytes());
}

/// Appends a block that is not compressed.
pub(crate) fn push_raw_block(out: &mut Vec<u8>, content: Content, bytes: &[u8]) {
    push_block(out, (Method::Raw, content, 0), bytes.len(), bytes);
}
