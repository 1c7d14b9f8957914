//! Lanes that many workers read at once: regular files of four-line FASTQ, plain or BGZF.
//!
//! A worker claims a stretch of the file by one `fetch_add` and waits for nobody: it finds by
//! itself where the first record of its stretch starts, and reads on behind its stretch as far as
//! its last record needs. Whether the blocks join is checked later, in order, by
//! [`SequenceCheck`](super::SequenceCheck).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::fastq::ParseOptions;
use seqloom_format::reads::ReadBlock;

use super::error::SourceError;
use super::parse::{Claim, LookAhead, ParsedText, parse_claim};
use super::raw::Input;
use super::window::{BgzfScratch, BgzfWindow};

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

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Takes all that are not taken yet, for nobody; the first index that nobody has claimed.
    pub(crate) fn close(&self) -> u64 {
        self.next.swap(self.count, Ordering::Relaxed).min(self.count)
    }

    pub(crate) fn is_last(&self, index: u64) -> bool {
        index + 1 == self.count
    }

    /// The bytes of a stretch.
    pub(crate) fn range(&self, index: u64) -> Range<u64> {
        let start = (self.start + index * self.stretch_bytes).min(self.size);
        start..start.saturating_add(self.stretch_bytes).min(self.size)
    }
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
        let start = text.len();
        text.resize(start + bytes as usize, 0);
        self.input.read_exact_at(&mut text[start..], self.next)?;
        self.next += bytes;
        Ok(self.next == self.size)
    }
}

/// A stretch of a file, and how its records are parsed.
#[derive(Clone, Copy)]
pub(crate) struct ClaimedStretch<'a> {
    pub(crate) input: &'a Input,
    pub(crate) stretches: &'a Stretches,
    pub(crate) index: u64,
    pub(crate) options: ParseOptions,
    pub(crate) max_record_bytes: usize,
}

/// Reads and parses a stretch of an uncompressed file into `block`.
pub(crate) fn read_plain(
    stretch: ClaimedStretch<'_>,
    block: &mut ReadBlock,
) -> Result<ParsedText, SourceError> {
    let ClaimedStretch { input, stretches, index, options, max_record_bytes } = stretch;
    let Range { start: lo, end: hi } = stretches.range(index);
    let own = (hi - lo) as usize;
    // One read mostly suffices: a little more than an own stretch is read at once.
    let ahead = (own / 64).clamp(16, 16 * 1024);
    let upto = hi.saturating_add(ahead as u64).min(stretches.size);
    // What the buffer held before is overwritten, so it need not be zeroed first.
    block.bytes.resize((upto - lo) as usize, 0);
    input.read_exact_at(&mut block.bytes, lo)?;
    let mut look = PlainAhead { input, next: upto, size: stretches.size };
    let first = (index == 0).then_some(0);
    let claim = Claim { first, own, at_eof: upto == stretches.size, ahead, max_record_bytes };
    let mut text = parse_claim(claim, block, &mut look, options)?;
    text.place.raw = Some((lo, hi));
    Ok(text)
}

/// Inflates and parses a stretch of a BGZF file into `block`: the blocks that start in it.
/// The first record of all is behind the first `skip` bytes of text. `None` where something else
/// than a BGZF block follows one, such as a member of plain gzip.
pub(crate) fn read_bgzf(
    stretch: ClaimedStretch<'_>,
    skip: u64,
    block: &mut ReadBlock,
    scratch: &mut BgzfScratch,
) -> Result<Option<ParsedText>, SourceError> {
    let ClaimedStretch { input, stretches, .. } = stretch;
    let lo = stretches.range(stretch.index).start;
    let mut window = BgzfWindow::new(input, scratch, lo, stretches.size);
    let parsed = read_window(stretch, skip, block, &mut window);
    match window.has_left_bgzf {
        true => Ok(None),
        false => parsed,
    }
}

fn read_window(
    stretch: ClaimedStretch<'_>,
    skip: u64,
    block: &mut ReadBlock,
    window: &mut BgzfWindow<'_>,
) -> Result<Option<ParsedText>, SourceError> {
    let ClaimedStretch { stretches, index, options, max_record_bytes, .. } = stretch;
    let Range { start: lo, end: hi } = stretches.range(index);
    let first = if index == 0 { Some(lo) } else { window.find_block(lo, hi)? };
    let Some(first) = first else {
        block.bytes.clear();
        return Ok(Some(ParsedText::default()));
    };
    window.next = first;
    let mut own = 0;
    while window.next < hi {
        // What the buffer held before is overwritten, so it need not be zeroed first.
        own += window.inflate_next_at(&mut block.bytes, own)?;
    }
    block.bytes.truncate(own);
    if !window.is_followed()? {
        return Ok(None);
    }
    let raw = Some((first, window.next));
    // The rest of a short read's record: no more is inflated than is needed.
    let ahead = (own / 256).clamp(16, 4096);
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    if index == 0 && skip > own {
        // The place was found by reading what is not BGZF.
        return Ok(None);
    }
    let start = (index == 0).then_some(skip);
    let at_eof = window.is_at_end();
    let claim = Claim { first: start, own, at_eof, ahead, max_record_bytes };
    let mut text = parse_claim(claim, block, window, options)?;
    text.place.raw = raw;
    Ok(Some(text))
}
