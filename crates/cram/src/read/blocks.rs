//! Blocks, checked and inflated (CRAM specification, section 8).

use libdeflater::Decompressor;

use super::codecs::{arithmetic, bzip2, fqzcomp, names, rans_nx16, xz};
use super::cursor::Cursor;
use super::error::{Defect, Problem};
use crate::rans4x8::Tables;

/// Contents of blocks.
pub(crate) const FILE_HEADER: u8 = 0;
pub(crate) const COMPRESSION_HEADER: u8 = 1;
pub(crate) const SLICE_HEADER: u8 = 2;
pub(crate) const EXTERNAL: u8 = 4;
pub(crate) const CORE: u8 = 5;

/// A block as it is in a container.
#[derive(Debug, Clone)]
pub(crate) struct Block<'a> {
    /// Its offset in its container.
    pub(crate) at: usize,
    method: u8,
    pub(crate) content: u8,
    pub(crate) id: i32,
    pub(crate) raw_bytes: usize,
    bytes: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads a block from a container of which `cursor` holds what follows its header.
    pub(crate) fn read(cursor: &mut Cursor<'a>, head_bytes: usize) -> Result<Self, Defect> {
        let at = cursor.at() + head_bytes;
        Self::parse(cursor, at).map_err(|problem| problem.at(at))
    }

    fn parse(cursor: &mut Cursor<'a>, at: usize) -> Result<Self, Problem> {
        let mut start = cursor.clone();
        let first = cursor.at();
        let [method, content] = cursor.array()?;
        let id = cursor.itf8()?;
        let (size, raw_bytes) = (cursor.size()?, cursor.size()?);
        let bytes = cursor.take(size)?;
        let covered = start.take(cursor.at() - first)?;
        let checksum = cursor.word()?;
        // A fuzzer does not find checksums.
        if !cfg!(fuzzing) && crc32fast::hash(covered) != checksum {
            return Err(Problem::Checksum("a block"));
        }
        Ok(Self { at, method, content, id, raw_bytes, bytes })
    }

    /// Refuses a block of another content.
    pub(crate) fn expect(&self, content: u8, what: &'static str) -> Result<(), Defect> {
        if self.content == content { Ok(()) } else { Err(Problem::Malformed(what).at(self.at)) }
    }
}

/// One worker's decompressors.
pub(crate) struct Inflater {
    gzip: Decompressor,
    tables: Tables,
    /// Bytes that the blocks of one container may still inflate to.
    pub(crate) left_bytes: usize,
}

impl Default for Inflater {
    fn default() -> Self {
        Self { gzip: Decompressor::new(), tables: Tables::default(), left_bytes: 0 }
    }
}

impl Inflater {
    /// Replaces `out` by what a block holds.
    pub(crate) fn inflate(&mut self, block: &Block<'_>, out: &mut Vec<u8>) -> Result<(), Defect> {
        self.inflate_bytes(block, out).map_err(|problem| problem.at(block.at))
    }

    fn inflate_bytes(&mut self, block: &Block<'_>, out: &mut Vec<u8>) -> Result<(), Problem> {
        self.decompress(block.method, block.bytes, block.raw_bytes, out)
    }

    /// Replaces `out` by what `bytes` inflate to, which are compressed by a method of its number.
    pub(crate) fn decompress(
        &mut self,
        method: u8,
        bytes: &[u8],
        raw_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Problem> {
        out.clear();
        let left = self.left_bytes;
        self.left_bytes = left.checked_sub(raw_bytes).ok_or(Problem::TooLarge(left))?;
        if raw_bytes == 0 {
            return Ok(());
        }
        match method {
            0 => out.extend_from_slice(bytes),
            1 => self.gunzip(bytes, raw_bytes, out)?,
            2 => *out = bzip2::decompress(bytes, raw_bytes)?,
            3 => *out = xz::decompress(bytes, raw_bytes)?,
            4 => crate::rans4x8::decompress(bytes, raw_bytes, &mut self.tables, out)?,
            5 => *out = rans_nx16::decompress(bytes, raw_bytes)?,
            6 => *out = arithmetic::decompress(bytes, raw_bytes)?,
            7 => *out = fqzcomp::decompress(bytes, raw_bytes)?,
            8 => *out = names::decompress(bytes, raw_bytes)?,
            _ => return Err(Problem::Method(method)),
        }
        if out.len() == raw_bytes {
            return Ok(());
        }
        let (said, found) = (raw_bytes as i64, out.len() as i64);
        Err(Problem::Count { what: "the raw size of a block", said, found })
    }

    fn gunzip(&mut self, bytes: &[u8], raw: usize, out: &mut Vec<u8>) -> Result<(), Problem> {
        // deflate makes 258 bytes of two bits at best.
        if raw / 1032 > bytes.len() {
            return Err(Problem::Corrupt("gzip"));
        }
        out.resize(raw, 0);
        let written = self.gzip.gzip_decompress(bytes, out);
        out.truncate(written.map_err(|_| Problem::Corrupt("gzip"))?);
        Ok(())
    }
}
