//! Uncompressed files of SAM text, by chunks that many workers read at once.
//!
//! A line belongs to the chunk that has the byte before it (the first record's: to the
//! chunk with the end of the header), so that every worker knows its lines for sure.

use std::ops::Range;

use seqloom_format::names::ReadNames;
use seqloom_format::sam::ReferenceNames;

use super::block::{Defect, RecordBlock};
use super::error::Problem;
use super::records::{SamLines, Stop, name_of_line, parse_lines};
use crate::input::claim::LookAhead;
use crate::input::claim::{Chunks, PlainAhead};
use crate::input::error::InputError;
use crate::input::extent::BlockExtent;
use crate::input::raw::Input;
use crate::input::stream::LARGE_BYTES;

/// Text read after a chunk at first; doubled each time.
const AHEAD_BYTES: usize = 4 * 1024;

/// A file that is read by chunks.
#[derive(Clone, Copy)]
pub(super) struct SamFile<'a> {
    pub(super) input: &'a Input,
    pub(super) chunks: &'a Chunks,
    pub(super) names: &'a ReferenceNames,
    pub(super) read_names: ReadNames,
    /// Offset of the first record.
    pub(super) header_bytes: u64,
    /// Longest line.
    pub(super) max_line_bytes: usize,
}

/// Reads chunk `index` into `block`, by way of the buffer `text`.
pub(super) fn read(
    file: SamFile<'_>,
    index: u64,
    block: &mut RecordBlock,
    text: &mut Vec<u8>,
) -> Result<(), InputError> {
    let Range { start: lo, end: hi } = file.chunks.range(index);
    let own = (hi - lo) as usize;
    block.place = BlockExtent { own_bytes: hi - lo, ..BlockExtent::default() };
    if hi < file.header_bytes || own == 0 {
        return Ok(());
    }
    let size = file.chunks.size;
    text.clear();
    let mut ahead = PlainAhead { input: file.input, next: lo, size };
    let mut at_eof = ahead.extend(text, own + AHEAD_BYTES)?;
    let first = match file.header_bytes.checked_sub(lo) {
        // The header ends here, or with the byte before.
        Some(skip) if skip > 0 || index == 0 => Some(skip as usize),
        _ => memchr::memchr(b'\n', &text[..own]).map(|newline| newline + 1),
    };
    let Some(first) = first else { return Ok(()) };
    block.place.first = Some(first as u64);
    let (mut at, mut records, mut step) = (first, 0, AHEAD_BYTES);
    let limit = own + 1;
    let SamFile { names, read_names, max_line_bytes: most, .. } = file;
    loop {
        let lines = SamLines { text, limit, at_eof, names, read_names, max_line_bytes: most };
        match parse_lines(lines, &mut block.bytes, &mut at, &mut records) {
            Stop::Done => break,
            Stop::NeedMore(_) if at_eof => break,
            Stop::NeedMore(_) if text.len() - at <= most => {
                let missing = at + most + 1 - text.len();
                if step > LARGE_BYTES {
                    // At once: a buffer that is made larger step by step is there twice meanwhile.
                    text.reserve_exact(missing);
                }
                at_eof = ahead.extend(text, step.min(missing))?;
                step = step.saturating_mul(2);
            }
            Stop::NeedMore(_) => {
                let name = name_of_line(&text[at..]).to_vec();
                block.defect = Some(defect(Problem::LongLine(most), name, records, at));
                break;
            }
            Stop::Defect(problem, name) => {
                block.defect = Some(defect(problem, name, records, at));
                break;
            }
        }
    }
    block.records = records;
    block.place.end = at as u64;
    Ok(())
}

fn defect(problem: Problem, name: Vec<u8>, record: u64, at: usize) -> Defect {
    Defect { problem, record, byte: at as u64, virtual_offset: None, name }
}
