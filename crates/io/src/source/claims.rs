//! Lanes that many workers read at once: regular files of four-line FASTQ, plain or BGZF.
//!
//! A worker claims a stretch of the file by one `fetch_add` and waits for nobody: it finds by
//! itself where the first record of its stretch starts, and reads on behind its stretch as far as
//! its last record needs. Whether the blocks join is checked later, in order, by
//! [`SequenceCheck`](super::SequenceCheck).

use std::sync::atomic::{AtomicU64, Ordering};

use memchr::memmem;
use seqloom_format::bgzf::{self, BgzfError, BlockDecompressor, MAX_BLOCK_BYTES};
use seqloom_format::fastq::ParseOptions;
use seqloom_format::reads::ReadBlock;

use super::error::SourceError;
use super::parse::{Claim, LookAhead, ParsedText, parse_claim};
use super::raw::Input;

/// Hands out equal stretches of a file.
#[derive(Debug)]
pub(crate) struct Stretches {
    next: AtomicU64,
    count: u64,
    stretch_bytes: u64,
    start: u64,
    pub(crate) size: u64,
}

impl Stretches {
    pub(crate) fn new(size: u64, stretch_bytes: u64) -> Self {
        let stretch_bytes = stretch_bytes.max(1);
        let count = size.div_ceil(stretch_bytes).max(1);
        Self { next: AtomicU64::new(0), count, stretch_bytes, start: 0, size }
    }

    /// As these, but of the file from `start` on; none of them is taken.
    pub(crate) fn starting_at(&self, start: u64) -> Self {
        let start = start.min(self.size);
        let count = (self.size - start).div_ceil(self.stretch_bytes).max(1);
        Self { next: AtomicU64::new(0), count, start, ..*self }
    }

    /// The next index, `None` when all are taken.
    pub(crate) fn claim(&self) -> Option<u64> {
        // The load keeps the counter from running on while workers ask again and again.
        if self.next.load(Ordering::Relaxed) >= self.count {
            return None;
        }
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        (index < self.count).then_some(index)
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.next.load(Ordering::Relaxed) >= self.count
    }

    pub(crate) fn is_last(&self, index: u64) -> bool {
        index + 1 == self.count
    }

    /// First byte of a stretch and the byte behind it.
    pub(crate) fn range(&self, index: u64) -> (u64, u64) {
        let lo = (self.start + index * self.stretch_bytes).min(self.size);
        (lo, lo.saturating_add(self.stretch_bytes).min(self.size))
    }
}

/// Reads `bytes` from `offset` on behind what is in `out`, which then has exactly these more.
fn append_at(
    input: &Input,
    out: &mut Vec<u8>,
    offset: u64,
    bytes: usize,
) -> Result<(), SourceError> {
    let start = out.len();
    out.resize(start + bytes, 0);
    input.read_exact_at(&mut out[start..], offset)
}

/// Look-ahead in an uncompressed file.
pub(crate) struct PlainAhead<'a> {
    pub(crate) input: &'a Input,
    pub(crate) next: u64,
    pub(crate) size: u64,
}

impl LookAhead for PlainAhead<'_> {
    fn extend(&mut self, text: &mut Vec<u8>, bytes: usize) -> Result<bool, SourceError> {
        let bytes = (self.size - self.next).min(bytes as u64);
        append_at(self.input, text, self.next, bytes as usize)?;
        self.next += bytes;
        Ok(self.next == self.size)
    }
}

/// Reads and parses stretch `index` of an uncompressed file into `block`.
pub(crate) fn read_plain(
    input: &Input,
    stretches: &Stretches,
    index: u64,
    block: &mut ReadBlock,
    options: ParseOptions,
) -> Result<ParsedText, SourceError> {
    let (lo, hi) = stretches.range(index);
    let own = (hi - lo) as usize;
    // One read mostly suffices: a little more than an own stretch is read at once.
    let ahead = (own / 64).clamp(16, 16 * 1024);
    let upto = hi.saturating_add(ahead as u64).min(stretches.size);
    // What the buffer held before is overwritten, so it need not be zeroed first.
    block.bytes.resize((upto - lo) as usize, 0);
    input.read_exact_at(&mut block.bytes, lo)?;
    let mut look = PlainAhead { input, next: upto, size: stretches.size };
    let claim = Claim { index, own, at_eof: upto == stretches.size, ahead };
    let mut text = parse_claim(claim, block, &mut look, options)?;
    text.place.raw = Some((lo, hi));
    Ok(text)
}

/// Buffers that a worker keeps for BGZF.
#[derive(Default)]
pub(crate) struct BgzfScratch {
    inflate: BlockDecompressor,
    raw: Vec<u8>,
}

/// A part of a BGZF file and the decompressor for it.
pub(crate) struct BgzfWindow<'a> {
    input: &'a Input,
    scratch: &'a mut BgzfScratch,
    /// File offset of `scratch.raw`'s first byte.
    start: u64,
    size: u64,
    /// File offset of the next block.
    pub(crate) next: u64,
}

/// Compressed bytes that are kept behind their use: a record may reach far behind its stretch.
const MAX_USED_BYTES: u64 = 4 * 1024 * 1024;

/// Enough for the header of nearly every block.
const TYPICAL_HEADER_BYTES: usize = 64;

impl<'a> BgzfWindow<'a> {
    /// From `next` on in a file of `size` bytes.
    pub(crate) fn new(
        input: &'a Input,
        scratch: &'a mut BgzfScratch,
        next: u64,
        size: u64,
    ) -> Self {
        scratch.raw.clear();
        Self { input, scratch, start: next, size, next }
    }

    /// Nothing follows.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next >= self.size
    }

    /// The bytes from `offset` on, at least `bytes` of them unless the file ends before.
    fn at(&mut self, offset: u64, bytes: usize) -> Result<&[u8], SourceError> {
        let end = offset.saturating_add(bytes as u64).min(self.size);
        let held = self.start + self.scratch.raw.len() as u64;
        if offset < self.start || offset > held {
            self.start = offset;
            self.scratch.raw.clear();
        }
        let held = self.start + self.scratch.raw.len() as u64;
        if end > held {
            append_at(self.input, &mut self.scratch.raw, held, (end - held) as usize)?;
        }
        Ok(&self.scratch.raw[(offset - self.start) as usize..])
    }

    /// Reads the next `bytes` bytes at once, as far as the file has them.
    pub(crate) fn load(&mut self, bytes: usize) -> Result<(), SourceError> {
        self.at(self.next, bytes).map(|_| ())
    }

    /// Inflates the next block onto `text`.
    fn inflate_next(&mut self, text: &mut Vec<u8>) -> Result<(), SourceError> {
        let offset = self.next;
        self.try_inflate_next(text)?
            .map_err(|error| self.input.compressed_error(offset, error.to_string()))
    }

    /// As [`Self::inflate_next`]; what is wrong with the block is handed out beside what the
    /// operating system says, and leaves `text` and the window's place as they were.
    pub(crate) fn try_inflate_next(
        &mut self,
        text: &mut Vec<u8>,
    ) -> Result<Result<(), BgzfError>, SourceError> {
        let offset = self.next;
        let used = offset.saturating_sub(self.start);
        if used >= MAX_USED_BYTES && used <= self.scratch.raw.len() as u64 {
            self.scratch.raw.drain(..used as usize);
            self.start = offset;
        }
        self.at(offset, MAX_BLOCK_BYTES)?;
        let bytes = &self.scratch.raw[(offset - self.start) as usize..];
        let result = bgzf::parse_block_header(bytes).and_then(|header| {
            let block = &bytes[..header.block_bytes.min(bytes.len())];
            self.scratch.inflate.decompress(block, text)?;
            Ok(header.block_bytes)
        });
        Ok(result.map(|block_bytes| self.next += block_bytes as u64))
    }

    /// The first block that starts in `lo..hi`: magic, and two more headers (or the end of the
    /// file) where the sizes say. Bytes in a deflate stream that look so by chance would be found
    /// out by the block before, which must end where this one starts.
    pub(crate) fn find_block(&mut self, lo: u64, hi: u64) -> Result<Option<u64>, SourceError> {
        const MAGIC: [u8; 4] = [0x1f, 0x8b, 0x08, 0x04];
        let span = (hi - lo) as usize;
        let mut searched = 0;
        while searched < span {
            let bytes = self.at(lo, span + MAGIC.len() - 1)?;
            let bytes = &bytes[searched..bytes.len().min(span + MAGIC.len() - 1)];
            let Some(at) = memmem::find(bytes, &MAGIC) else { return Ok(None) };
            let offset = lo + (searched + at) as u64;
            if self.chains(offset)? {
                return Ok(Some(offset));
            }
            searched += at + 1;
        }
        Ok(None)
    }

    /// Whether three BGZF headers follow each other from `offset` on, each where the one before
    /// says, or fewer and then the end of the file (cut short or not: inflating will tell).
    fn chains(&mut self, offset: u64) -> Result<bool, SourceError> {
        let mut next = offset;
        for _ in 0..3 {
            if next >= self.size {
                return Ok(true);
            }
            // Mostly a header is 18 bytes, but a block may be nothing but header.
            let mut parsed = bgzf::parse_block_header(self.at(next, TYPICAL_HEADER_BYTES)?);
            if matches!(parsed, Err(BgzfError::Truncated { .. })) {
                parsed = bgzf::parse_block_header(self.at(next, MAX_BLOCK_BYTES)?);
            }
            match parsed {
                Ok(header) => next += header.block_bytes as u64,
                Err(BgzfError::Truncated { .. }) => return Ok(true),
                Err(_) => return Ok(false),
            }
        }
        Ok(true)
    }
}

impl LookAhead for BgzfWindow<'_> {
    fn extend(&mut self, text: &mut Vec<u8>, bytes: usize) -> Result<bool, SourceError> {
        let enough = text.len().saturating_add(bytes);
        while text.len() < enough && self.next < self.size {
            self.inflate_next(text)?;
        }
        Ok(self.next == self.size)
    }
}

/// Inflates and parses stretch `index` of a BGZF file into `block`: the blocks that start in it.
pub(crate) fn read_bgzf(
    input: &Input,
    stretches: &Stretches,
    index: u64,
    block: &mut ReadBlock,
    options: ParseOptions,
    scratch: &mut BgzfScratch,
) -> Result<ParsedText, SourceError> {
    let (lo, hi) = stretches.range(index);
    let mut window = BgzfWindow::new(input, scratch, lo, stretches.size);
    let first = if index == 0 { Some(lo) } else { window.find_block(lo, hi)? };
    block.bytes.clear();
    let Some(first) = first else {
        return Ok(ParsedText::default());
    };
    window.next = first;
    while window.next < hi {
        window.inflate_next(&mut block.bytes)?;
    }
    let raw = Some((first, window.next));
    let own = block.bytes.len();
    let claim = Claim { index, own, at_eof: window.next == window.size, ahead: 1 };
    let mut text = parse_claim(claim, block, &mut window, options)?;
    text.place.raw = raw;
    Ok(text)
}
