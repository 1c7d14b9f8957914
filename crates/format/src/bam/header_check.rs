//! What is wrong with a header: each of its lines by itself and with those before it.

use std::collections::HashSet;

use super::header::{MAX_HEADER_LINE_BYTES, Reference};
use super::header_line as line;
use crate::names::{SequenceNameProblem, check_sequence_name, is_read_group_id};

/// Problem of a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// One line of the text is malformed.
    #[error("header line {line}: {problem}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// The problem.
        problem: LineProblem,
    },
    /// A line handed to [`Header::add_read_group`](super::Header::add_read_group) is malformed.
    #[error("read group line: {0}")]
    ReadGroupLine(LineProblem),
    /// The bytes do not start with `BAM\1`.
    #[error("not a BAM file (bad magic)")]
    BadMagic,
    /// The BAM header goes on after the bytes; at least `needed_bytes` are needed.
    #[error("BAM header is truncated: {available_bytes} bytes of at least {needed_bytes}")]
    Truncated {
        /// Bytes that were given.
        available_bytes: usize,
        /// Bytes the header has at least.
        needed_bytes: usize,
    },
    /// `l_text`, `n_ref` or `l_name` is negative or zero where it must not be.
    #[error("BAM header has {field} {value}")]
    BadValue {
        /// Name of the field in the SAM specification.
        field: &'static str,
        /// Its value.
        value: i32,
    },
    /// Name of a reference in the BAM's list.
    #[error(
        "BAM header: reference {index}, {name:?}: {problem}; rename the sequence with `samtools \
         reheader`"
    )]
    BadReferenceName {
        /// Its index, from 0.
        index: usize,
        /// The name.
        name: String,
        /// The problem.
        problem: SequenceNameProblem,
    },
    /// Name or length of a reference in the BAM's list is unusable.
    #[error("BAM header: reference {0} has an unusable name or length")]
    BadReference(usize),
    /// The list of references and the @SQ lines disagree from this index on.
    #[error("BAM header: reference {0} differs between the @SQ lines and the reference list")]
    ReferenceMismatch(usize),
    /// Text or list are beyond the 2^31 - 1 that BAM can hold.
    #[error("header is too large for BAM")]
    TooLarge,
}

/// Problem of a header line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// It does not start with `@` and two letters.
    #[error("does not start with '@' and a two-letter type")]
    NotAHeaderLine,
    /// It is of a type that the specification (1.3) does not have; samtools refuses it in SAM.
    #[error("is of type @{0}; there are @HD, @SQ, @RG, @PG and @CO")]
    UnknownType(String),
    /// It is a good header line, but not an @RG line.
    #[error("is not an @RG line")]
    NotAReadGroup,
    /// A field is not `TT:value`.
    #[error("field {0:?} is not of the form TAG:VALUE")]
    BadField(String),
    /// A field that must be there is not, or is empty.
    #[error("has no {0}")]
    MissingField(&'static str),
    /// LN is not a number in 1..=2147483647.
    #[error("LN {0:?} is not a length")]
    BadLength(String),
    /// LN is there twice, with different values.
    #[error("has LN {0:?} and LN {1:?}")]
    LengthTwice(String, String),
    /// SN is not the name of a reference sequence.
    #[error("SN {name:?}: {problem}; rename the sequence with `samtools reheader`")]
    BadName {
        /// The name.
        name: String,
        /// The problem.
        problem: SequenceNameProblem,
    },
    /// A NUL.
    #[error("has a NUL")]
    Nul,
    /// A field of a line of one's own, of which there may be one.
    #[error("has {0} twice")]
    TagTwice(String),
    /// An SN or an @RG ID that an earlier line has too.
    #[error("{0:?} is defined twice")]
    Duplicate(String),
    /// A second @HD line.
    #[error("is a second @HD line")]
    SecondHd,
    /// It is longer than [`MAX_HEADER_LINE_BYTES`].
    #[error("is longer than {MAX_HEADER_LINE_BYTES} bytes: is the end of a line missing?")]
    TooLong,
}

/// Definitions of the lines so far.
#[derive(Default)]
pub(super) struct Seen {
    hd: bool,
    sequences: HashSet<String>,
    pub(super) read_groups: HashSet<Vec<u8>>,
}

impl Seen {
    /// Checks one line; gives the reference that an @SQ line defines.
    pub(super) fn check(&mut self, text: &[u8]) -> Result<Option<Reference>, LineProblem> {
        if memchr::memchr(0, text).is_some() {
            return Err(LineProblem::Nul);
        }
        if !line::is_header_line(text) {
            return Err(LineProblem::NotAHeaderLine);
        }
        match line::kind(text) {
            b"HD" | b"SQ" | b"RG" | b"PG" => {}
            b"CO" => return Ok(None),
            kind => return Err(LineProblem::UnknownType(lossy(kind))),
        }
        if let Some(field) = line::bad_field(text) {
            return Err(LineProblem::BadField(lossy(field)));
        }
        match line::kind(text) {
            b"HD" if std::mem::replace(&mut self.hd, true) => Err(LineProblem::SecondHd),
            b"SQ" => self.check_sequence(text).map(Some),
            b"RG" => {
                let id = line::value(text, *b"ID").filter(|id| is_read_group_id(id));
                let id = id.ok_or(LineProblem::MissingField("ID"))?;
                if self.read_groups.insert(id.to_vec()) {
                    Ok(None)
                } else {
                    Err(LineProblem::Duplicate(lossy(id)))
                }
            }
            b"PG" => required(text, *b"ID", "ID").map(|_| None),
            _ => Ok(None),
        }
    }

    fn check_sequence(&mut self, text: &[u8]) -> Result<Reference, LineProblem> {
        let name = required(text, *b"SN", "SN")?;
        let checked = check_sequence_name(name);
        let name = lossy(name);
        if let Err(problem) = checked {
            return Err(LineProblem::BadName { name, problem });
        }
        let first = required(text, *b"LN", "LN")?;
        let length = match lossy(first).parse::<i32>().map(u32::try_from) {
            Ok(Ok(length @ 1..)) => length,
            _ => return Err(LineProblem::BadLength(lossy(first))),
        };
        if let Some(other) = line::values(text, *b"LN").find(|&other| other != first) {
            return Err(LineProblem::LengthTwice(lossy(first), lossy(other)));
        }
        if !self.sequences.insert(name.clone()) {
            return Err(LineProblem::Duplicate(name));
        }
        Ok(Reference { name, length })
    }
}

fn required<'a>(
    text: &'a [u8],
    tag: [u8; 2],
    label: &'static str,
) -> Result<&'a [u8], LineProblem> {
    line::value(text, tag).filter(|value| !value.is_empty()).ok_or(LineProblem::MissingField(label))
}

pub(super) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
