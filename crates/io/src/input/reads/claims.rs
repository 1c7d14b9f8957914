//! Files that many workers read at once: regular files of four-line FASTQ, plain or BGZF.
//!
//! A worker claims a chunk of the file by one `fetch_add` and waits for nobody: it finds by
//! itself where the first record of its chunk starts, and reads on past its chunk as far as
//! its last record needs. Whether the blocks join is checked later, in order, by
//! [`BlockCheck`](super::BlockCheck).

use std::ops::Range;

use seqloom_format::ReadBlock;
use seqloom_format::fastq::ParseOptions;

use super::error::ReadsError;
use super::parse::{Claim, ParsedText, parse_claim};
use crate::input::claim::Chunks;
use crate::input::look_ahead::PlainAhead;
use crate::input::raw::Input;
use crate::input::window::{BgzfScratch, BgzfWindow};

/// A chunk of a file, and how its records are parsed.
#[derive(Clone, Copy)]
pub(crate) struct ClaimedChunk<'a> {
    pub(crate) input: &'a Input,
    pub(crate) chunks: &'a Chunks,
    pub(crate) index: u64,
    pub(crate) options: ParseOptions,
    pub(crate) max_record_bytes: usize,
}

/// Reads and parses a chunk of an uncompressed file into `block`.
pub(crate) fn read_plain(
    chunk: ClaimedChunk<'_>,
    block: &mut ReadBlock,
) -> Result<ParsedText, ReadsError> {
    let ClaimedChunk { input, chunks, index, options, max_record_bytes } = chunk;
    let Range { start: lo, end: hi } = chunks.range(index);
    let own = (hi - lo) as usize;
    // One read mostly suffices: a little more than an own chunk is read at once.
    let ahead = (own / 64).clamp(16, 16 * 1024);
    let upto = hi.saturating_add(ahead as u64).min(chunks.size);
    // What the buffer held before is overwritten, so it need not be zeroed first.
    block.bytes.resize((upto - lo) as usize, 0);
    input.read_exact_at(&mut block.bytes, lo)?;
    let mut look = PlainAhead { input, next: upto, size: chunks.size };
    let first = (index == 0).then_some(0);
    let claim = Claim { first, own, at_eof: upto == chunks.size, ahead, max_record_bytes };
    let mut text = parse_claim(claim, block, &mut look, options)?;
    text.place.raw = Some((lo, hi));
    Ok(text)
}

/// Inflates and parses a chunk of a BGZF file into `block`: the blocks that start in it.
/// The first record of all is after the first `skip` bytes of text. `None` where something else
/// than a BGZF block follows one, such as a member of plain gzip.
pub(crate) fn read_bgzf(
    chunk: ClaimedChunk<'_>,
    skip: u64,
    block: &mut ReadBlock,
    scratch: &mut BgzfScratch,
) -> Result<Option<ParsedText>, ReadsError> {
    let ClaimedChunk { input, chunks, .. } = chunk;
    let lo = chunks.range(chunk.index).start;
    let mut window = BgzfWindow::new(input, scratch, lo, chunks.size);
    let parsed = read_window(chunk, skip, block, &mut window);
    match window.has_left_bgzf {
        true => Ok(None),
        false => parsed,
    }
}

fn read_window(
    chunk: ClaimedChunk<'_>,
    skip: u64,
    block: &mut ReadBlock,
    window: &mut BgzfWindow<'_>,
) -> Result<Option<ParsedText>, ReadsError> {
    let ClaimedChunk { chunks, index, options, max_record_bytes, .. } = chunk;
    let Range { start: lo, end: hi } = chunks.range(index);
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
