//! FASTQ and FASTA text to [`ReadBlock`]s: parsing in place, cutting at record boundaries, and
//! finding a record start from anywhere in a four-line file.
//!
//! The text itself is the block's buffer: a read is four spans into it and nothing is copied
//! (records of several lines are joined in place). What a record must look like:
//!
//! * header: `@` (FASTA `>`), a name of 1 to 254 bytes up to the first space or tab, then anything
//!   but NUL and CR. A trailing `/` and digit is dropped as `bwa mem` does (`bwa.c`,
//!   `trim_readno`): only where the name is longer than these two bytes;
//! * bases: letters of either case, `*`, `-` and `.`. `bwa` itself takes every byte and turns what
//!   is not ACGT into N; anything else (digits, white space, `@`) is a damaged file, so it is an
//!   error here. An empty sequence is legal;
//! * `+`, alone or followed by the header's text or name again; another name is an error;
//! * as many qualities as bases, each in `!` (33) to `~` (126).
//!
//! Lines end in LF or CR LF; the last one may lack its end; a CR elsewhere is an error. Blank lines
//! are legal only behind the last record (in FASTA anywhere behind the first header).
//!
//! Line types of a four-line record, in order: H, S, P, Q.

use std::fmt;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memrchr};

use crate::reads::{ReadBlock, ReadSpans, Span};

/// Longest read name that a BAM record can hold (`l_read_name` is a byte and counts the NUL).
pub const MAX_NAME_BYTES: usize = 254;

/// Lowest quality byte: Phred 0.
pub const MIN_QUALITY: u8 = b'!';
/// Highest quality byte: Phred 93.
pub const MAX_QUALITY: u8 = b'~';

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

/// What to keep of each record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// Keep the rest of the header line behind the name in [`ReadSpans::extra`].
    pub keep_comments: bool,
}

/// The part of a buffer to parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// Where the first record starts.
    pub from: usize,
    /// Records that start at or behind this offset are left to others.
    pub limit: usize,
    /// The buffer ends where the input ends.
    pub at_eof: bool,
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefectKind {
    /// The first line does not start with `@` (FASTA: `>`).
    BadStart {
        /// What it should start with.
        expected: u8,
        /// What it starts with.
        found: u8,
    },
    /// Nothing between `@` and the first white space.
    EmptyName,
    /// A name above [`MAX_NAME_BYTES`].
    LongName(usize),
    /// A control character in the header line.
    HeaderByte(u8),
    /// A byte that cannot be a base.
    BaseByte(u8),
    /// No `+` where it belongs.
    MissingPlus(u8),
    /// The `+` line repeats another name.
    OtherName,
    /// A byte that cannot be a quality.
    QualityByte(u8),
    /// Unequal numbers of bases and qualities.
    Lengths {
        /// Number of bases.
        bases: usize,
        /// Number of qualities.
        qualities: usize,
    },
    /// The input ends within the record.
    Truncated,
    /// A blank line where a record should start, and more text behind it.
    BlankLine,
    /// A record beyond the longest one that the reader takes.
    TooLong {
        /// That limit.
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
            Self::EmptyName => f.write_str("the read has no name"),
            Self::LongName(bytes) => {
                write!(f, "the read name has {bytes} bytes, more than {MAX_NAME_BYTES}")
            }
            Self::HeaderByte(byte) => write!(f, "{} in the header line", Byte(byte)),
            Self::BaseByte(byte) => write!(f, "{} among the bases", Byte(byte)),
            Self::MissingPlus(byte) => {
                write!(f, "the line behind the sequence should start with '+', not {}", Byte(byte))
            }
            Self::OtherName => f.write_str("the '+' line repeats another name than the '@' line"),
            Self::QualityByte(byte) => write!(f, "{} among the qualities", Byte(byte)),
            Self::Lengths { bases, qualities } => {
                write!(f, "{bases} bases but {qualities} qualities")
            }
            Self::Truncated => f.write_str("the input ends within the record"),
            Self::BlankLine => f.write_str("a blank line with more text behind it"),
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

/// The first malformed record of a stretch of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// What is wrong.
    pub kind: DefectKind,
    /// Records before it, from the stretch's start.
    pub record: u64,
    /// Lines before the line at fault, from the stretch's start.
    pub line: u64,
    /// Offset of the byte at fault in the buffer.
    pub offset: usize,
    /// The read's name as far as it is known, else empty.
    pub name: Vec<u8>,
}

/// Why parsing stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The next record starts at or behind the limit, or the input is used up.
    Done,
    /// The record at [`Parsed::end`] does not end within the buffer, and the input goes on.
    NeedMore,
    /// The record at [`Parsed::end`] is malformed.
    Defect(Defect),
}

/// What [`parse`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Behind the last good record (and the blank lines behind the last of all).
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

/// A line: its content without CR and LF, and where the next one starts.
#[derive(Debug, Clone, Copy, Default)]
struct Line {
    start: usize,
    end: usize,
    next: usize,
}

impl Line {
    fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.end]
    }
}

/// The lines of one record: `bases` and `qualities` are regions of whole lines.
#[derive(Debug, Clone)]
struct RecordLines {
    header: Line,
    bases: Range<usize>,
    /// Absent in FASTA.
    plus: Option<Line>,
    qualities: Range<usize>,
    /// The regions are whole lines, with their ends; else they are the bare content of one line.
    wrapped: bool,
    next: usize,
    count: u64,
}

enum Step {
    Record(RecordLines),
    /// Only blank lines are left, up to the end of the input.
    BlankTail {
        lines: u64,
    },
    NeedMore,
    Fault(Fault),
}

/// A defect before it is known where in the block its record lies.
struct Fault {
    kind: DefectKind,
    offset: usize,
}

impl Fault {
    fn locate(self, text: &[u8], before: &Parsed) -> Defect {
        let from = before.end;
        let upto = self.offset.clamp(from, text.len());
        let name = match line_at(text, from) {
            Some(header) if matches!(text.get(from), Some(b'@' | b'>')) => {
                let name = first_word(&text[header.start + 1..header.end]);
                name[..name.len().min(MAX_NAME_BYTES)].to_vec()
            }
            _ => Vec::new(),
        };
        Defect {
            kind: self.kind,
            record: before.records,
            line: before.lines + memchr_iter(b'\n', &text[from..upto]).count() as u64,
            offset: self.offset,
            name,
        }
    }
}

/// The line that starts at `at`, its end taken as the end of the text when no LF follows; `None`
/// where nothing is left.
fn line_at(text: &[u8], at: usize) -> Option<Line> {
    let rest = text.get(at..)?;
    if rest.is_empty() {
        return None;
    }
    let (mut end, next) = match memchr(b'\n', rest) {
        Some(newline) => (at + newline, at + newline + 1),
        None => (text.len(), text.len()),
    };
    if end > at && text[end - 1] == b'\r' {
        end -= 1;
    }
    Some(Line { start: at, end, next })
}

/// As [`line_at`], but a line without LF counts only at the end of the input.
fn whole_line_at(text: &[u8], at: usize, at_eof: bool) -> Option<Line> {
    line_at(text, at).filter(|line| at_eof || text[line.next - 1] == b'\n')
}

fn first_word(header: &[u8]) -> &[u8] {
    &header[..memchr2(b' ', b'\t', header).unwrap_or(header.len())]
}

fn is_blank(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Finds the lines of the record that starts at `at` (before the end of `text`).
fn scan_record(grammar: Grammar, text: &[u8], at: usize, at_eof: bool) -> Step {
    let expected = if grammar == Grammar::Fasta { b'>' } else { b'@' };
    let found = text[at];
    if found != expected {
        return if is_blank(found) {
            scan_blank_tail(text, at, at_eof)
        } else {
            Step::Fault(Fault { kind: DefectKind::BadStart { expected, found }, offset: at })
        };
    }
    match grammar {
        Grammar::FourLine => scan_four_lines(text, at, at_eof),
        Grammar::MultiLine => scan_wrapped(text, at, at_eof),
        Grammar::Fasta => scan_fasta(text, at, at_eof),
    }
}

fn scan_blank_tail(text: &[u8], at: usize, at_eof: bool) -> Step {
    match text[at..].iter().all(|&byte| is_blank(byte)) {
        false => Step::Fault(Fault { kind: DefectKind::BlankLine, offset: at }),
        true if at_eof => {
            Step::BlankTail { lines: memchr_iter(b'\n', &text[at..]).count() as u64 }
        }
        true => Step::NeedMore,
    }
}

/// The input ends, or the buffer does, before the record is complete.
fn incomplete(text: &[u8], at_eof: bool) -> Step {
    if at_eof {
        Step::Fault(Fault { kind: DefectKind::Truncated, offset: text.len() })
    } else {
        Step::NeedMore
    }
}

fn missing_plus(text: &[u8], at: usize) -> Step {
    Step::Fault(Fault { kind: DefectKind::MissingPlus(text[at]), offset: at })
}

fn scan_four_lines(text: &[u8], at: usize, at_eof: bool) -> Step {
    let Some(header) = whole_line_at(text, at, at_eof) else { return incomplete(text, at_eof) };
    let Some(bases) = whole_line_at(text, header.next, at_eof) else {
        return incomplete(text, at_eof);
    };
    if text.get(bases.next).is_some_and(|&byte| byte != b'+') {
        return missing_plus(text, bases.next);
    }
    let Some(plus) = whole_line_at(text, bases.next, at_eof) else {
        return incomplete(text, at_eof);
    };
    let qualities = match whole_line_at(text, plus.next, at_eof) {
        Some(line) => line,
        // The empty qualities of an empty read whose line end, the last of the input, is missing.
        None if at_eof && bases.start == bases.end && text.ends_with(b"\n") => {
            Line { start: text.len(), end: text.len(), next: text.len() }
        }
        None => return incomplete(text, at_eof),
    };
    Step::Record(RecordLines {
        header,
        bases: bases.start..bases.end,
        plus: Some(plus),
        qualities: qualities.start..qualities.end,
        wrapped: false,
        next: qualities.next,
        count: 4,
    })
}

/// Sequence lines up to the one that starts with `+`, then quality lines until there are as many
/// qualities as bases (at least one line, so that an empty read has four lines too).
fn scan_wrapped(text: &[u8], at: usize, at_eof: bool) -> Step {
    let Some(header) = whole_line_at(text, at, at_eof) else { return incomplete(text, at_eof) };
    let (mut cursor, mut count, mut base_count, mut blank) = (header.next, 1, 0, None);
    let plus = loop {
        let Some(line) = whole_line_at(text, cursor, at_eof) else {
            return incomplete(text, at_eof);
        };
        count += 1;
        cursor = line.next;
        match text[line.start] {
            b'+' if count > 2 => break line,
            b'@' | b'+' => return missing_plus(text, line.start),
            _ if line.start == line.end => blank = Some(line.start),
            _ => base_count += line.end - line.start,
        }
        if let Some(offset) = blank.filter(|_| count > 2) {
            return Step::Fault(Fault { kind: DefectKind::BlankLine, offset });
        }
    };
    let (from, mut quality_count) = (plus.next, 0);
    loop {
        let Some(line) = whole_line_at(text, cursor, at_eof) else {
            if at_eof && base_count == 0 && text.ends_with(b"\n") {
                break;
            }
            return incomplete(text, at_eof);
        };
        count += 1;
        quality_count += line.end - line.start;
        cursor = line.next;
        if quality_count > base_count || (line.start == line.end && base_count > 0) {
            let kind = DefectKind::Lengths { bases: base_count, qualities: quality_count };
            return Step::Fault(Fault { kind, offset: line.start });
        }
        if quality_count == base_count {
            break;
        }
    }
    Step::Record(RecordLines {
        bases: header.next..plus.start,
        qualities: from..cursor,
        wrapped: true,
        next: cursor,
        header,
        plus: Some(plus),
        count,
    })
}

fn scan_fasta(text: &[u8], at: usize, at_eof: bool) -> Step {
    let Some(header) = whole_line_at(text, at, at_eof) else { return incomplete(text, at_eof) };
    let mut next = header.next;
    let mut count = 1;
    while text.get(next).is_some_and(|&byte| byte != b'>') {
        let Some(line) = whole_line_at(text, next, at_eof) else { return Step::NeedMore };
        next = line.next;
        count += 1;
    }
    if next == text.len() && !at_eof {
        return Step::NeedMore;
    }
    Step::Record(RecordLines {
        bases: header.next..next,
        plus: None,
        qualities: next..next,
        wrapped: true,
        header,
        next,
        count,
    })
}

/// Checks the parts of a record, joins wrapped lines, and says where the parts lie.
fn lay_out(
    text: &mut [u8],
    lines: &RecordLines,
    options: ParseOptions,
) -> Result<ReadSpans, Fault> {
    let (name, extra) = lay_out_header(text, lines.header, options)?;
    if let Some(offset) = find_bad(text, &lines.bases, lines.wrapped, is_base) {
        return Err(Fault { kind: DefectKind::BaseByte(text[offset]), offset });
    }
    if let Some(plus) = lines.plus {
        check_plus(text, lines.header, plus)?;
        if let Some(offset) = find_bad(text, &lines.qualities, lines.wrapped, is_quality) {
            return Err(Fault { kind: DefectKind::QualityByte(text[offset]), offset });
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

fn lay_out_header(
    text: &[u8],
    header: Line,
    options: ParseOptions,
) -> Result<(Range<usize>, Span), Fault> {
    let content = &text[header.start + 1..header.end];
    let start = header.start + 1;
    let fault = |kind, at: usize| Fault { kind, offset: start + at };
    let word = first_word(content);
    if let Some(at) = find_not(word, |byte| byte > b' ' && byte != 0x7f) {
        return Err(fault(DefectKind::HeaderByte(word[at]), at));
    }
    if let Some(at) = memchr2(0, b'\r', content) {
        return Err(fault(DefectKind::HeaderByte(content[at]), at));
    }
    let name = trim_read_number(word);
    if name.is_empty() {
        return Err(fault(DefectKind::EmptyName, 0));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(fault(DefectKind::LongName(name.len()), 0));
    }
    let comment = (start + word.len() + 1).min(header.end);
    let extra = match options.keep_comments {
        true => span(&(comment..header.end))?,
        false => Span::default(),
    };
    Ok((start..start + name.len(), extra))
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

fn is_quality(byte: u8) -> bool {
    byte.wrapping_sub(MIN_QUALITY) <= MAX_QUALITY - MIN_QUALITY
}

/// Index of the first byte that is not `good`. The pass without a branch per byte is there for the
/// compiler to vectorise; it is almost always the only one.
fn find_not(bytes: &[u8], good: impl Fn(u8) -> bool) -> Option<usize> {
    if bytes.iter().fold(true, |all, &byte| all & good(byte)) {
        return None;
    }
    bytes.iter().position(|&byte| !good(byte))
}

/// Result of [`find_record_start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordStart {
    /// The first record start in the range.
    At(usize),
    /// No record starts in the range.
    Nowhere,
    /// The text ends before it can be told.
    NeedMore,
}

/// Finds the first record of four-line FASTQ that starts in `from..limit`, where `from` starts a
/// line of any type. `text` reaches at least to `limit - 1`.
///
/// Exact on valid input, not a guess: line i is a header if it begins with `@`, line i+1 does not
/// and line i+2 begins with `+`. S never begins with `@` or `+`; so for i = Q beginning with `@`,
/// line i+1 is a header (rejected) or blank or missing, and then line i+2 is too; P and S do not
/// begin with `@`; H is accepted. What it says of malformed input must be checked by whether the
/// record before ends there.
#[must_use]
pub fn find_record_start(text: &[u8], from: usize, limit: usize, at_eof: bool) -> RecordStart {
    let undecided = if at_eof { None } else { Some(RecordStart::NeedMore) };
    let next_line = |at: usize| memchr(b'\n', &text[at..]).map(|newline| at + newline + 1);
    let mut line = from;
    while line < limit && line < text.len() {
        let Some(second) = next_line(line) else {
            let candidate = text[line] == b'@' || text.len() < limit;
            return undecided.filter(|_| candidate).unwrap_or(RecordStart::Nowhere);
        };
        if text[line] == b'@' {
            match text.get(second) {
                Some(b'@') => {}
                Some(_) => {
                    let third = next_line(second).and_then(|at| text.get(at));
                    match (third, undecided) {
                        (Some(b'+'), _) => return RecordStart::At(line),
                        (None, Some(need_more)) => return need_more,
                        _ => {}
                    }
                }
                None => return undecided.unwrap_or(RecordStart::Nowhere),
            }
        }
        line = second;
    }
    if line < limit { undecided.unwrap_or(RecordStart::Nowhere) } else { RecordStart::Nowhere }
}

/// Where to cut `text`, which starts with a record and goes on elsewhere: behind as many whole
/// records as it surely has, 0 for none. Text that is malformed is cut so that [`parse`] finds the
/// defect, sooner or later.
#[must_use]
pub fn last_boundary(grammar: Grammar, text: &[u8]) -> usize {
    match grammar {
        Grammar::FourLine => last_four_line_boundary(text),
        Grammar::Fasta => {
            let mut end = text.len();
            while let Some(at) = memrchr(b'>', &text[..end]) {
                if at > 0 && text[at - 1] == b'\n' {
                    return at;
                }
                end = at;
            }
            0
        }
        Grammar::MultiLine => {
            let mut end = 0;
            while end < text.len() {
                match scan_record(grammar, text, end, false) {
                    Step::Record(lines) => end = lines.next,
                    Step::Fault(_) => return text.len(),
                    Step::NeedMore | Step::BlankTail { .. } => break,
                }
            }
            end
        }
    }
}

/// Behind the last line whose number is a multiple of four; groups of four lines that begin with a
/// blank one are not cut off, because only the end of the input can say whether they are legal.
fn last_four_line_boundary(text: &[u8]) -> usize {
    let newlines = memchr_iter(b'\n', text).count();
    let back = |mut end: usize, lines: usize| {
        // `end` is behind a newline or the end of the text; go back over `lines` newlines.
        for _ in 0..lines {
            end = memrchr(b'\n', &text[..end]).unwrap_or(0);
        }
        end
    };
    let mut groups = newlines / 4;
    if groups == 0 {
        return 0;
    }
    // The newline that ends the last whole group.
    let mut newline = back(text.len(), newlines % 4 + 1);
    loop {
        let group = if groups == 1 { 0 } else { back(newline, 4) + 1 };
        if !is_blank(text[group]) {
            return newline + 1;
        }
        if groups == 1 {
            return 0;
        }
        newline = group - 1;
        groups -= 1;
    }
}

/// How the records that `sample`, the start of an input, begins with are laid out: as four lines
/// unless a record is found that is well-formed only when wrapped lines are joined.
#[must_use]
pub fn detect_grammar(sample: &[u8], at_eof: bool) -> Grammar {
    if sample.first() == Some(&b'>') {
        return Grammar::Fasta;
    }
    let mut at = 0;
    while at < sample.len() {
        let fault = match scan_record(Grammar::FourLine, sample, at, at_eof) {
            Step::Record(lines) if lines.bases.len() == lines.qualities.len() => {
                at = lines.next;
                continue;
            }
            // Bases on one line and qualities on several: only their lengths tell.
            Step::Record(_) => None,
            Step::Fault(fault) => Some(fault.kind),
            Step::BlankTail { .. } | Step::NeedMore => break,
        };
        return match scan_record(Grammar::MultiLine, sample, at, at_eof) {
            Step::Record(lines) if lines.count > 4 => Grammar::MultiLine,
            Step::NeedMore if matches!(fault, Some(DefectKind::MissingPlus(_))) => {
                Grammar::MultiLine
            }
            _ => Grammar::FourLine,
        };
    }
    Grammar::FourLine
}
