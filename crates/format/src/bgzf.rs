//! BGZF: gzip members of at most 64 KiB that say their own size, as pure functions on bytes.
//!
//! Source: SAM specification v1, section 4.1 ("The BGZF compression format"). A block is a gzip
//! member whose extra field carries a `BC` subfield with the block's size less one.

use std::fmt;

use libdeflater::{CompressionLvl, Compressor, Decompressor};

/// Most payload bytes put into one block: what htslib uses, so that a stored block still fits.
pub const MAX_PAYLOAD_BYTES: usize = 0xff00;

/// Most bytes a block can have, compressed or inflated (both sizes are 16-bit fields plus one).
pub const MAX_BLOCK_BYTES: usize = 0x1_0000;

/// The empty block that marks the end of a complete file (SAM specification 4.1.2).
pub const EOF_BLOCK: [u8; 28] = [
    0x1f, 0x8b, 0x08, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x06, 0x00, 0x42, 0x43, 0x02, 0x00,
    0x1b, 0x00, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
];

/// Fixed gzip header (10), length of the extra field (2), `BC` subfield (6).
const HEADER_BYTES: usize = 18;
/// CRC32 and ISIZE.
const FOOTER_BYTES: usize = 8;
/// Fixed part before the extra field.
const FIXED_HEADER_BYTES: usize = 12;
/// A stored deflate block: one byte of flags, LEN, NLEN.
pub(crate) const STORED_OVERHEAD_BYTES: usize = 5;

/// Why bytes are not a good BGZF block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BgzfError {
    /// Fewer bytes than the block has; `needed_bytes` is a lower bound of what it has.
    #[error("BGZF block is truncated: {available_bytes} bytes of at least {needed_bytes}")]
    Truncated {
        /// Bytes that were given.
        available_bytes: usize,
        /// Bytes that the block has at least.
        needed_bytes: usize,
    },
    /// The gzip magic is missing, or the method or the flags are not those of BGZF.
    #[error("not a BGZF block (bad gzip header)")]
    BadMagic,
    /// A gzip member without a `BC` subfield of two bytes: plain gzip, not BGZF.
    #[error("gzip member without a BC subfield: plain gzip, not BGZF")]
    NoBlockSize,
    /// The extra field's subfields do not fill it exactly, or BSIZE is below its own header.
    #[error("BGZF block with a malformed extra field")]
    BadExtraField,
    /// The slice handed over is longer than the one block in it.
    #[error("BGZF block has {block_bytes} bytes, {given_bytes} were given")]
    TrailingBytes {
        /// Size the header states.
        block_bytes: usize,
        /// Size of the slice.
        given_bytes: usize,
    },
    /// ISIZE is above 64 KiB.
    #[error("BGZF block claims {0} inflated bytes, more than 65536")]
    InflatedSizeTooLarge(u32),
    /// The deflate stream is broken or does not give ISIZE bytes.
    #[error("BGZF block does not inflate to its stated size")]
    BadDeflate,
    /// The inflated bytes have another CRC32 than the block states.
    #[error("BGZF block checksum mismatch: stored {stored:08x}, computed {computed:08x}")]
    BadChecksum {
        /// CRC32 in the block.
        stored: u32,
        /// CRC32 of the inflated bytes.
        computed: u32,
    },
    /// More than [`MAX_PAYLOAD_BYTES`] were given for one block.
    #[error("{0} bytes do not fit into one BGZF block (at most 65280)")]
    PayloadTooLarge(usize),
    /// A block that was inflated again has other bytes than it was made of.
    #[error("a BGZF block does not inflate to its records; this is a bug, please report it")]
    BadCheck,
    /// A compression level above 12, libdeflate's highest.
    #[error("compression level {0} is not in 0..=12")]
    BadLevel(u8),
}

/// A position in a BGZF file: file offset of a block (48 bits) and offset in its inflated bytes
/// (16 bits), ordered as the bytes are (SAM specification 4.1.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualOffset(u64);

impl VirtualOffset {
    /// Largest file offset of a block.
    pub(crate) const MAX_BLOCK_OFFSET: u64 = (1 << 48) - 1;

    /// `None` where the block starts beyond 2^48 - 1 bytes.
    #[must_use]
    pub const fn new(block_offset: u64, offset_in_block: u16) -> Option<Self> {
        if block_offset > Self::MAX_BLOCK_OFFSET {
            return None;
        }
        Some(Self(block_offset << 16 | offset_in_block as u64))
    }

    /// From its 64-bit form in an index.
    #[must_use]
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// As it is in an index: `block offset << 16 | offset in block`.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// File offset of the block, in bytes.
    #[must_use]
    pub const fn block_offset(self) -> u64 {
        self.0 >> 16
    }

    /// Offset in the block's inflated bytes.
    #[must_use]
    pub const fn offset_in_block(self) -> u16 {
        (self.0 & 0xffff) as u16
    }

    /// This position, given relative to a run of blocks, in a file where the run starts at
    /// `base_offset`; `None` beyond 2^48 - 1.
    #[must_use]
    pub(crate) const fn rebased(self, base_offset: u64) -> Option<Self> {
        match self.block_offset().checked_add(base_offset) {
            Some(block_offset) => Self::new(block_offset, self.offset_in_block()),
            None => None,
        }
    }
}

/// Contents of a block's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// Size of the whole block, header and footer included; at most [`MAX_BLOCK_BYTES`].
    pub block_bytes: usize,
    /// Size of the header: where the deflate stream starts.
    pub header_bytes: usize,
}

impl BlockHeader {
    /// The deflate stream of the block that `bytes` starts with, as far as they have it.
    #[must_use]
    pub fn deflated(self, bytes: &[u8]) -> &[u8] {
        let end = self.block_bytes.saturating_sub(FOOTER_BYTES).min(bytes.len());
        bytes.get(self.header_bytes..end).unwrap_or_default()
    }
}

/// Reads the header at the start of `bytes`, which may go on after the block or end within it.
///
/// # Errors
/// [`BgzfError::Truncated`] when more bytes are needed to decide, another kind when no further byte
/// could make it a block.
pub fn parse_block_header(bytes: &[u8]) -> Result<BlockHeader, BgzfError> {
    const MAGIC: [u8; 4] = [0x1f, 0x8b, 0x08, 0x04];
    let seen = bytes.len().min(MAGIC.len());
    if bytes[..seen] != MAGIC[..seen] {
        return Err(BgzfError::BadMagic);
    }
    let truncated =
        |needed_bytes| BgzfError::Truncated { available_bytes: bytes.len(), needed_bytes };
    let Some(extra_len) = u16_at(bytes, 10) else {
        return Err(truncated(FIXED_HEADER_BYTES));
    };
    let header_bytes = FIXED_HEADER_BYTES + usize::from(extra_len);
    let Some(extra) = bytes.get(FIXED_HEADER_BYTES..header_bytes) else {
        return Err(truncated(header_bytes));
    };
    let block_bytes = usize::from(block_size_less_one(extra)?) + 1;
    if block_bytes < header_bytes + FOOTER_BYTES {
        return Err(BgzfError::BadExtraField);
    }
    Ok(BlockHeader { block_bytes, header_bytes })
}

/// BSIZE among the subfields of a gzip extra field, whichever place it has.
fn block_size_less_one(mut extra: &[u8]) -> Result<u16, BgzfError> {
    let mut found = None;
    while !extra.is_empty() {
        let len = usize::from(u16_at(extra, 2).ok_or(BgzfError::BadExtraField)?);
        let value = extra.get(4..4 + len).ok_or(BgzfError::BadExtraField)?;
        if extra.starts_with(b"BC") && len == 2 && found.is_none() {
            found = u16_at(value, 0);
        }
        extra = &extra[4 + len..];
    }
    found.ok_or(BgzfError::NoBlockSize)
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let slice = bytes.get(offset..offset + 2)?;
    Some(u16::from_le_bytes([slice[0], slice[1]]))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let slice = bytes.get(offset..offset + 4)?;
    Some(u32::from_le_bytes([slice[0], slice[1], slice[2], slice[3]]))
}

/// Makes blocks at one compression level. The bytes depend on payload and level only.
pub struct BlockCompressor {
    /// `None` is level 0: stored.
    deflate: Option<Compressor>,
    level: u8,
}

impl BlockCompressor {
    /// Level 0 stores, 1 is the fastest, 12 the smallest (libdeflate's levels).
    ///
    /// # Errors
    /// [`BgzfError::BadLevel`] above 12.
    pub fn new(level: u8) -> Result<Self, BgzfError> {
        let deflate = match level {
            0 => None,
            _ => {
                let level = CompressionLvl::new(i32::from(level))
                    .map_err(|_| BgzfError::BadLevel(level))?;
                Some(Compressor::new(level))
            }
        };
        Ok(Self { deflate, level })
    }

    /// Appends exactly one block with `payload` to `out` and returns the block's size in bytes,
    /// at most 65,311. An empty payload gives [`EOF_BLOCK`] at every level.
    ///
    /// # Errors
    /// [`BgzfError::PayloadTooLarge`] above [`MAX_PAYLOAD_BYTES`]; `out` is then unchanged.
    pub fn compress(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<usize, BgzfError> {
        append_block(payload, out, |out| {
            let body = out.len();
            // Room for a stored block and no more: deflate that would grow beyond it gives up.
            out.resize(body + payload.len() + STORED_OVERHEAD_BYTES, 0);
            let deflated = self
                .deflate
                .as_mut()
                .and_then(|deflate| deflate.deflate_compress(payload, &mut out[body..]).ok())
                .unwrap_or_else(|| store(payload, &mut out[body..]));
            out.truncate(body + deflated);
        })
    }
}

/// Appends a block whose stream `append_stream` appends: at most [`STORED_OVERHEAD_BYTES`] more
/// than the payload. As [`BlockCompressor::compress`] otherwise.
pub(crate) fn append_block(
    payload: &[u8],
    out: &mut Vec<u8>,
    append_stream: impl FnOnce(&mut Vec<u8>),
) -> Result<usize, BgzfError> {
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(BgzfError::PayloadTooLarge(payload.len()));
    }
    if payload.is_empty() {
        out.extend_from_slice(&EOF_BLOCK);
        return Ok(EOF_BLOCK.len());
    }
    let start = out.len();
    out.extend_from_slice(&EOF_BLOCK[..HEADER_BYTES]);
    append_stream(out);
    out.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
    // Both sizes fit: the payload was checked, and the block adds at most 31 bytes to it.
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    let block_bytes = out.len() - start;
    out[start + 16..start + 18].copy_from_slice(&((block_bytes - 1) as u16).to_le_bytes());
    Ok(block_bytes)
}

impl fmt::Debug for BlockCompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockCompressor").field("level", &self.level).finish_non_exhaustive()
    }
}

/// Writes `payload` as one final stored deflate block (RFC 1951, 3.2.4) over the start of `out`.
fn store(payload: &[u8], out: &mut [u8]) -> usize {
    let len = payload.len() as u16;
    out[0] = 1;
    out[1..3].copy_from_slice(&len.to_le_bytes());
    out[3..5].copy_from_slice(&(!len).to_le_bytes());
    out[STORED_OVERHEAD_BYTES..STORED_OVERHEAD_BYTES + payload.len()].copy_from_slice(payload);
    STORED_OVERHEAD_BYTES + payload.len()
}

/// Inflates blocks.
pub struct BlockDecompressor {
    inflate: Decompressor,
}

impl Default for BlockDecompressor {
    fn default() -> Self {
        Self::new()
    }
}

impl BlockDecompressor {
    /// A decompressor; it holds no state from block to block.
    #[must_use]
    pub fn new() -> Self {
        Self { inflate: Decompressor::new() }
    }

    /// Appends the inflated bytes of `block`, exactly one whole block, to `out` and returns how
    /// many they are (at most 65,536). Size and CRC32 are verified.
    ///
    /// # Errors
    /// Every kind of [`BgzfError`] about reading; `out` is then as it was.
    pub fn decompress(&mut self, block: &[u8], out: &mut Vec<u8>) -> Result<usize, BgzfError> {
        let start = out.len();
        let result = self.decompress_at(block, out, start);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// As [`Self::decompress`], but writes the inflated bytes to `out` from `at` on, over what is
    /// there; `out` grows where it has to, and never shrinks.
    ///
    /// # Errors
    /// Every kind of [`BgzfError`] about reading; what `out` has from `at` on is then of no use.
    pub fn decompress_at(
        &mut self,
        block: &[u8],
        out: &mut Vec<u8>,
        at: usize,
    ) -> Result<usize, BgzfError> {
        let header = parse_block_header(block)?;
        if block.len() < header.block_bytes {
            return Err(BgzfError::Truncated {
                available_bytes: block.len(),
                needed_bytes: header.block_bytes,
            });
        }
        if block.len() > header.block_bytes {
            return Err(BgzfError::TrailingBytes {
                block_bytes: header.block_bytes,
                given_bytes: block.len(),
            });
        }
        let footer = header.block_bytes - FOOTER_BYTES;
        let (Some(stored), Some(isize)) = (u32_at(block, footer), u32_at(block, footer + 4)) else {
            return Err(BgzfError::BadExtraField);
        };
        let inflated_bytes = isize as usize;
        if inflated_bytes > MAX_BLOCK_BYTES {
            return Err(BgzfError::InflatedSizeTooLarge(isize));
        }
        let end = at + inflated_bytes;
        if out.len() < end {
            out.resize(end, 0);
        }
        self.inflate_checked(header.deflated(block), &mut out[at..end], stored)?;
        Ok(inflated_bytes)
    }

    fn inflate_checked(
        &mut self,
        deflated: &[u8],
        out: &mut [u8],
        stored: u32,
    ) -> Result<(), BgzfError> {
        match self.inflate.deflate_decompress(deflated, out) {
            Ok(written) if written == out.len() => {}
            _ => return Err(BgzfError::BadDeflate),
        }
        let computed = crc32fast::hash(out);
        if computed != stored {
            return Err(BgzfError::BadChecksum { stored, computed });
        }
        Ok(())
    }
}

impl fmt::Debug for BlockDecompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockDecompressor").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "bgzf_tests.rs"]
mod tests;
