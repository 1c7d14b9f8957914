//! The table of methylation calls: one line per group of sites and read.
//!
//! Written as nanopolish 0.14 and f5c 1.x write it (positions 0-based, of the first bases of the
//! first and the last site of the group, likelihoods with two decimals), or with the columns of f5c
//! before 1.0. Read by the names of the columns, as nanopolish's own script does, so that both
//! programs' tables of any version serve.

use super::GroupCall;
use crate::aligned_read::AlignedRead;
use crate::eventalign::decimal::{push_fixed_double, push_integer};
use crate::hmm::kmers::lowest_base;

/// Columns of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TableFormat {
    /// nanopolish 0.14, and f5c from 1.0 on: with strand, and `num_motifs`.
    #[default]
    Nanopolish,
    /// f5c before 1.0 (`--meth-out-version=1` since): no strand, and `num_cpgs`.
    F5c,
}

impl TableFormat {
    /// The header line, with its newline.
    #[must_use]
    pub fn header(self) -> &'static str {
        match self {
            Self::Nanopolish => {
                "chromosome\tstrand\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\t\
                 log_lik_unmethylated\tnum_calling_strands\tnum_motifs\tsequence\n"
            }
            Self::F5c => {
                "chromosome\tstart\tend\tread_name\tlog_lik_ratio\tlog_lik_methylated\t\
                 log_lik_unmethylated\tnum_calling_strands\tnum_cpgs\tsequence\n"
            }
        }
    }
}

/// Appends the lines of the calls of one read. Ambiguous bases of the reference are written as the
/// base that they were taken for.
pub(crate) fn append_calls(
    format: TableFormat,
    read: &AlignedRead<'_>,
    calls: &[GroupCall],
    out: &mut Vec<u8>,
) {
    for call in calls {
        let row = CallRow {
            chromosome: read.contig,
            is_reverse: Some(read.is_reverse),
            start: call.first,
            end: call.last,
            read_name: read.name,
            log_lik_ratio: call.log_lik_methylated - call.log_lik_unmethylated,
            log_lik_methylated: call.log_lik_methylated,
            log_lik_unmethylated: call.log_lik_unmethylated,
            calling_strands: 1,
            motif_count: call.motif_count,
            sequence: &[],
        };
        append_fields(format, &row, out);
        let context = call.context_start as usize..call.context_end as usize;
        let context = read.reference.get(context).unwrap_or_default();
        out.extend(context.iter().copied().map(lowest_base));
        out.push(b'\n');
    }
}

/// One line of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallRow<'a> {
    /// Name of the reference sequence.
    pub chromosome: &'a [u8],
    /// Strand of the read's alignment, where the table has it.
    pub(crate) is_reverse: Option<bool>,
    /// Position of the group's first site, 0-based.
    pub start: u64,
    /// Position of its last site.
    pub end: u64,
    /// Name of the read; empty where the table has none.
    pub read_name: &'a [u8],
    /// Natural log-likelihood ratio, methylated over unmethylated.
    pub log_lik_ratio: f64,
    /// Natural log-likelihood of the group methylated; 0 where the table has none.
    pub(crate) log_lik_methylated: f64,
    /// And unmethylated.
    pub(crate) log_lik_unmethylated: f64,
    /// Strands that were called (1 but for 2D reads); 1 where the table does not say.
    pub(crate) calling_strands: u32,
    /// Sites in the group.
    pub motif_count: u32,
    /// The group on the reference, with flanks.
    pub sequence: &'a [u8],
}

/// Appends a line.
pub fn append_row(format: TableFormat, row: &CallRow<'_>, out: &mut Vec<u8>) {
    append_fields(format, row, out);
    out.extend_from_slice(row.sequence);
    out.push(b'\n');
}

/// Appends all but the last field of a line.
fn append_fields(format: TableFormat, row: &CallRow<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(row.chromosome);
    if format == TableFormat::Nanopolish {
        let strand = if row.is_reverse.unwrap_or_default() { b"\t-" } else { b"\t+" };
        out.extend_from_slice(strand);
    }
    for position in [row.start, row.end] {
        out.push(b'\t');
        push_integer(out, position);
    }
    out.push(b'\t');
    out.extend_from_slice(row.read_name);
    for value in [row.log_lik_ratio, row.log_lik_methylated, row.log_lik_unmethylated] {
        out.push(b'\t');
        push_fixed_double(out, value, 2);
    }
    for count in [row.calling_strands, row.motif_count] {
        out.push(b'\t');
        push_integer(out, count.into());
    }
    out.push(b'\t');
}

/// Why a line is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The header lacks a column.
    #[error(
        "has no column {0}: the first line of a table of methylation calls names its columns, as \
         nanopolish and f5c write it"
    )]
    NoColumn(&'static str),
    /// The header names a column twice.
    #[error("names the column {0} twice")]
    ColumnTwice(&'static str),
    /// A line with more or fewer fields than the header.
    #[error("has {found} fields where the header has {expected}; is the file cut short?")]
    FieldCount {
        /// Columns of the header.
        expected: usize,
        /// Fields of the line.
        found: usize,
    },
    /// A field that is not what its column holds.
    #[error("{column} is {text:?}, not {required}")]
    BadField {
        /// The column.
        column: &'static str,
        /// The field.
        text: String,
        /// Expected value.
        required: &'static str,
    },
    /// A group that ends before it starts.
    #[error("end {end} is before start {start}")]
    Reversed {
        /// First C.
        start: u64,
        /// Last C.
        end: u64,
    },
}

/// Columns that are read, in the order of [`Field`].
const NAMES: [&str; 11] = [
    "chromosome",
    "strand",
    "start",
    "end",
    "read_name",
    "log_lik_ratio",
    "log_lik_methylated",
    "log_lik_unmethylated",
    "num_calling_strands",
    "num_motifs",
    "sequence",
];

/// Columns without which there is nothing to count.
const REQUIRED: [Field; 6] = [
    Field::Chromosome,
    Field::Start,
    Field::End,
    Field::LogLikRatio,
    Field::MotifCount,
    Field::Sequence,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Chromosome,
    Strand,
    Start,
    End,
    ReadName,
    LogLikRatio,
    LogLikMethylated,
    LogLikUnmethylated,
    CallingStrands,
    MotifCount,
    Sequence,
}

/// Columns of a table, by its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Of each field of a line, which of [`NAMES`] it is.
    fields: Vec<Option<usize>>,
    /// Whether the column of site numbers is called `num_cpgs`, as f5c's is.
    pub(crate) counts_cpgs: bool,
}

impl Columns {
    /// Reads the header line. Columns that are not known are not read.
    ///
    /// # Errors
    /// A [`TableError`]: a column is missing or there twice.
    pub fn parse(line: &[u8]) -> Result<Self, TableError> {
        let mut counts_cpgs = false;
        let mut fields = Vec::new();
        for name in fields_of(line) {
            let is_cpgs = name == b"num_cpgs";
            counts_cpgs |= is_cpgs;
            let known = if is_cpgs {
                Some(Field::MotifCount as usize)
            } else {
                NAMES.iter().position(|known| known.as_bytes() == name)
            };
            if let Some(known) = known.filter(|known| fields.contains(&Some(*known))) {
                return Err(TableError::ColumnTwice(NAMES[known]));
            }
            fields.push(known);
        }
        match REQUIRED.iter().find(|&&it| !fields.contains(&Some(it as usize))) {
            Some(&missing) => Err(TableError::NoColumn(NAMES[missing as usize])),
            None => Ok(Self { fields, counts_cpgs }),
        }
    }

    /// Reads a line, without its newline.
    ///
    /// # Errors
    /// A [`TableError`] that names the column.
    pub fn row<'a>(&self, line: &'a [u8]) -> Result<CallRow<'a>, TableError> {
        let mut texts: [Option<&[u8]>; NAMES.len()] = [None; NAMES.len()];
        let mut found = 0;
        for text in fields_of(line) {
            if let Some(Some(known)) = self.fields.get(found) {
                texts[*known] = Some(text);
            }
            found += 1;
        }
        if found != self.fields.len() {
            return Err(TableError::FieldCount { expected: self.fields.len(), found });
        }
        let text = |field: Field| texts[field as usize];
        let row = CallRow {
            chromosome: non_empty(Field::Chromosome, text(Field::Chromosome))?,
            is_reverse: text(Field::Strand).map(strand).transpose()?,
            start: position(Field::Start, text(Field::Start))?,
            end: position(Field::End, text(Field::End))?,
            read_name: text(Field::ReadName).unwrap_or_default(),
            log_lik_ratio: real(Field::LogLikRatio, text(Field::LogLikRatio))?,
            log_lik_methylated: real(Field::LogLikMethylated, text(Field::LogLikMethylated))?,
            log_lik_unmethylated: real(Field::LogLikUnmethylated, text(Field::LogLikUnmethylated))?,
            calling_strands: count(Field::CallingStrands, text(Field::CallingStrands))?,
            motif_count: count(Field::MotifCount, text(Field::MotifCount))?,
            sequence: non_empty(Field::Sequence, text(Field::Sequence))?,
        };
        if row.end < row.start {
            return Err(TableError::Reversed { start: row.start, end: row.end });
        }
        Ok(row)
    }
}

/// The fields of a line, which may end as DOS ends it.
fn fields_of(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.strip_suffix(b"\r").unwrap_or(line).split(|&byte| byte == b'\t')
}

fn bad(field: Field, text: &[u8], required: &'static str) -> TableError {
    let shown = text.get(..40).unwrap_or(text);
    let text = String::from_utf8_lossy(shown).into_owned();
    TableError::BadField { column: NAMES[field as usize], text, required }
}

fn non_empty(field: Field, text: Option<&[u8]>) -> Result<&[u8], TableError> {
    let text = text.unwrap_or_default();
    if text.is_empty() { Err(bad(field, text, "a name")) } else { Ok(text) }
}

fn strand(text: &[u8]) -> Result<bool, TableError> {
    match text {
        b"+" => Ok(false),
        b"-" => Ok(true),
        _ => Err(bad(Field::Strand, text, "+ or -")),
    }
}

/// The number that `text` is in whole, digits only.
fn whole(text: &[u8]) -> Option<u64> {
    let is_number = text.first().is_some_and(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

fn position(field: Field, text: Option<&[u8]>) -> Result<u64, TableError> {
    // What follows from a position (an end, a site within the group) must not overflow.
    const LAST: u64 = i64::MAX as u64;
    let text = text.unwrap_or_default();
    whole(text).filter(|&it| it < LAST).ok_or_else(|| bad(field, text, "a position from 0 on"))
}

/// A count; 1 where the table has no such column.
fn count(field: Field, text: Option<&[u8]>) -> Result<u32, TableError> {
    let Some(text) = text else { return Ok(1) };
    let number = whole(text).and_then(|it| u32::try_from(it).ok());
    number.ok_or_else(|| bad(field, text, "a number from 0 on"))
}

/// A number; 0 where the table has no such column. A ratio that is none could only be counted
/// wrong.
fn real(field: Field, text: Option<&[u8]>) -> Result<f64, TableError> {
    let Some(text) = text else { return Ok(0.0) };
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
    number.filter(|it| it.is_finite()).ok_or_else(|| bad(field, text, "a finite number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &[u8] = b"c1\t-\t100\t104\tr\t-2.35\t-10.00\t-7.65\t1\t2\tAACGTACGTT";

    fn columns(format: TableFormat) -> Columns {
        Columns::parse(format.header().trim_end().as_bytes()).unwrap()
    }

    #[test]
    fn calls_are_written_as_nanopolish_does() {
        let read = AlignedRead {
            name: b"r",
            contig: b"c1",
            start: 90,
            is_reverse: true,
            sequence: b"",
            reference: b"TTTTTTTTAACGTRCGTTTT",
            pairs: &[],
        };
        let call = GroupCall {
            first: 100,
            last: 104,
            motif_count: 2,
            log_lik_methylated: -10.0,
            log_lik_unmethylated: -7.652,
            context_start: 8,
            context_end: 18,
        };
        let mut out = Vec::new();
        append_calls(TableFormat::Nanopolish, &read, &[call], &mut out);
        assert_eq!(out, [ROW, b"\n"].concat());
        out.clear();
        append_calls(TableFormat::F5c, &read, &[call], &mut out);
        assert_eq!(out, b"c1\t100\t104\tr\t-2.35\t-10.00\t-7.65\t1\t2\tAACGTACGTT\n");
        // A context outside of the slice is a bug of the caller, but no panic.
        out.clear();
        append_calls(TableFormat::F5c, &read, &[GroupCall { context_end: 99, ..call }], &mut out);
        assert!(out.ends_with(b"\t1\t2\t\n"));
    }

    #[test]
    fn numbers_round_as_in_c() {
        let t = |value: f64, expected: &str| {
            let row = CallRow { log_lik_ratio: value, sequence: b"A", ..CallRow::default() };
            let mut out = Vec::new();
            append_row(TableFormat::F5c, &row, &mut out);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.split('\t').nth(4).unwrap(), expected);
        };
        t(0.125, "0.12");
        t(0.375, "0.38");
        t(-0.001, "-0.00");
        t(2.675, "2.67");
        t(1e9, "1000000000.00");
    }

    #[test]
    fn lines_of_both_formats_are_read() {
        let row = columns(TableFormat::Nanopolish).row(ROW).unwrap();
        let expected = CallRow {
            chromosome: b"c1",
            is_reverse: Some(true),
            start: 100,
            end: 104,
            read_name: b"r",
            log_lik_ratio: -2.35,
            log_lik_methylated: -10.0,
            log_lik_unmethylated: -7.65,
            calling_strands: 1,
            motif_count: 2,
            sequence: b"AACGTACGTT",
        };
        assert_eq!(row, expected);
        let f5c = columns(TableFormat::F5c);
        assert!(f5c.counts_cpgs && !columns(TableFormat::Nanopolish).counts_cpgs);
        let line = b"c1\t100\t104\tr\t-2.35\t-10.00\t-7.65\t1\t2\tAACGTACGTT\r";
        assert_eq!(f5c.row(line).unwrap(), CallRow { is_reverse: None, ..expected });
        // Any order, unknown columns, and only what is needed.
        let few = Columns::parse(b"x\tsequence\tnum_motifs\tlog_lik_ratio\tend\tstart\tchromosome");
        let row = few.unwrap().row(b"?\tACG\t1\t1e1\t7\t7\tc").unwrap();
        assert_eq!((row.start, row.log_lik_ratio, row.calling_strands), (7, 10.0, 1));
    }

    #[test]
    fn headers_that_are_none_are_refused() {
        let t = |line: &[u8], expected| assert_eq!(Columns::parse(line), Err(expected));
        t(b"", TableError::NoColumn("chromosome"));
        t(ROW, TableError::NoColumn("chromosome"));
        t(b"chromosome\tstart\tend\tlog_lik_ratio\tsequence", TableError::NoColumn("num_motifs"));
        t(b"chromosome\tstart\tstart", TableError::ColumnTwice("start"));
        t(b"num_cpgs\tnum_motifs", TableError::ColumnTwice("num_motifs"));
    }

    #[test]
    fn malformed_lines_are_refused() {
        let t = |from: &str, to: &str, expected: &str| {
            let line = String::from_utf8(ROW.to_vec()).unwrap().replacen(from, to, 1);
            let error = columns(TableFormat::Nanopolish).row(line.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        t("\tAACGTACGTT", "", "has 10 fields where the header has 11");
        t("AACGTACGTT", "A\tC", "has 12 fields");
        t("AACGTACGTT", "", "sequence is \"\"");
        t("c1", "", "chromosome is \"\"");
        t("\t-\t", "\t.\t", "strand is \".\"");
        t("100", "-1", "start is \"-1\"");
        t("100", "+1", "start is \"+1\"");
        t("100", "9223372036854775807", "not a position");
        t("104", "1e2", "end is \"1e2\"");
        t("104", "99", "end 99 is before start 100");
        t("-2.35", "nan", "log_lik_ratio is \"nan\", not a finite number");
        t("-2.35", "-inf", "log_lik_ratio is \"-inf\"");
        t("-2.35", "", "log_lik_ratio is \"\"");
        t("-7.65", "x", "log_lik_unmethylated is \"x\"");
        t("\t2\t", "\t4294967296\t", "num_motifs is \"4294967296\"");
        t("\t2\t", "\t \t", "num_motifs is \" \"");
    }
}
