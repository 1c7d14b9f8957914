//! FASTA text, parsed as it arrives: push chunks of any size, records and bases go to a sink.
//!
//! Layout of a record, as bwa's reader sees it: a line that starts with `>`; the name up to the
//! first white space; after exactly one white-space byte the comment, verbatim; then lines of
//! bases up to the next `>` at the start of a line. One `\r` before a line end is dropped, also
//! where bwa 0.7.17 keeps it: as the first line of a record it makes a blank CRLF line a base, and
//! after `>name ` a comment.
//!
//! Stricter than bwa, because each of these makes an index that is wrong: no record at all, text
//! before the first `>`, an empty or duplicate name, a name that SAM cannot carry, an empty
//! sequence, and any base byte that is not an IUPAC nucleotide code (SAM's set `ACGTUMRSWYKVHDBN`,
//! `X`, both cases), `-` or `*`. Digits, white space inside a line and amino acids are refused.
//!
//! Nothing of a sequence is held: memory is one header line (at most [`MAX_HEADER_BYTES`]) and the
//! names seen, which the search for duplicates needs.

use std::collections::HashMap;
use std::fmt;

use crate::names::{SequenceNameProblem, check_sequence_name};

/// Longest name in bytes: what bwa's loader keeps of a name in `.ann`.
pub const MAX_NAME_BYTES: usize = 8_191;

/// Longest header line in bytes (name and comment).
pub const MAX_HEADER_BYTES: usize = 1 << 20;

/// Longest sequence in bases, and most records: BAM and `.ann` hold both as signed 32-bit numbers.
pub(crate) const MAX_SEQUENCE_BP: u64 = i32::MAX as u64;

/// Receiver of the records of a FASTA parser.
pub trait FastaSink {
    /// A record begins. `comment` is empty when there is none.
    fn record(&mut self, name: &[u8], comment: &[u8]);
    /// More bases of the current record, as in the file: never empty, never across records.
    fn bases(&mut self, bases: &[u8]);
}

/// A problem of a FASTA text, and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct FastaError {
    /// Record, counted from 1; 0 before the first.
    pub record: u64,
    /// Name of that record, empty when it has none yet.
    pub name: String,
    /// Line, counted from 1.
    pub line: u64,
    /// Byte of the (uncompressed) text, counted from 0.
    pub byte: u64,
    /// The problem.
    pub(crate) kind: FastaErrorKind,
}

impl fmt::Display for FastaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.record > 0 {
            write!(out, "record {}", self.record)?;
            if !self.name.is_empty() {
                write!(out, " ({})", self.name)?;
            }
            write!(out, ", ")?;
        }
        write!(out, "line {}, byte {}: {}", self.line, self.byte, self.kind)
    }
}

/// The kinds of [`FastaError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FastaErrorKind {
    /// The text has no record.
    #[error("no FASTA record: the file is empty")]
    Empty,
    /// Something other than blank lines comes before the first record.
    #[error("{} before the first '>': this is not a FASTA file", Byte(*.0))]
    NotFasta(u8),
    /// The name is not one that SAM allows.
    #[error("{0}; rename the sequence in the FASTA file")]
    Name(SequenceNameProblem),
    /// The name is longer than [`MAX_NAME_BYTES`].
    #[error("a name longer than {MAX_NAME_BYTES} bytes")]
    NameTooLong,
    /// The header line is longer than [`MAX_HEADER_BYTES`].
    #[error("a header line longer than {MAX_HEADER_BYTES} bytes")]
    HeaderTooLong,
    /// Two records have this name.
    #[error("the name is already that of record {first_record}: names must differ")]
    DuplicateName {
        /// The earlier record, counted from 1.
        first_record: u64,
    },
    /// The record has no bases.
    #[error("the sequence is empty")]
    EmptySequence,
    /// The sequence is longer than [`MAX_SEQUENCE_BP`].
    #[error("the sequence is longer than {MAX_SEQUENCE_BP} bases")]
    SequenceTooLong,
    /// There are more than [`MAX_SEQUENCE_BP`] records.
    #[error("more than {MAX_SEQUENCE_BP} records")]
    TooManyRecords,
    /// A byte in a sequence line that is no nucleotide code.
    #[error("{} in the sequence is not a nucleotide code{}", Byte(*.0), sequence_hint(*.0))]
    SequenceByte(u8),
}

/// Shows a byte as a person would name it.
struct Byte(u8);

impl fmt::Display for Byte {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b' ' => write!(out, "a space"),
            b'\t' => write!(out, "a tab"),
            b'\r' => write!(out, "a carriage return"),
            b'!'..=b'~' => write!(out, "'{}'", char::from(self.0)),
            other => write!(out, "byte 0x{other:02X}"),
        }
    }
}

/// Most likely cause of a wrong sequence byte.
fn sequence_hint(byte: u8) -> &'static str {
    match byte {
        b'@' | b'+' => " (is this a FASTQ file?)",
        b if b.is_ascii_alphabetic() => " (is this a protein sequence?)",
        _ => "",
    }
}

/// True for the bytes a sequence line may hold.
const SEQUENCE_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let allowed = b"ACGTUMRSWYKVHDBNXacgtumrswykvhdbnx-*";
    let mut i = 0;
    while i < allowed.len() {
        table[allowed[i] as usize] = true;
        i += 1;
    }
    table
};

/// State of the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    BeforeFirst,
    Header,
    Sequence,
}

/// A push parser of FASTA text. Feed it with [`push`](Self::push), then call
/// [`finish`](Self::finish); after an error it must not be used again.
#[derive(Debug)]
pub struct FastaParser {
    state: State,
    /// The next byte is the first of its line.
    at_line_start: bool,
    /// The last byte of the previous segment of this sequence line was `\r`, not yet passed on.
    pending_return: bool,
    /// Header line without `>`, as far as it has arrived.
    header: Vec<u8>,
    header_byte: u64,
    record: u64,
    length_bp: u64,
    line: u64,
    byte: u64,
    first_record_of_name: HashMap<Box<[u8]>, u64>,
}

impl Default for FastaParser {
    fn default() -> Self {
        Self::new()
    }
}

impl FastaParser {
    /// A parser at the start of a text.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: State::BeforeFirst,
            at_line_start: true,
            pending_return: false,
            header: Vec::new(),
            header_byte: 0,
            record: 0,
            length_bp: 0,
            line: 1,
            byte: 0,
            first_record_of_name: HashMap::new(),
        }
    }

    /// Parses the next bytes of the text. Chunks may end anywhere.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn push<S: FastaSink>(&mut self, chunk: &[u8], sink: &mut S) -> Result<(), FastaError> {
        let mut rest = chunk;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.segment(&rest[..at], sink)?;
            self.end_of_line(sink)?;
            self.byte += 1;
            self.line += 1;
            self.at_line_start = true;
            rest = &rest[at + 1..];
        }
        self.segment(rest, sink)
    }

    /// Ends the text and returns the number of records.
    ///
    /// # Errors
    /// The last record is incomplete, or there is none.
    pub fn finish<S: FastaSink>(mut self, sink: &mut S) -> Result<u64, FastaError> {
        self.end_of_line(sink)?;
        if self.record == 0 {
            return Err(self.error(FastaErrorKind::Empty));
        }
        self.end_of_record()?;
        Ok(self.record)
    }

    /// Takes bytes of one line (without its end), which may be a part of the line.
    fn segment<S: FastaSink>(&mut self, segment: &[u8], sink: &mut S) -> Result<(), FastaError> {
        let Some(&first) = segment.first() else { return Ok(()) };
        let mut body = segment;
        if self.at_line_start && first == b'>' {
            self.start_record()?;
            body = &segment[1..];
            self.byte += 1;
        }
        self.at_line_start = false;
        match self.state {
            State::Header => {
                if self.header.len() + body.len() > MAX_HEADER_BYTES {
                    return Err(self.error(FastaErrorKind::HeaderTooLong));
                }
                self.header.extend_from_slice(body);
            }
            State::BeforeFirst => {
                if let Some(at) = body.iter().position(|&byte| byte != b'\r') {
                    self.byte += at as u64;
                    return Err(self.error(FastaErrorKind::NotFasta(body[at])));
                }
            }
            State::Sequence => self.sequence(body, sink)?,
        }
        self.byte += body.len() as u64;
        Ok(())
    }

    /// Checks and passes on a part of a sequence line. `self.byte` is the place of its first byte.
    fn sequence<S: FastaSink>(&mut self, part: &[u8], sink: &mut S) -> Result<(), FastaError> {
        if self.pending_return {
            self.byte -= 1;
            return Err(self.error(FastaErrorKind::SequenceByte(b'\r')));
        }
        let bases = part.strip_suffix(b"\r").unwrap_or(part);
        self.pending_return = bases.len() < part.len();
        let is_refused = |&byte: &u8| !SEQUENCE_BYTES[usize::from(byte)];
        if !is_plain(bases)
            && let Some(at) = bases.iter().position(is_refused)
        {
            self.byte += at as u64;
            return Err(self.error(FastaErrorKind::SequenceByte(bases[at])));
        }
        self.length_bp += bases.len() as u64;
        if self.length_bp > MAX_SEQUENCE_BP {
            return Err(self.error(FastaErrorKind::SequenceTooLong));
        }
        if !bases.is_empty() {
            sink.bases(bases);
        }
        Ok(())
    }

    fn end_of_line<S: FastaSink>(&mut self, sink: &mut S) -> Result<(), FastaError> {
        self.pending_return = false;
        if self.state == State::Header { self.end_of_header(sink) } else { Ok(()) }
    }

    fn start_record(&mut self) -> Result<(), FastaError> {
        self.end_of_record()?;
        if self.record == MAX_SEQUENCE_BP {
            return Err(self.error(FastaErrorKind::TooManyRecords));
        }
        self.state = State::Header;
        self.record += 1;
        self.length_bp = 0;
        self.header.clear();
        self.header_byte = self.byte;
        Ok(())
    }

    /// Splits the header line into name and comment and checks the name.
    fn end_of_header<S: FastaSink>(&mut self, sink: &mut S) -> Result<(), FastaError> {
        self.state = State::Sequence;
        if self.header.last() == Some(&b'\r') {
            self.header.pop();
        }
        // C's isspace in the "C" locale, as bwa splits: space, \t, \n, \v, \f, \r.
        let white = |&byte: &u8| byte == b' ' || (9..=13).contains(&byte);
        let name_end = self.header.iter().position(white).unwrap_or(self.header.len());
        let (name, rest) = self.header.split_at(name_end);
        if let Some(kind) = name_problem(name) {
            return Err(self.header_error(kind));
        }
        if let Some(&first_record) = self.first_record_of_name.get(name) {
            return Err(self.header_error(FastaErrorKind::DuplicateName { first_record }));
        }
        sink.record(name, rest.get(1..).unwrap_or_default());
        self.first_record_of_name.insert(name.into(), self.record);
        Ok(())
    }

    fn end_of_record(&self) -> Result<(), FastaError> {
        if self.record > 0 && self.length_bp == 0 {
            return Err(self.error(FastaErrorKind::EmptySequence));
        }
        Ok(())
    }

    /// Name of the current record for a message: cut to a readable length.
    fn name(&self) -> String {
        let name = self.header.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        String::from_utf8_lossy(&name[..name.len().min(100)]).into_owned()
    }

    fn error(&self, kind: FastaErrorKind) -> FastaError {
        let (record, line, byte) = (self.record, self.line, self.byte);
        FastaError { record, name: self.name(), line, byte, kind }
    }

    fn header_error(&self, kind: FastaErrorKind) -> FastaError {
        FastaError { byte: self.header_byte, ..self.error(kind) }
    }
}

/// Why SAM, or bwa's loader, could not hold this name.
fn name_problem(name: &[u8]) -> Option<FastaErrorKind> {
    if name.len() > MAX_NAME_BYTES {
        return Some(FastaErrorKind::NameTooLong);
    }
    check_sequence_name(name).err().map(FastaErrorKind::Name)
}

/// Whether all are A, C, G, T or N, as most lines are. Looks at many bases at a time.
fn is_plain(bases: &[u8]) -> bool {
    bases
        .iter()
        .fold(true, |all, &base| all & matches!(base | 0x20, b'a' | b'c' | b'g' | b't' | b'n'))
}

#[cfg(test)]
#[path = "fasta_tests.rs"]
mod tests;
