//! Where the lines of one record are.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2};

use super::{Defect, DefectKind, Grammar, Parsed};
use crate::names::MAX_READ_NAME_BYTES;

/// A line: its content without CR and LF, and where the next one starts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) next: usize,
}

impl Line {
    pub(super) fn of(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.end]
    }
}

/// The lines of one record: `bases` and `qualities` are regions of whole lines.
#[derive(Debug, Clone)]
pub(super) struct RecordLines {
    pub(super) header: Line,
    pub(super) bases: Range<usize>,
    /// Absent in FASTA.
    pub(super) plus: Option<Line>,
    pub(super) qualities: Range<usize>,
    /// The regions are whole lines, with their ends; else they are the bare content of one line.
    pub(super) wrapped: bool,
    pub(super) next: usize,
    pub(super) count: u64,
}

pub(super) enum Step {
    Record(RecordLines),
    /// Only blank lines are left, up to the end of the input.
    BlankTail {
        lines: u64,
    },
    NeedMore,
    Fault(Fault),
}

/// A defect before it is known where in the block its record is.
pub(super) struct Fault {
    pub(super) kind: DefectKind,
    pub(super) offset: usize,
}

impl Fault {
    /// The record has no header line to take a name from.
    fn is_without_header(&self) -> bool {
        matches!(self.kind, DefectKind::BadStart { .. } | DefectKind::BlankLine)
    }

    pub(super) fn locate(self, text: &[u8], before: &Parsed) -> Defect {
        let from = before.end;
        let upto = self.offset.clamp(from, text.len());
        let name = match line_at(text, from) {
            Some(header) if !self.is_without_header() => {
                let name = first_word(&text[header.start + 1..header.end]);
                name[..name.len().min(MAX_READ_NAME_BYTES)].to_vec()
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
pub(super) fn line_at(text: &[u8], at: usize) -> Option<Line> {
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

pub(super) fn first_word(header: &[u8]) -> &[u8] {
    &header[..memchr2(b' ', b'\t', header).unwrap_or(header.len())]
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r'
}

/// Finds the lines of the record that starts at `at` (before the end of `text`).
pub(super) fn scan_record(grammar: Grammar, text: &[u8], at: usize, at_eof: bool) -> Step {
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
        true if at_eof => Step::BlankTail { lines: memchr_iter(b'\n', &text[at..]).count() as u64 },
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
