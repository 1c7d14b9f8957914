//! Record boundaries in text that starts or ends anywhere, and which grammar it follows.

use memchr::{memchr, memchr_iter, memrchr};

use super::scan::{Step, is_blank, scan_record};
use super::{DefectKind, Grammar};

/// Result of [`find_record_start`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordStart {
    /// The first record start in the range.
    At(usize),
    /// No record starts in the range.
    Nowhere,
    /// The text ends before it can be determined.
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

/// Where to cut `text`, which starts with a record and goes on elsewhere: after as many whole
/// records as it surely has, 0 for none. Text that is malformed is cut so that
/// [`parse`](super::parse) finds the defect, sooner or later.
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

/// After the last line whose number is a multiple of four; groups of four lines that begin with a
/// blank one are not cut off, because only the end of the input can say whether they are legal.
fn last_four_line_boundary(text: &[u8]) -> usize {
    let newlines = memchr_iter(b'\n', text).count();
    let back = |mut end: usize, lines: usize| {
        // `end` is after a newline or the end of the text; go back over `lines` newlines.
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
            // Bases on one line and qualities on several: only their lengths decide.
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
