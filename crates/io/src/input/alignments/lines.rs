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
use crate::input::claim::Chunks;
use crate::input::error::InputError;
use crate::input::extent::BlockExtent;
use crate::input::look_ahead::{Doubling, LookAhead, PlainAhead};
use crate::input::raw::Input;

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
    let at_eof = ahead.extend(text, own + AHEAD_BYTES)?;
    let mut ahead = Doubling { ahead: &mut ahead, at_eof, step: AHEAD_BYTES };
    let first = match file.header_bytes.checked_sub(lo) {
        // The header ends here, or with the byte before.
        Some(skip) if skip > 0 || index == 0 => Some(skip as usize),
        _ => memchr::memchr(b'\n', &text[..own]).map(|newline| newline + 1),
    };
    let Some(first) = first else { return Ok(()) };
    block.place.first = Some(first as u64);
    let (mut at, mut records) = (first, 0);
    let limit = own + 1;
    let SamFile { names, read_names, max_line_bytes: most, .. } = file;
    loop {
        let at_eof = ahead.at_eof;
        let lines = SamLines { text, limit, at_eof, names, read_names, max_line_bytes: most };
        match parse_lines(lines, &mut block.bytes, &mut at, &mut records) {
            Stop::Done => break,
            Stop::NeedMore(_) if at_eof => break,
            Stop::NeedMore(_) if ahead.grow(text, at + most)? => {}
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
