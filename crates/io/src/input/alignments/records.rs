//! Bytes at hand to checked records: the part common to all methods of reading.

use seqloom_format::bam::{Header, check_record, rename_record, set_bin};
use seqloom_format::names::{ReadNames, rename_read};
use seqloom_format::sam::{ReferenceNames, SamError, parse_record};

use super::error::Problem;
use crate::input::MAX_RECORD_BYTES;

/// Bytes of a record before its name: the least that a record has.
const FIXED_BYTES: usize = seqloom_format::bam::FIXED_BYTES;

/// Problem of a record without its end.
pub(super) const CUT_RECORD: &str = "truncated: the input ends within this record";

/// Why a walk over records ended.
#[derive(Debug)]
pub(super) enum Stop {
    /// No further record starts before the limit.
    Done,
    /// The next record ends after the bytes at hand, which must reach this far to say more.
    NeedMore(usize),
    /// The next record is malformed; its name, if it has one.
    Defect(Problem, Vec<u8>),
}

/// Rules for BAM records.
#[derive(Clone, Copy)]
pub(super) struct RecordRules {
    /// References of the header.
    pub(super) reference_count: usize,
    pub(super) read_names: ReadNames,
}

/// Checks the BAM records of `text` from `at` on, which start before `limit`, and gives each
/// the `bin` that it should have. Moves `at` and `records` after the last good one.
pub(super) fn check_records(
    text: &mut [u8],
    limit: usize,
    rules: RecordRules,
    at: &mut usize,
    records: &mut u64,
) -> Stop {
    while *at < limit {
        if Header::starts(&text[*at..]) {
            return Stop::Defect(Problem::SecondHeader, Vec::new());
        }
        let Some(size) = text[*at..].first_chunk::<4>() else { return Stop::NeedMore(*at + 4) };
        let body_bytes = u32::from_le_bytes(*size) as usize;
        if !(FIXED_BYTES..=MAX_RECORD_BYTES).contains(&body_bytes) {
            return Stop::Defect(Problem::Size(body_bytes as u64), Vec::new());
        }
        let end = *at + 4 + body_bytes;
        let Some(body) = text.get_mut(*at + 4..end) else { return Stop::NeedMore(end) };
        if rules.read_names == ReadNames::Rename {
            rename_record(body);
        }
        match check_record(body, rules.reference_count) {
            Ok(bin) => set_bin(body, bin),
            Err(error) => return Stop::Defect(Problem::Bam(error), name(body).to_vec()),
        }
        *at = end;
        *records += 1;
    }
    Stop::Done
}

/// The name of a record that is malformed somewhere, as far as it can be determined.
fn name(body: &[u8]) -> &[u8] {
    let name_bytes = body.get(8).copied().map_or(0, usize::from);
    let name = body.get(FIXED_BYTES..FIXED_BYTES + name_bytes).unwrap_or_default();
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    &name[..end]
}

/// Lines of SAM.
#[derive(Clone, Copy)]
pub(super) struct SamLines<'a> {
    pub(super) text: &'a [u8],
    /// Those that start before this byte are requested.
    pub(super) limit: usize,
    /// The last line needs no newline.
    pub(super) at_eof: bool,
    pub(super) names: &'a ReferenceNames,
    pub(super) read_names: ReadNames,
    /// The most that a line may have.
    pub(super) max_line_bytes: usize,
}

/// Turns lines, from `at` on, into framed BAM records after `out`. Moves `at` and `records` after
/// the last good one.
pub(super) fn parse_lines(
    lines: SamLines<'_>,
    out: &mut Vec<u8>,
    at: &mut usize,
    records: &mut u64,
) -> Stop {
    let SamLines { text, limit, at_eof, max_line_bytes, .. } = lines;
    while *at < limit.min(text.len()) {
        let rest = &text[*at..];
        let (line, next) = match memchr::memchr(b'\n', rest) {
            Some(newline) => (&rest[..newline], *at + newline + 1),
            None if at_eof => (rest, text.len()),
            None => return Stop::NeedMore(text.len() + 1),
        };
        let appended = if line.len() > max_line_bytes {
            Err(Problem::LongLine(max_line_bytes))
        } else {
            append_line(line, lines, out)
        };
        if let Err(problem) = appended {
            return Stop::Defect(problem, name_of_line(line).to_vec());
        }
        *at = next;
        *records += 1;
    }
    if *at < limit && !at_eof { Stop::NeedMore(limit) } else { Stop::Done }
}

/// The line with a read name in place of a name that is not one.
fn renamed(line: &[u8]) -> Vec<u8> {
    let name_end = memchr::memchr(b'\t', line).unwrap_or(line.len());
    let mut name = line[..name_end].to_vec();
    let name_bytes = rename_read(&mut name);
    [&name[..name_bytes], &line[name_end..]].concat()
}

/// The name that a line of SAM starts with; nothing where no tab ends it.
pub(super) fn name_of_line(line: &[u8]) -> &[u8] {
    let name_end = memchr::memchr(b'\t', line).unwrap_or(0);
    &line[..name_end.min(255)]
}

fn append_line(line: &[u8], lines: SamLines<'_>, out: &mut Vec<u8>) -> Result<(), Problem> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = match parse_record(line, lines.names, out) {
        Err(SamError::Name(_)) if lines.read_names == ReadNames::Rename => {
            parse_record(&renamed(line), lines.names, out)
        }
        result => result,
    };
    let result = result.map_err(Problem::Sam);
    let body_bytes = out.len() - start - 4;
    match result {
        Ok(()) if body_bytes > MAX_RECORD_BYTES => {
            out.truncate(start);
            Err(Problem::TooLong)
        }
        Ok(()) => {
            out[start..start + 4].copy_from_slice(&(body_bytes as u32).to_le_bytes());
            Ok(())
        }
        Err(problem) => {
            out.truncate(start);
            Err(problem)
        }
    }
}
