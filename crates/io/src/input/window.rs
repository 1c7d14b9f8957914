//! A part of a BGZF file that a worker looks at: finding blocks, and inflating them.

use std::ops::Range;

use flate2::{Decompress, FlushDecompress};
use memchr::memmem;
use seqloom_format::bgzf::{self, BgzfError, BlockDecompressor, BlockHeader, MAX_BLOCK_BYTES};

use super::error::InputError;
use super::look_ahead::LookAhead;
use super::raw::Input;

/// Buffers that a worker keeps for BGZF.
#[derive(Default)]
pub(crate) struct BgzfScratch {
    inflate: BlockDecompressor,
    /// Compressed bytes; those that a window holds, and what earlier ones left behind them.
    raw: Vec<u8>,
    /// For the start of a block; made when it is first needed.
    start: Option<Decompress>,
}

/// The start of the next block, as far as it is inflated.
#[derive(Default)]
struct Start {
    /// Bytes of the deflate stream that are used up.
    deflated_bytes: usize,
    /// Text that they gave, the last in the buffer.
    text_bytes: usize,
}

/// A part of a BGZF file and the decompressor for it.
pub(crate) struct BgzfWindow<'a> {
    input: &'a Input,
    scratch: &'a mut BgzfScratch,
    /// File offset of `scratch.raw`'s first byte.
    start: u64,
    /// Bytes held there.
    held: usize,
    size: u64,
    /// File offset of the next block.
    pub(crate) next: u64,
    /// What is known of that block.
    started: Start,
    /// What is there is no BGZF block, although one ends there.
    pub(crate) has_left_bgzf: bool,
}

/// Compressed bytes that are kept after their use: a record may reach far past its chunk.
const MAX_USED_BYTES: u64 = 4 * 1024 * 1024;

/// Enough for the header of nearly every block.
const TYPICAL_HEADER_BYTES: usize = 64;

/// Most text that is looked for in the start of a block; for more, the whole block is inflated,
/// which takes less time for a byte.
const MAX_START_BYTES: usize = MAX_BLOCK_BYTES / 4;

/// Bytes of a header and of a deflate block's trees, and some to spare.
const MAX_TREE_BYTES: usize = 1024;

/// Why a block has no text.
#[derive(Debug)]
pub(crate) enum BlockError {
    /// It is damaged.
    Damaged(BgzfError),
    /// The file cannot be read.
    Source(InputError),
}

impl BlockError {
    /// Whether there is no BGZF block at all.
    pub(crate) fn is_no_block(&self) -> bool {
        use BgzfError::{BadExtraField, BadMagic, NoBlockSize};
        matches!(self, Self::Damaged(BadMagic | NoBlockSize | BadExtraField))
    }

    /// The error of the file, for a block at `offset`.
    pub(crate) fn at(self, input: &Input, offset: u64) -> InputError {
        match self {
            Self::Damaged(error) => input.compressed_error(offset, error.to_string()),
            Self::Source(error) => error,
        }
    }
}

impl From<BgzfError> for BlockError {
    fn from(error: BgzfError) -> Self {
        Self::Damaged(error)
    }
}

impl From<InputError> for BlockError {
    fn from(error: InputError) -> Self {
        Self::Source(error)
    }
}

impl<'a> BgzfWindow<'a> {
    /// From `next` on in a file of `size` bytes.
    pub(crate) fn new(
        input: &'a Input,
        scratch: &'a mut BgzfScratch,
        next: u64,
        size: u64,
    ) -> Self {
        let (held, started) = (0, Start::default());
        Self { input, scratch, start: next, held, size, next, started, has_left_bgzf: false }
    }

    /// Nothing follows.
    pub(crate) fn is_at_end(&self) -> bool {
        self.next >= self.size
    }

    /// Whether a block follows, or the end of the file. Blocks are read with the next one's header.
    pub(crate) fn is_followed(&mut self) -> Result<bool, InputError> {
        if self.is_at_end() {
            return Ok(true);
        }
        match self.header_at(self.next) {
            Err(BlockError::Source(error)) => return Err(error),
            header => self.has_left_bgzf = matches!(&header, Err(error) if error.is_no_block()),
        }
        Ok(!self.has_left_bgzf)
    }

    /// The bytes from `offset` on, at least `bytes` of them unless the file ends before.
    fn at(&mut self, offset: u64, bytes: usize) -> Result<&[u8], InputError> {
        if offset < self.start || offset > self.start + self.held as u64 {
            (self.start, self.held) = (offset, 0);
        }
        let from = (offset - self.start) as usize;
        let in_file = self.size.saturating_sub(offset).min(bytes as u64) as usize;
        if from + in_file > self.held {
            self.append(from + in_file - self.held)?;
        }
        Ok(&self.scratch.raw[from..self.held])
    }

    /// Reads so many bytes more after those that are held.
    fn append(&mut self, bytes: usize) -> Result<(), InputError> {
        let (raw, end) = (&mut self.scratch.raw, self.held + bytes);
        // What earlier windows left is overwritten, so it need not be zeroed first.
        if raw.len() < end {
            raw.resize(end, 0);
        }
        self.input.read_exact_at(&mut raw[self.held..end], self.start + self.held as u64)?;
        self.held = end;
        Ok(())
    }

    /// Reads the next `bytes` bytes at once, as far as the file has them.
    pub(crate) fn load(&mut self, bytes: usize) -> Result<(), InputError> {
        self.at(self.next, bytes).map(|_| ())
    }

    /// The header of the block at `offset`.
    fn header_at(&mut self, offset: u64) -> Result<BlockHeader, BlockError> {
        // Mostly a header is 18 bytes, but a block may be nothing but header.
        let parsed = bgzf::parse_block_header(self.at(offset, TYPICAL_HEADER_BYTES)?);
        if matches!(parsed, Err(BgzfError::Truncated { .. })) {
            return Ok(bgzf::parse_block_header(self.at(offset, MAX_BLOCK_BYTES)?)?);
        }
        Ok(parsed?)
    }

    /// The next block's header, and where in `scratch.raw` the block is: its first `bytes` bytes,
    /// or the whole of it (and the header after it, which comes next).
    fn next_block(
        &mut self,
        bytes: Option<usize>,
    ) -> Result<(BlockHeader, Range<usize>), BlockError> {
        let offset = self.next;
        self.drop_used(offset);
        let header = self.header_at(offset)?;
        self.at(offset, bytes.unwrap_or(header.block_bytes + TYPICAL_HEADER_BYTES))?;
        let from = (offset - self.start) as usize;
        Ok((header, from..self.held.min(from + header.block_bytes)))
    }

    /// Gives up compressed bytes before `offset`, where they are many.
    fn drop_used(&mut self, offset: u64) {
        let used = offset.saturating_sub(self.start);
        if used >= MAX_USED_BYTES && used <= self.held as u64 {
            self.scratch.raw.copy_within(used as usize..self.held, 0);
            self.held -= used as usize;
            self.start = offset;
        }
    }

    /// Inflates the next block to `text` from `at` on, over what is there. How much it is.
    pub(super) fn inflate_next_at(
        &mut self,
        text: &mut Vec<u8>,
        at: usize,
    ) -> Result<usize, InputError> {
        let offset = self.next;
        let inflated = self.try_inflate_next_at(text, at);
        self.has_left_bgzf = matches!(&inflated, Err(error) if error.is_no_block());
        inflated.map_err(|error| error.at(self.input, offset))
    }

    /// Inflates the next block onto `text`. What is wrong with it is handed out with what the
    /// operating system says, and leaves `text` and the window's place as they were.
    pub(crate) fn try_inflate_next(&mut self, text: &mut Vec<u8>) -> Result<usize, BlockError> {
        let start = text.len();
        let result = self.try_inflate_next_at(text, start);
        if result.is_err() {
            text.truncate(start);
        }
        result
    }

    fn try_inflate_next_at(&mut self, text: &mut Vec<u8>, at: usize) -> Result<usize, BlockError> {
        let (header, range) = self.next_block(None)?;
        let BgzfScratch { inflate, raw, .. } = &mut *self.scratch;
        let inflated = inflate.decompress_at(&raw[range], text, at)?;
        self.next += header.block_bytes as u64;
        Ok(inflated)
    }

    /// Inflates the next `bytes` bytes of the next block onto `text`. `false` if it has fewer or
    /// is damaged: inflating it whole will show.
    ///
    /// A block is verified by its checksum as a whole: by the worker in whose chunk it starts.
    fn inflate_start(&mut self, text: &mut Vec<u8>, bytes: usize) -> Result<bool, InputError> {
        // Text that deflate cannot shrink takes a few bytes more, and trees some hundred.
        let deflated_bytes = self.started.text_bytes + bytes + MAX_TREE_BYTES;
        let (header, range) = match self.next_block(Some(deflated_bytes)) {
            Ok(block) => block,
            Err(BlockError::Damaged(_)) => return Ok(false),
            Err(BlockError::Source(error)) => return Err(error),
        };
        let BgzfScratch { raw, start, .. } = &mut *self.scratch;
        let started = &mut self.started;
        let Some(rest) = header.deflated(&raw[range]).get(started.deflated_bytes..) else {
            return Ok(false);
        };
        let decoder = start.get_or_insert_with(|| Decompress::new(false));
        if started.deflated_bytes == 0 {
            decoder.reset(false);
        }
        let len = text.len();
        text.resize(len + bytes, 0);
        let result = decoder.decompress(rest, &mut text[len..], FlushDecompress::None);
        let before = started.text_bytes;
        started.deflated_bytes = decoder.total_in() as usize;
        started.text_bytes = decoder.total_out() as usize;
        let given = started.text_bytes - before;
        text.truncate(len + given);
        Ok(result.is_ok() && given == bytes)
    }

    /// Takes what the next block has given so far off the end of `text`.
    fn forget_start(&mut self, text: &mut Vec<u8>) {
        let Start { text_bytes, .. } = std::mem::take(&mut self.started);
        text.truncate(text.len() - text_bytes);
    }

    /// The first block that starts in `lo..hi`: magic, and two more headers (or the end of the
    /// file) where the sizes say. Bytes in a deflate stream that look so by chance would be found
    /// out by the block before, which must end where this one starts.
    pub(crate) fn find_block(&mut self, lo: u64, hi: u64) -> Result<Option<u64>, InputError> {
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
    /// says, or fewer and then the end of the file (cut short or not: inflating will show) or of
    /// what is BGZF.
    fn chains(&mut self, offset: u64) -> Result<bool, InputError> {
        let mut next = offset;
        for _ in 0..3 {
            if next >= self.size {
                return Ok(true);
            }
            match self.header_at(next) {
                Ok(header) => next += header.block_bytes as u64,
                Err(BlockError::Damaged(BgzfError::Truncated { .. })) => return Ok(true),
                Err(error) if error.is_no_block() => return Ok(next > offset),
                Err(BlockError::Damaged(_)) => return Ok(false),
                Err(BlockError::Source(error)) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl LookAhead for BgzfWindow<'_> {
    fn extend(&mut self, text: &mut Vec<u8>, bytes: usize) -> Result<bool, InputError> {
        let enough = text.len().saturating_add(bytes);
        while text.len() < enough && !self.is_at_end() {
            let missing = enough - text.len();
            if missing > MAX_START_BYTES || !self.inflate_start(text, missing)? {
                self.forget_start(text);
                self.inflate_next_at(text, text.len())?;
            }
        }
        Ok(self.is_at_end())
    }
}
