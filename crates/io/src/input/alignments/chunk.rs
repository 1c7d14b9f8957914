//! BGZF files of BAM, by chunks that many workers read at once.
//!
//! A worker finds by itself the first BGZF block of its chunk and the first record in it, and
//! reads on past the chunk as far as its last record needs. Both finds are guesses; whether
//! they were right is reported in order by [`BlockCheck`](super::BlockCheck), which has the chunk
//! read once more from the right place where they were not.

use std::ops::Range;

use seqloom_format::bam::{RecordSearch, find_record};
use seqloom_format::bgzf::{BgzfError, EOF_BLOCK, MAX_BLOCK_BYTES, VirtualOffset};

use super::block::{Defect, RecordBlock};
use super::error::Problem;
use super::records::{CUT_RECORD, RecordRules, Stop, check_records};
use crate::input::claim::Chunks;
use crate::input::error::InputError;
use crate::input::extent::BlockExtent;
use crate::input::raw::Input;
use crate::input::reader::Truncation;
use crate::input::trailing;
use crate::input::window::{BgzfScratch, BgzfWindow, BlockError};

/// How far after its chunk a worker reads for a record whose start is a guess. A longer one is
/// read when its start is sure; so bytes that look like a record of 256 MiB cost little.
const MAX_UNSURE_BYTES: usize = 16 * 1024 * 1024;

/// Buffers that a worker keeps.
#[derive(Default)]
pub(super) struct ChunkScratch {
    bgzf: BgzfScratch,
    /// BGZF blocks of the chunk: start in its text, and in the file.
    blocks: Vec<(u64, u64)>,
}

/// A place in a BGZF file: a block, and an offset in the text from its start on (which may be
/// after the block).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BgzfPosition {
    pub(super) block: u64,
    pub(super) skip: u64,
}

/// A file that is read by chunks.
#[derive(Clone, Copy)]
pub(super) struct BgzfFile<'a> {
    pub(super) input: &'a Input,
    pub(super) chunks: &'a Chunks,
    pub(super) rules: RecordRules,
    pub(super) allow_truncated: bool,
}

/// A chunk while it is read. Offsets in its text count from the start of its first block.
struct Reading<'a> {
    file: BgzfFile<'a>,
    window: BgzfWindow<'a>,
    blocks: &'a mut Vec<(u64, u64)>,
    /// The chunk's text from `dropped` on.
    text: Vec<u8>,
    /// Text before the first record, which is not kept.
    dropped: u64,
    /// The block that could not be inflated, and why.
    fault: Option<(u64, BgzfError)>,
}

/// Reads chunk `index` into `block`: from a known place, or from where the first block and record
/// seem to start.
///
/// # Errors
/// What the operating system says. What is wrong with the data becomes the block's defect.
pub(super) fn read<'a>(
    file: BgzfFile<'a>,
    index: u64,
    from: Option<BgzfPosition>,
    block: &mut RecordBlock,
    scratch: &'a mut ChunkScratch,
) -> Result<(), InputError> {
    let Range { start: lo, end: hi } = file.chunks.range(index);
    let ChunkScratch { bgzf, blocks } = scratch;
    blocks.clear();
    let mut window = BgzfWindow::new(file.input, bgzf, lo, file.chunks.size);
    // One read mostly suffices.
    window.load((hi - lo) as usize + MAX_BLOCK_BYTES)?;
    let first_block = match from {
        Some(place) => Some(place.block),
        None => window.find_block(lo, hi)?,
    };
    let Some(first_block) = first_block else { return Ok(()) };
    window.next = first_block;
    let mut text = std::mem::take(&mut block.bytes);
    text.clear();
    let mut reading = Reading { file, window, blocks, text, dropped: 0, fault: None };
    let mut has_first = reading.own_text(hi, from.map(|place| place.skip))?;
    let own_bytes = reading.end();
    let raw = Some((first_block, reading.window.next));
    block.place = BlockExtent { own_bytes, raw, ..BlockExtent::default() };
    if !has_first && from.is_none() && reading.fault.is_none() {
        has_first = reading.search_edge()?;
    }
    if has_first {
        block.place.first = Some(reading.dropped);
        block.place.end = reading.dropped;
        let limit = (own_bytes - reading.dropped) as usize;
        reading.take_records(limit, from.is_some(), block)?;
    } else {
        reading.conclude(0, block);
        reading.text.clear();
    }
    block.bytes = reading.text;
    Ok(())
}

impl Reading<'_> {
    /// Offset after the text at hand.
    fn end(&self) -> u64 {
        self.dropped + self.text.len() as u64
    }

    fn drop_front(&mut self, bytes: usize) {
        self.text.drain(..bytes);
        self.dropped += bytes as u64;
    }

    /// Inflates the next block; `false` at the end of the file or at a fault.
    fn inflate(&mut self) -> Result<bool, InputError> {
        if self.fault.is_some() || self.window.is_at_end() {
            return Ok(false);
        }
        let (start, offset) = (self.end(), self.window.next);
        match self.window.try_inflate_next(&mut self.text) {
            Ok(_) => self.blocks.push((start, offset)),
            Err(BlockError::Damaged(error)) => self.fault = Some((offset, error)),
            Err(BlockError::Source(error)) => return Err(error),
        }
        Ok(self.fault.is_none())
    }

    /// Inflates the blocks that start before `hi` and drops what precedes the first
    /// record, which starts at `skip` if that is known. Whether there is one.
    fn own_text(&mut self, hi: u64, skip: Option<u64>) -> Result<bool, InputError> {
        let mut has_first = false;
        while self.window.next < hi && self.inflate()? {
            if has_first {
                continue;
            }
            // No more than a few blocks are ever searched and moved: what is searched is dropped.
            let (at, is_first) = match skip {
                Some(skip) => {
                    let ahead = (skip - self.dropped).min(self.text.len() as u64) as usize;
                    (ahead, ahead < self.text.len())
                }
                None => match find_record(&self.text, 0, self.file.rules.reference_count) {
                    RecordSearch::At(at) => (at, true),
                    RecordSearch::NeedMore(at) => (at, false),
                },
            };
            self.drop_front(at);
            has_first = is_first;
        }
        Ok(has_first)
    }

    /// Looks whether a record starts in the rest of the chunk's text, of which too little is
    /// there to decide.
    fn search_edge(&mut self) -> Result<bool, InputError> {
        let mut rest_bytes = self.text.len();
        while rest_bytes > 0 {
            if !self.inflate()? {
                // It is a fault of the next chunk.
                self.fault = None;
                return Ok(false);
            }
            let (at, is_first) = match find_record(&self.text, 0, self.file.rules.reference_count) {
                RecordSearch::At(at) => (at, true),
                RecordSearch::NeedMore(at) => (at, false),
            };
            if at >= rest_bytes {
                return Ok(false);
            }
            self.drop_front(at);
            rest_bytes -= at;
            if is_first {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Checks the records that start in the first `limit` bytes of the text, the first at its
    /// start, and reads on as far as the last one needs.
    fn take_records(
        &mut self,
        limit: usize,
        is_sure: bool,
        block: &mut RecordBlock,
    ) -> Result<(), InputError> {
        let (mut at, mut records) = (0, 0);
        let rules = self.file.rules;
        loop {
            match check_records(&mut self.text, limit, rules, &mut at, &mut records) {
                Stop::Done => break,
                Stop::Defect(problem, name) => {
                    block.defect = Some(self.defect(problem, name, records, at));
                    break;
                }
                Stop::NeedMore(upto) if !is_sure && upto - limit > MAX_UNSURE_BYTES => {
                    block.is_unfinished = true;
                    break;
                }
                Stop::NeedMore(upto) => {
                    if !self.reach(upto)? {
                        self.end_within_record(block, records, at);
                        break;
                    }
                }
            }
        }
        block.records = records;
        block.place.end = self.dropped + at as u64;
        self.conclude(at, block);
        self.text.truncate(at);
        Ok(())
    }

    /// Inflates until the text has `upto` bytes; `false` if it cannot.
    fn reach(&mut self, upto: usize) -> Result<bool, InputError> {
        while self.text.len() < upto {
            if !self.inflate()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The file ends, without a fault in a block, within a record.
    fn end_within_record(&self, block: &mut RecordBlock, records: u64, at: usize) {
        if self.fault.is_some() {
            return;
        }
        let (byte, problem) = (self.file.chunks.size, CUT_RECORD.to_owned());
        if self.file.allow_truncated {
            block.truncation = Some(Truncation { byte, problem });
        } else {
            let problem = Problem::Truncated { byte, problem };
            block.defect = Some(self.defect(problem, Vec::new(), records, at));
        }
    }

    /// A block that could not be inflated is what is wrong with the record after the good ones,
    /// which starts at `at`.
    fn conclude(&mut self, at: usize, block: &mut RecordBlock) {
        let Some((byte, error)) = self.fault.take() else { return };
        if block.defect.is_some() || block.is_unfinished {
            return;
        }
        let problem = match error {
            BgzfError::Truncated { .. } => {
                let problem = format!("truncated: {error}");
                if self.file.allow_truncated {
                    block.truncation = Some(Truncation { byte, problem });
                    return;
                }
                Problem::Truncated { byte, problem }
            }
            error => Problem::Compressed { byte, problem: self.problem_at(byte, &error) },
        };
        block.defect = Some(self.defect(problem, Vec::new(), block.records, at));
    }

    /// What is wrong with the bytes at `byte`: after the empty block that ends complete files they
    /// are no damaged block, but something else.
    fn problem_at(&self, byte: u64, error: &BgzfError) -> String {
        let mut bytes = [0; EOF_BLOCK.len() + trailing::LOOKED_AT_BYTES];
        let Some(start) = byte.checked_sub(EOF_BLOCK.len() as u64) else {
            return error.to_string();
        };
        let held = (self.file.chunks.size - start).min(bytes.len() as u64) as usize;
        let read = self.file.input.read_exact_at(&mut bytes[..held], start);
        match bytes[..held].strip_prefix(&EOF_BLOCK) {
            Some(rest) if read.is_ok() => trailing::after_end(rest, byte),
            _ => error.to_string(),
        }
    }

    fn defect(&self, problem: Problem, name: Vec<u8>, record: u64, at: usize) -> Defect {
        let byte = self.dropped + at as u64;
        let virtual_offset = self.virtual_offset(byte);
        Defect { problem, record, byte, virtual_offset, name }
    }

    fn virtual_offset(&self, byte: u64) -> Option<VirtualOffset> {
        let after = self.blocks.partition_point(|&(start, _)| start <= byte);
        let (start, offset) = match after.checked_sub(1).map(|last| self.blocks[last]) {
            Some(block) if byte < self.end() => block,
            _ => (byte, self.window.next),
        };
        VirtualOffset::new(offset, u16::try_from(byte - start).ok()?)
    }
}
