//! The text files of the index, `.ann`, `.amb` and `.alt`: written as bwa does, read strictly.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, Read, Write};
use std::ops::Range;

use seqloom_format::fasta::{MAX_HEADER_BYTES, MAX_NAME_BYTES};
use seqloom_format::names::check_sequence_name;

use super::layout::MAX_BASES;
use super::reference::{Reference, SEED};

/// Longest line accepted from `.ann` (a name, a comment, a number) and `.alt` (a SAM line of a
/// whole ALT contig would be longer, but only its first field is read).
const MAX_LINE_BYTES: usize = MAX_HEADER_BYTES + 64;

/// Writes `.ann`.
pub(crate) fn write_ann(reference: &Reference, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{} {} {SEED}", reference.packed.bases(), reference.sequences.len())?;
    for sequence in &reference.sequences {
        let comment: &[u8] =
            if sequence.comment.is_empty() { b"(null)" } else { &sequence.comment };
        out.write_all(b"0 ")?;
        out.write_all(&sequence.name)?;
        out.write_all(b" ")?;
        out.write_all(comment)?;
        writeln!(out, "\n{} {} {}", sequence.offset, sequence.length, sequence.holes)?;
    }
    Ok(())
}

/// Writes `.amb`.
pub(crate) fn write_amb(reference: &Reference, out: &mut impl Write) -> io::Result<()> {
    let (bases, sequences) = (reference.packed.bases(), reference.sequences.len());
    writeln!(out, "{bases} {sequences} {}", reference.holes.len())?;
    for hole in &reference.holes {
        write!(out, "{} {} ", hole.offset, hole.length)?;
        out.write_all(&[hole.byte, b'\n'])?;
    }
    Ok(())
}

/// What `.ann` says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Annotation {
    /// `L`.
    pub(crate) bases: u64,
    pub(crate) sequences: Vec<AnnotatedSequence>,
}

/// One sequence of `.ann`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AnnotatedSequence {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) holes: u64,
}

/// Why a text file was refused.
#[derive(Debug)]
pub(crate) enum TextError {
    /// It could not be read.
    Io(io::Error),
    /// Line (from 1) and what is wrong there.
    Line(u64, String),
}

impl From<io::Error> for TextError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Lines of a text file, bounded and counted; each must end with `\n`, so that no cut goes unseen.
struct Lines<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn new(input: R) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    fn error(&self, problem: impl Into<String>) -> TextError {
        TextError::Line(self.number, problem.into())
    }

    /// Reads the next line into `self.line`, without its end; false at the end of the file.
    fn advance(&mut self) -> Result<bool, TextError> {
        self.line.clear();
        self.number += 1;
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = (&mut self.input).take(limit).read_until(b'\n', &mut self.line)?;
        if read > 0 && self.line.pop() != Some(b'\n') {
            let cut = read as u64 <= MAX_LINE_BYTES as u64;
            return Err(self.error(if cut { "the file is cut short" } else { "line too long" }));
        }
        Ok(read > 0)
    }

    /// The next line, which must be there, as exactly `N` numbers.
    fn numbers<const N: usize>(&mut self, what: &str) -> Result<[u64; N], TextError> {
        if !self.advance()? {
            return Err(self.error(format!("the file ends before {what}")));
        }
        let mut numbers = [0; N];
        let mut fields = self.line.split(|&byte| byte == b' ');
        for number in &mut numbers {
            let field = fields.next().and_then(number_of);
            *number = field.ok_or_else(|| self.error(format!("expected {what}")))?;
        }
        if fields.next().is_some() {
            return Err(self.error(format!("expected {what} and nothing more")));
        }
        Ok(numbers)
    }

    fn end(&mut self) -> Result<(), TextError> {
        if self.advance()? { Err(self.error("text after the last entry")) } else { Ok(()) }
    }
}

/// A decimal number without sign or spaces, below 2^63.
fn number_of(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 18 {
        return None;
    }
    field.iter().try_fold(0_u64, |sum, &byte| {
        byte.is_ascii_digit().then(|| 10 * sum + u64::from(byte - b'0'))
    })
}

/// Reads `.ann`: sequences must be end to end and fill `L`; names must differ.
pub(crate) fn read_ann(input: impl BufRead) -> Result<Annotation, TextError> {
    let mut lines = Lines::new(input);
    let [bases, count, _seed] = lines.numbers("the number of bases, of sequences, and a seed")?;
    if !(1..=MAX_BASES).contains(&bases) {
        return Err(lines.error(format!("{bases} bases: expected 1 to {MAX_BASES}")));
    }
    if !(1..=i32::MAX as u64).contains(&count) {
        return Err(lines.error(format!("{count} sequences: expected 1 to {}", i32::MAX)));
    }
    let mut names = HashSet::new();
    let mut sequences = Vec::new();
    let mut offset = 0;
    for _ in 0..count {
        let name = read_name(&mut lines)?;
        if !names.insert(name.clone()) {
            return Err(lines.error(format!("the name {name} occurs twice")));
        }
        let [start, length, holes] = lines.numbers("offset, length and number of holes")?;
        if start != offset {
            return Err(lines.error(format!("{name} starts at {start}, expected {offset}")));
        }
        if !(1..=i32::MAX as u64).contains(&length) {
            return Err(lines.error(format!("{name} has {length} bases")));
        }
        if holes > length {
            return Err(lines.error(format!("{name} has more holes than bases")));
        }
        offset += length;
        sequences.push(AnnotatedSequence { name, offset: start, length, holes });
    }
    if offset != bases {
        return Err(lines.error(format!("the sequences have {offset} bases, the header {bases}")));
    }
    lines.end()?;
    Ok(Annotation { bases, sequences })
}

/// Reads a line `GI NAME [COMMENT]`.
fn read_name(lines: &mut Lines<impl BufRead>) -> Result<String, TextError> {
    if !lines.advance()? {
        return Err(lines.error("the file ends before the last sequence"));
    }
    let mut fields = lines.line.splitn(3, |&byte| byte == b' ');
    let gi = fields.next().and_then(number_of);
    let name = fields.next().unwrap_or_default();
    if gi.is_none() || name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(lines.error("expected a number and the name of a sequence"));
    }
    let checked = check_sequence_name(name);
    let name = String::from_utf8_lossy(name).into_owned();
    checked.map_err(|fault| {
        let what = format!("{fault}: '{}'", name.escape_debug());
        lines.error(format!("{what}; rename it in the FASTA file and build the index again"))
    })?;
    Ok(name)
}

/// Reads `.amb` and holds it against `.ann`: same totals, holes in order, inside their sequences,
/// as many in each as `.ann` says. Gives the holes; those that touch each other are one.
pub(crate) fn read_amb(
    input: impl BufRead,
    annotation: &Annotation,
) -> Result<Vec<Range<u64>>, TextError> {
    let mut lines = Lines::new(input);
    let [bases, count, holes] = lines.numbers("the number of bases, of sequences, of holes")?;
    let expected = (annotation.bases, annotation.sequences.len() as u64);
    if (bases, count) != expected {
        let (b, n) = expected;
        let problem = format!("{bases} bases in {count} sequences; .ann says {b} in {n}");
        return Err(lines.error(problem));
    }
    let annotated: u64 = annotation.sequences.iter().map(|s| s.holes).sum();
    if holes != annotated {
        return Err(lines.error(format!("{holes} holes; .ann says {annotated}")));
    }
    let mut free_from = 0;
    let mut found: Vec<Range<u64>> = Vec::new();
    for sequence in &annotation.sequences {
        let end = sequence.offset + sequence.length;
        for _ in 0..sequence.holes {
            let Hole { start, length } = read_hole(&mut lines)?;
            if length == 0 || start < free_from.max(sequence.offset) || start >= end {
                return Err(lines.error(format!("a hole out of place in {}", sequence.name)));
            }
            if length > end - start {
                return Err(lines.error(format!("a hole leaves {}", sequence.name)));
            }
            free_from = start + length;
            match found.last_mut() {
                Some(last) if last.end == start => last.end = free_from,
                _ => found.push(start..free_from),
            }
        }
    }
    lines.end()?;
    Ok(found)
}

/// A hole as its line says it.
struct Hole {
    start: u64,
    length: u64,
}

/// Reads a line `OFFSET LENGTH BYTE`.
fn read_hole(lines: &mut Lines<impl BufRead>) -> Result<Hole, TextError> {
    if !lines.advance()? {
        return Err(lines.error("the file ends before the last hole"));
    }
    let mut fields = lines.line.split(|&byte| byte == b' ');
    let start = fields.next().and_then(number_of);
    let length = fields.next().and_then(number_of);
    let byte_is_one = fields.next().is_some_and(|f| f.len() == 1 && f[0].is_ascii_graphic());
    match (start, length, byte_is_one, fields.next()) {
        (Some(start), Some(length), true, None) => Ok(Hole { start, length }),
        _ => Err(lines.error("expected offset, length and one byte")),
    }
}

/// Marks the sequences that `.alt` names: the first field of each line that does not start with
/// `@`. As in bwa, a field must be ended (tab or line end), and unknown names are ignored.
pub(crate) fn read_alt(
    mut input: impl BufRead,
    annotation: &Annotation,
) -> Result<Vec<bool>, TextError> {
    let names = annotation.sequences.iter().enumerate();
    let index_of: HashMap<&[u8], usize> = names.map(|(i, s)| (s.name.as_bytes(), i)).collect();
    let mut is_alt = vec![false; annotation.sequences.len()];
    let mut field = Vec::new();
    // Only the first field is held: a SAM line of an ALT contig can have megabytes.
    let (mut in_first_field, mut too_long) = (true, false);
    loop {
        let chunk = match input.fill_buf() {
            Ok([]) => return Ok(is_alt),
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        for &byte in chunk {
            let line_end = byte == b'\n';
            if in_first_field && (line_end || byte == b'\t' || byte == b'\r') {
                if let Some(&sequence) = index_of.get(field.as_slice()).filter(|_| !too_long) {
                    is_alt[sequence] = !field.starts_with(b"@") || is_alt[sequence];
                }
                in_first_field = false;
            }
            if line_end {
                field.clear();
                (in_first_field, too_long) = (true, false);
            } else if in_first_field && field.len() < MAX_NAME_BYTES {
                field.push(byte);
            } else if in_first_field {
                too_long = true;
            }
        }
        let used = chunk.len();
        input.consume(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: &str = "12 2 11\n0 a (null)\n0 8 2\n0 b x  y\n8 4 0\n";
    const AMB: &str = "12 2 2\n0 2 N\n2 1 n\n";

    fn line_of(error: TextError) -> (u64, String) {
        match error {
            TextError::Line(line, problem) => (line, problem),
            TextError::Io(error) => panic!("{error}"),
        }
    }

    #[test]
    fn reads_what_bwa_writes() {
        let annotation = read_ann(ANN.as_bytes()).unwrap();
        assert_eq!(annotation.bases, 12);
        let sequences: Vec<_> = annotation.sequences.iter().map(|s| (&*s.name, s.length)).collect();
        assert_eq!(sequences, [("a", 8), ("b", 4)]);
        let holes = read_amb(AMB.as_bytes(), &annotation).unwrap();
        assert_eq!((holes.len(), holes[0].clone()), (1, 0..3));
        // Older bwa files: another seed, no comment.
        assert!(read_ann("4 1 7\n0 a\n0 4 0\n".as_bytes()).is_ok());
    }

    #[test]
    fn refuses_a_bad_ann() {
        let cases = [
            ("", 1, "ends before"),
            ("0 1 11\n", 1, "0 bases"),
            ("-4 1 11\n", 1, "expected the number"),
            ("4 1 11 x\n", 1, "nothing more"),
            ("999999999999 1 11\n", 1, "expected 1 to"),
            ("99999999999999999999 1 11\n", 1, "expected the number"),
            ("4 0 11\n", 1, "0 sequences"),
            ("4 9999999999 11\n", 1, "sequences: expected"),
            ("4 2 11\n0 a\n0 4 0\n", 4, "ends before"),
            ("4 1 11\nx a\n0 4 0\n", 2, "name of a sequence"),
            ("4 1 11\n0 \n0 4 0\n", 2, "name of a sequence"),
            ("4 1 11\n0 a\x01\n0 4 0\n", 2, "name of a sequence"),
            ("8 2 11\n0 a\n0 4 0\n0 a\n4 4 0\n", 4, "twice"),
            ("4 1 11\n0 a\n1 4 0\n", 3, "starts at 1"),
            ("8 2 11\n0 a\n0 4 0\n0 b\n3 4 0\n", 5, "starts at 3"),
            ("4 1 11\n0 a\n0 0 0\n", 3, "has 0 bases"),
            ("4 1 11\n0 a\n0 4294967300 0\n", 3, "bases"),
            ("4 1 11\n0 a\n0 4 5\n", 3, "more holes"),
            ("5 1 11\n0 a\n0 4 0\n", 3, "the header 5"),
            ("4 1 11\n0 a\n0 4 0\n0 b\n", 4, "after the last"),
            ("4 1 11\n0 a\n0 4 0", 3, "cut short"),
        ];
        for (text, line, problem) in cases {
            let (at, what) = line_of(read_ann(text.as_bytes()).unwrap_err());
            assert!(at == line && what.contains(problem), "{text:?}: line {at}: {what}");
        }
        let long = format!("4 1 11\n0 a {}\n0 4 0\n", "c".repeat(MAX_LINE_BYTES));
        assert_eq!(line_of(read_ann(long.as_bytes()).unwrap_err()).1, "line too long");
    }

    #[test]
    fn refuses_an_amb_that_is_not_of_this_ann() {
        let annotation = read_ann(ANN.as_bytes()).unwrap();
        let cases = [
            ("13 2 2\n", 1, ".ann says 12"),
            ("12 3 2\n", 1, ".ann says 12 in 2"),
            ("12 2 1\n0 2 N\n", 1, ".ann says 2"),
            ("12 2 2\n0 2 N\n", 3, "ends before"),
            ("12 2 2\n0 2 N\n1 1 n\n", 3, "out of place"),
            ("12 2 2\n0 2 N\n8 1 n\n", 3, "out of place"),
            ("12 2 2\n0 0 N\n2 1 n\n", 2, "out of place"),
            ("12 2 2\n0 2 N\n7 2 n\n", 3, "leaves a"),
            ("12 2 2\n0 2 NN\n2 1 n\n", 2, "expected offset"),
            ("12 2 2\n0 2\n2 1 n\n", 2, "expected offset"),
            ("12 2 2\n0 2 N x\n2 1 n\n", 2, "expected offset"),
            ("12 2 2\n0 2 N\n2 1 n\n3 1 n\n", 4, "after the last"),
            ("12 2 2\n0 2 N\n2 1 n", 3, "cut short"),
        ];
        for (text, line, problem) in cases {
            let (at, what) = line_of(read_amb(text.as_bytes(), &annotation).unwrap_err());
            assert!(at == line && what.contains(problem), "{text:?}: line {at}: {what}");
        }
    }

    #[test]
    fn alt_names() {
        let annotation = read_ann(ANN.as_bytes()).unwrap();
        let alt = |text: &str| read_alt(text.as_bytes(), &annotation).unwrap();
        assert_eq!(alt(""), [false, false]);
        assert_eq!(alt("b\n"), [false, true]);
        assert_eq!(alt("@a\nunknown\nb\t0\ta\r\n"), [false, true]);
        assert_eq!(alt("a\r\nb\t"), [true, true]);
        assert_eq!(alt("a"), [false, false]); // bwa needs the end of the field
        assert_eq!(alt(&format!("{}\na\n", "b".repeat(MAX_NAME_BYTES + 9))), [true, false]);
    }
}
