//! FASTQ and FASTA text to [`ReadBlock`]s: parsing in place, cutting at record boundaries, and
//! finding a record start from anywhere in a four-line file.
//!
//! The text itself is the block's buffer: a read is four spans into it and nothing is copied
//! (records of several lines are joined in place). What a record must look like:
//!
//! * header: `@` (FASTA `>`), a read name as SAM allows it ([`names`](crate::names)) up to the
//!   first space or tab, then anything but NUL and CR. A trailing `/` and digit is dropped as
//!   `bwa mem` does (`bwa.c`, `trim_readno`): only where the name is longer than these two bytes;
//! * bases: letters of either case, `*`, `-` and `.`. `bwa` itself takes every byte and turns what
//!   is not ACGT into N; anything else (digits, white space, `@`) is a damaged file, so it is an
//!   error here. An empty sequence is legal;
//! * `+`, alone or followed by the header's text or name again; another name is an error;
//! * as many qualities as bases, each in `!` (33) to `~` (126), or from `@` (64) on if they are
//!   Phred+64, which become Phred+33 in place.
//!
//! Lines end in LF or CR LF; the last one may lack its end; a CR elsewhere is an error. Blank lines
//! are legal only after the last record (in FASTA anywhere after the first header).
//!
//! Line types of a four-line record, in order: H, S, P, Q.

mod boundary;
mod pad;
mod scan;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use memchr::memchr2;

use self::scan::{Fault, Line, RecordLines, Step, first_word, line_at, scan_record};

pub use self::boundary::{RecordStart, detect_grammar, find_record_start, last_boundary};
pub use pad::{BlockTooSmall, pad_block, unpadded_bytes};

use crate::names::{MAX_READ_NAME_BYTES, ReadNameProblem, ReadNames, check_read_name, rename_read};
use crate::reads::{ReadBlock, ReadSpans, Span};

/// Lowest quality byte: Phred 0.
pub(crate) const MIN_QUALITY: u8 = b'!';
/// Highest quality byte: Phred 93.
pub(crate) const MAX_QUALITY: u8 = b'~';
/// Lowest quality byte of Phred+64.
const MIN_QUALITY_64: u8 = b'@';

/// How records are laid out in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// FASTQ, four lines a record: record starts can be found from anywhere.
    FourLine,
    /// FASTQ whose sequences or qualities may be wrapped: readable only from its start.
    MultiLine,
    /// FASTA: no qualities, sequences may be wrapped.
    Fasta,
}

/// Parts of each record to keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// Keep the rest of the header line after the name in [`ReadSpans::extra`].
    pub keep_comments: bool,
    /// Qualities are Phred+64; the block has them as Phred+33.
    pub phred64: bool,
    /// Treatment of read names that SAM does not allow.
    pub names: ReadNames,
}

impl ParseOptions {
    /// Lowest quality byte.
    fn min_quality(self) -> u8 {
        if self.phred64 { MIN_QUALITY_64 } else { MIN_QUALITY }
    }
}

/// The part of a buffer to parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// Start of the first record.
    pub from: usize,
    /// Records that start at or after this offset are left to others.
    pub limit: usize,
    /// The buffer ends where the input ends.
    pub at_eof: bool,
}

/// Problem of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefectKind {
    /// The first line does not start with `@` (FASTA: `>`).
    BadStart {
        /// Expected first byte.
        expected: u8,
        /// First byte.
        found: u8,
    },
    /// The read's name.
    Name(ReadNameProblem),
    /// A NUL or a carriage return in the header line.
    HeaderByte(u8),
    /// A byte that cannot be a base.
    BaseByte(u8),
    /// No `+` where it belongs.
    MissingPlus(u8),
    /// The `+` line repeats another name.
    OtherName,
    /// A byte that cannot be a quality.
    QualityByte(u8),
    /// A byte that cannot be a quality in Phred+64.
    Phred64Byte(u8),
    /// Unequal numbers of bases and qualities.
    Lengths {
        /// Number of bases.
        bases: usize,
        /// Number of qualities.
        qualities: usize,
    },
    /// The input ends within the record.
    Truncated,
    /// A blank line where a record should start, and more text after it.
    BlankLine,
    /// A record beyond the longest one that the reader takes.
    TooLong {
        /// The limit.
        limit_bytes: usize,
    },
}

impl fmt::Display for DefectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BadStart { expected, found } => write!(
                f,
                "the record should start with '{}', not with {}",
                char::from(expected),
                Byte(found)
            ),
            Self::Name(problem) => problem.fmt(f),
            Self::HeaderByte(byte) => write!(f, "{} in the header line", Byte(byte)),
            Self::BaseByte(byte) => write!(f, "{} among the bases", Byte(byte)),
            Self::MissingPlus(byte) => {
                write!(f, "the line after the sequence should start with '+', not {}", Byte(byte))
            }
            Self::OtherName => f.write_str("the '+' line repeats another name than the '@' line"),
            Self::QualityByte(byte) => write!(f, "{} among the qualities", Byte(byte)),
            Self::Phred64Byte(byte) => {
                write!(f, "{} among the qualities, which Phred+64 does not have", Byte(byte))
            }
            Self::Lengths { bases, qualities } => {
                write!(f, "{bases} bases but {qualities} qualities")
            }
            Self::Truncated => f.write_str("the input ends within the record"),
            Self::BlankLine => f.write_str("a blank line with more text after it"),
            Self::TooLong { limit_bytes } => {
                write!(f, "the record is longer than {limit_bytes} bytes")
            }
        }
    }
}

/// A byte as a message shows it.
struct Byte(u8);

impl fmt::Display for Byte {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\n' => f.write_str("an empty line"),
            b' ' => f.write_str("a space"),
            b'\t' => f.write_str("a tab"),
            b'\r' => f.write_str("a carriage return"),
            b'!'..=b'~' => write!(f, "'{}'", char::from(self.0)),
            other => write!(f, "byte 0x{other:02x}"),
        }
    }
}

/// The first malformed record of a chunk of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// The problem.
    pub kind: DefectKind,
    /// Records before it, from the chunk's start.
    pub record: u64,
    /// Lines before the line at fault, from the chunk's start.
    pub line: u64,
    /// Offset of the byte at fault in the buffer.
    pub offset: usize,
    /// The read's name as far as it is known, else empty.
    pub name: Vec<u8>,
}

/// Why parsing stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The next record starts at or after the limit, or the input is used up.
    Done,
    /// The record at [`Parsed::end`] does not end within the buffer, and the input goes on.
    NeedMore,
    /// The record at [`Parsed::end`] is malformed.
    Defect(Defect),
}

/// Result of [`parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// One past the last good record (and the blank lines after the last of all).
    pub end: usize,
    /// Good records.
    pub records: u64,
    /// Lines up to `end`.
    pub lines: u64,
    /// Bases in the good records.
    pub bases: u64,
    /// Why there are not more.
    pub stop: Stop,
}

/// Appends the records that start in `range` to `block.reads`; their spans point into
/// `block.bytes`, whose wrapped sequences and qualities are joined in place.
///
/// Stops at the first malformed record; all records before it are in `block`.
pub fn parse(
    grammar: Grammar,
    block: &mut ReadBlock,
    range: TextRange,
    options: ParseOptions,
) -> Parsed {
    let ReadBlock { bytes, reads, .. } = block;
    let mut parsed = Parsed { end: range.from, records: 0, lines: 0, bases: 0, stop: Stop::Done };
    while parsed.end < range.limit {
        if parsed.end >= bytes.len() {
            parsed.stop = if range.at_eof { Stop::Done } else { Stop::NeedMore };
            break;
        }
        match scan_record(grammar, bytes, parsed.end, range.at_eof) {
            Step::Record(lines) => match lay_out(bytes, &lines, options) {
                Ok(spans) => {
                    parsed.records += 1;
                    parsed.lines += lines.count;
                    parsed.bases += u64::from(spans.bases.len);
                    parsed.end = lines.next;
                    reads.push(spans);
                }
                Err(fault) => {
                    parsed.stop = Stop::Defect(fault.locate(bytes, &parsed));
                    break;
                }
            },
            Step::BlankTail { lines } => {
                parsed.lines += lines;
                parsed.end = bytes.len();
            }
            Step::NeedMore => {
                parsed.stop = Stop::NeedMore;
                break;
            }
            Step::Fault(fault) => {
                parsed.stop = Stop::Defect(fault.locate(bytes, &parsed));
                break;
            }
        }
    }
    parsed
}

/// Checks the parts of a record, joins wrapped lines, and says where the parts are.
fn lay_out(
    text: &mut [u8],
    lines: &RecordLines,
    options: ParseOptions,
) -> Result<ReadSpans, Fault> {
    let header = lay_out_header(text, lines.header, options.names)?;
    if let Some(offset) = find_bad(text, &lines.bases, lines.wrapped, is_base) {
        return Err(Fault { kind: DefectKind::BaseByte(text[offset]), offset });
    }
    if let Some(plus) = lines.plus {
        check_plus(text, lines.header, plus)?;
        let lowest = options.min_quality();
        let is_good = |byte| is_quality(byte, lowest);
        if let Some(offset) = find_bad(text, &lines.qualities, lines.wrapped, is_good) {
            let byte = text[offset];
            let is_phred33 = is_quality(byte, MIN_QUALITY);
            let kind = if is_phred33 { DefectKind::Phred64Byte } else { DefectKind::QualityByte };
            return Err(Fault { kind: kind(byte), offset });
        }
    }
    let (mut bases, mut qualities) = (lines.bases.clone(), lines.qualities.clone());
    if lines.wrapped {
        bases = join_lines(text, &bases);
        qualities = join_lines(text, &qualities);
    }
    if lines.plus.is_some() && qualities.len() != bases.len() {
        let kind = DefectKind::Lengths { bases: bases.len(), qualities: qualities.len() };
        return Err(Fault { kind, offset: qualities.start });
    }
    // Only now: what is refused, or read again with more text, is as it was.
    if options.phred64 {
        text[qualities.clone()].iter_mut().for_each(|byte| *byte -= MIN_QUALITY_64 - MIN_QUALITY);
    }
    let Header { name, comment, .. } = header.renamed(text);
    let extra = if options.keep_comments { span(&comment)? } else { Span::default() };
    Ok(ReadSpans { name: span(&name)?, bases: span(&bases)?, qualities: span(&qualities)?, extra })
}

/// Offset of the first byte in the lines of `region` that is not `good`.
fn find_bad(
    text: &[u8],
    region: &Range<usize>,
    wrapped: bool,
    good: impl Fn(u8) -> bool,
) -> Option<usize> {
    if !wrapped {
        return find_not(&text[region.clone()], good).map(|at| region.start + at);
    }
    let mut cursor = region.start;
    while let Some(line) = line_at(&text[..region.end], cursor) {
        if let Some(at) = find_not(line.of(text), &good) {
            return Some(line.start + at);
        }
        cursor = line.next;
    }
    None
}

/// Spans have 32 bits; whoever fills the buffer keeps it below 4 GiB.
fn span(range: &Range<usize>) -> Result<Span, Fault> {
    match (u32::try_from(range.start), u32::try_from(range.len()), u32::try_from(range.end)) {
        (Ok(start), Ok(len), Ok(_)) => Ok(Span { start, len }),
        _ => Err(Fault {
            kind: DefectKind::TooLong { limit_bytes: u32::MAX as usize },
            offset: range.start,
        }),
    }
}

/// Parts of a header line.
struct Header {
    name: Range<usize>,
    /// Up to the end of the line.
    comment: Range<usize>,
    is_renamed: bool,
}

fn lay_out_header(text: &[u8], header: Line, names: ReadNames) -> Result<Header, Fault> {
    let content = &text[header.start + 1..header.end];
    let start = header.start + 1;
    let fault = |kind, at: usize| Fault { kind, offset: start + at };
    let word = first_word(content);
    if let Some(at) = memchr2(0, b'\r', content) {
        return Err(fault(DefectKind::HeaderByte(content[at]), at));
    }
    let name = trim_read_number(word);
    let is_renamed = match check_read_name(name) {
        Ok(()) => false,
        Err(problem) if names == ReadNames::Check || problem == ReadNameProblem::Empty => {
            let at = if let ReadNameProblem::Byte { at, .. } = problem { at } else { 0 };
            return Err(fault(DefectKind::Name(problem), at));
        }
        Err(_) => true,
    };
    let comment = (start + word.len() + 1).min(header.end);
    Ok(Header { name: start..start + name.len(), comment: comment..header.end, is_renamed })
}

impl Header {
    /// Makes a read name of a name that is not one. Where it gets shorter, what follows it moves up
    /// and blanks fill the line, so that the line reads as if it had been written so.
    fn renamed(self, text: &mut [u8]) -> Self {
        if !self.is_renamed {
            return self;
        }
        let (old_end, line_end) = (self.name.end, self.comment.end);
        let end = self.name.start + rename_read(&mut text[self.name.clone()]);
        let cut = old_end - end;
        text.copy_within(old_end..line_end, end);
        text[line_end - cut..line_end].fill(b' ');
        let comment = self.comment.start - cut..line_end - cut;
        Self { name: self.name.start..end, comment, is_renamed: true }
    }
}

/// The name in the header line that `record` starts with, as far as it is known and no longer than
/// [`MAX_READ_NAME_BYTES`].
#[must_use]
pub fn name_of_header(record: &[u8]) -> &[u8] {
    let line = record.get(1..record.len().min(MAX_READ_NAME_BYTES + 1)).unwrap_or_default();
    let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    &line[..end.unwrap_or(line.len())]
}

/// `name` without a trailing `/1`: dropped as in bwa's `trim_readno`, for any digit.
#[must_use]
pub fn trim_read_number(name: &[u8]) -> &[u8] {
    match name {
        [head @ .., b'/', digit] if !head.is_empty() && digit.is_ascii_digit() => head,
        _ => name,
    }
}

/// The `+` line is bare or repeats the header, or at least the name in it.
fn check_plus(text: &[u8], header: Line, plus: Line) -> Result<(), Fault> {
    let repeated = &plus.of(text)[1..];
    let title = &header.of(text)[1..];
    if repeated.is_empty() || repeated == title || first_word(repeated) == first_word(title) {
        return Ok(());
    }
    Err(Fault { kind: DefectKind::OtherName, offset: plus.start })
}

/// Moves the lines of `region` together at its start and returns what they fill.
fn join_lines(text: &mut [u8], region: &Range<usize>) -> Range<usize> {
    let mut filled = region.start;
    let mut cursor = region.start;
    while let Some(line) = line_at(&text[..region.end], cursor) {
        if filled != line.start {
            text.copy_within(line.start..line.end, filled);
        }
        filled += line.end - line.start;
        cursor = line.next;
    }
    region.start..filled
}

fn is_base(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte == b'*') | (byte == b'-') | (byte == b'.')
}

fn is_quality(byte: u8, lowest: u8) -> bool {
    byte.wrapping_sub(lowest) <= MAX_QUALITY - lowest
}

/// Index of the first byte that is not `good`. The pass without a branch per byte is there for the
/// compiler to vectorise; it is almost always the only one.
fn find_not(bytes: &[u8], good: impl Fn(u8) -> bool) -> Option<usize> {
    if bytes.iter().fold(true, |all, &byte| all & good(byte)) {
        return None;
    }
    bytes.iter().position(|&byte| !good(byte))
}
