//! Introns as text: HISAT2's lists of splice sites, and annotations in GTF.
//!
//! * A splice site (HISAT2's manual, `--known-splicesite-infile`): sequence, last base of the exon
//!   on its left, first base of the exon on its right, both from 0, and the strand, with tabs.
//! * GTF (GTF2.2, Brent lab): nine fields with tabs. Introns are between the rows `exon` of one
//!   `transcript_id` on one sequence and strand, whatever their order is. Exons are from 1, with
//!   their last base.
//!
//! Which of both a text is, its first row shows. Empty lines and comments (`#`) are skipped.

use std::collections::HashMap;

/// An intron of a named sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KnownIntron {
    /// Number of the sequence.
    pub sequence: u32,
    /// Its first base, from 0.
    pub start: u32,
    /// One past its last base.
    pub end: u32,
    /// Whether its transcript is on the reverse strand, if that is said.
    pub is_reverse: Option<bool>,
}

/// Problem of a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntronError {
    /// Neither of both formats.
    #[error(
        "has {fields} fields: a splice site has 4 with tabs (sequence, last base of the left exon, \
         first base of the right exon, strand), and a row of GTF 9"
    )]
    Fields {
        /// Fields there are.
        fields: usize,
    },
    /// A position that is none.
    #[error("{text:?} is not a position")]
    Position {
        /// The field.
        text: String,
    },
    /// A strand that is none.
    #[error("{text:?} is not a strand; it is +, - or .")]
    Strand {
        /// The field.
        text: String,
    },
    /// An end before its start.
    #[error("ends at {end}, before its start, {start}")]
    Backwards {
        /// As it is written.
        start: u64,
        /// As it is written.
        end: u64,
    },
    /// Past the end of the sequence.
    #[error("reaches {end} of {name}, which has {length} bases")]
    Beyond {
        /// The sequence.
        name: String,
        /// As it is written.
        end: u64,
        /// Bases of the sequence.
        length: u32,
    },
    /// An exon without its transcript.
    #[error("is an exon without transcript_id")]
    NoTranscript,
    /// GFF3, whose rows have other attributes.
    #[error(
        "says that this is GFF3, which is not read; `gffread -T FILE -o new.gtf` makes GTF of it"
    )]
    Gff3,
    /// Two exons of a transcript have bases in common.
    #[error("is an exon of {transcript} that overlaps the one of line {other}")]
    Overlap {
        /// The transcript.
        transcript: String,
        /// Line of the other one, from 1.
        other: u64,
    },
}

/// An exon, with its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Exon {
    start: u32,
    end: u32,
    line: u64,
}

/// Exons of a transcript are those with one of these.
type TranscriptKey = (u32, Option<bool>, Vec<u8>);

/// A sequence that rows may name.
#[derive(Debug, Clone, Copy)]
struct KnownSequence {
    number: u32,
    length_bp: u32,
}

/// Introns that rows have reported.
#[derive(Debug, Default)]
pub struct IntronRows {
    sequences: HashMap<Vec<u8>, KnownSequence>,
    is_gtf: Option<bool>,
    introns: Vec<KnownIntron>,
    transcripts: HashMap<TranscriptKey, Vec<Exon>>,
    /// Exons of GTF.
    exons: u64,
    /// Rows on sequences that are known.
    pub rows: u64,
    /// Rows on others.
    pub elsewhere: u64,
    /// The first of these others.
    pub first_elsewhere: Option<String>,
}

/// Introns of a transcript with fewer bases are gaps of its model, as HISAT2 takes them.
const LEAST_GAP: u32 = 6;

impl IntronRows {
    /// For sequences with these names and lengths.
    #[must_use]
    pub fn new<'a>(sequences: impl Iterator<Item = (&'a str, u32)>) -> Self {
        let sequences = sequences.enumerate();
        let entry = |(number, (name, length_bp)): (usize, (&str, u32))| {
            (name.as_bytes().to_vec(), KnownSequence { number: number as u32, length_bp })
        };
        Self { sequences: sequences.map(entry).collect(), ..Self::default() }
    }

    /// Takes a line.
    ///
    /// # Errors
    /// The problem.
    pub fn line(&mut self, text: &[u8], number: u64) -> Result<(), IntronError> {
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.starts_with(b"##gff-version") && text.ends_with(b"3") {
            return Err(IntronError::Gff3);
        }
        if text.is_empty() || text.starts_with(b"#") {
            return Ok(());
        }
        let fields: Vec<&[u8]> = text.split(|&byte| byte == b'\t').collect();
        let is_gtf = *self.is_gtf.get_or_insert(fields.len() >= 8);
        match (is_gtf, &fields[..]) {
            (true, &[name, _, feature, start, end, _, strand, _, attributes]) => {
                if feature != b"exon" {
                    return Ok(());
                }
                self.exon(name, [start, end, strand], attributes, number)
            }
            (false, &[name, left, right, strand]) => self.site(name, [left, right, strand]),
            _ => Err(IntronError::Fields { fields: fields.len() }),
        }
    }

    /// Whether this was GTF without a row of an exon, of which no intron can be made.
    #[must_use]
    pub fn lacks_exons(&self) -> bool {
        self.is_gtf == Some(true) && self.exons == 0
    }

    /// A sequence, if it is known.
    fn sequence(&mut self, name: &[u8]) -> Option<KnownSequence> {
        let found = self.sequences.get(name).copied();
        if found.is_some() {
            self.rows += 1;
        } else {
            self.elsewhere += 1;
            self.first_elsewhere.get_or_insert_with(|| String::from_utf8_lossy(name).into_owned());
        }
        found
    }

    fn site(&mut self, name: &[u8], fields: [&[u8]; 3]) -> Result<(), IntronError> {
        let [left, right, strand] = fields;
        let (left, right, is_reverse) = (position(left)?, position(right)?, strand_of(strand)?);
        if right <= left + 1 {
            return Err(IntronError::Backwards { start: left, end: right });
        }
        let Some(KnownSequence { number: sequence, length_bp }) = self.sequence(name) else {
            return Ok(());
        };
        let (start, end) = (within(name, left + 1, length_bp)?, within(name, right, length_bp)?);
        // The exon on the right has a base.
        within(name, right + 1, length_bp)?;
        self.introns.push(KnownIntron { sequence, start, end, is_reverse });
        Ok(())
    }

    fn exon(
        &mut self,
        name: &[u8],
        fields: [&[u8]; 3],
        attributes: &[u8],
        line: u64,
    ) -> Result<(), IntronError> {
        let [start, end, strand] = fields;
        let (first, last, is_reverse) = (position(start)?, position(end)?, strand_of(strand)?);
        if first == 0 {
            return Err(IntronError::Position { text: "0".to_owned() });
        }
        if last < first {
            return Err(IntronError::Backwards { start: first, end: last });
        }
        let lacks = || match is_gff3(attributes) {
            true => IntronError::Gff3,
            false => IntronError::NoTranscript,
        };
        let transcript = transcript_id(attributes).ok_or_else(lacks)?.to_vec();
        self.exons += 1;
        let Some(KnownSequence { number: sequence, length_bp }) = self.sequence(name) else {
            return Ok(());
        };
        let (start, end) = (within(name, first - 1, length_bp)?, within(name, last, length_bp)?);
        let exons = self.transcripts.entry((sequence, is_reverse, transcript)).or_default();
        exons.push(Exon { start, end, line });
        Ok(())
    }

    /// The introns in order, each once.
    ///
    /// # Errors
    /// The line of an exon that overlaps another one of its transcript, and what is wrong with it.
    pub fn finish(self) -> Result<Vec<KnownIntron>, (u64, IntronError)> {
        let mut introns = self.introns;
        let mut overlap: Option<(u64, IntronError)> = None;
        for ((sequence, is_reverse, transcript), mut exons) in self.transcripts {
            exons.sort_unstable();
            for two in exons.windows(2) {
                let (start, end) = (two[0].end, two[1].start);
                if end < start {
                    let [line, other] =
                        [two[0].line.max(two[1].line), two[0].line.min(two[1].line)];
                    if overlap.as_ref().is_none_or(|it| line < it.0) {
                        let transcript = String::from_utf8_lossy(&transcript).into_owned();
                        overlap = Some((line, IntronError::Overlap { transcript, other }));
                    }
                } else if end - start >= LEAST_GAP {
                    introns.push(KnownIntron { sequence, start, end, is_reverse });
                }
            }
        }
        if let Some(overlap) = overlap {
            return Err(overlap);
        }
        introns.sort_unstable();
        introns.dedup();
        Ok(introns)
    }
}

fn position(text: &[u8]) -> Result<u64, IntronError> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    let number = number.filter(|it: &u64| *it < 1 << 40);
    number.ok_or_else(|| IntronError::Position { text: String::from_utf8_lossy(text).into_owned() })
}

fn strand_of(text: &[u8]) -> Result<Option<bool>, IntronError> {
    match text {
        b"+" => Ok(Some(false)),
        b"-" => Ok(Some(true)),
        b"." => Ok(None),
        _ => Err(IntronError::Strand { text: String::from_utf8_lossy(text).into_owned() }),
    }
}

/// `end`, if the sequence has so many bases.
fn within(name: &[u8], end: u64, length: u32) -> Result<u32, IntronError> {
    let inside = u32::try_from(end).ok().filter(|it| *it <= length);
    inside.ok_or_else(|| {
        let name = String::from_utf8_lossy(name).into_owned();
        IntronError::Beyond { name, end, length }
    })
}

/// The value of `transcript_id`, with or without quotation marks.
fn transcript_id(attributes: &[u8]) -> Option<&[u8]> {
    attributes.split(|&byte| byte == b';').find_map(|attribute| {
        let value = attribute.trim_ascii().strip_prefix(b"transcript_id")?;
        let value = value.strip_prefix(b" ")?.trim_ascii();
        let value =
            value.strip_prefix(b"\"").and_then(|it| it.strip_suffix(b"\"")).unwrap_or(value);
        (!value.is_empty()).then_some(value)
    })
}

/// Whether attributes are those of GFF3, `key=value` with `;` between them.
fn is_gff3(attributes: &[u8]) -> bool {
    let first = attributes.split(|&byte| byte == b';').next().unwrap_or_default();
    let mut sides = first.splitn(2, |&byte| byte == b'=');
    let key = sides.next().unwrap_or_default();
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    sides.next().is_some() && !key.is_empty() && key.iter().all(is_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gff3_is_named_and_gtf_without_exons_is_known() {
        let gff3 = |text: &str| assert_eq!(read(text).unwrap_err().1, IntronError::Gff3, "{text}");
        gff3("##gff-version 3\na\tx\tgene\t1\t9\t.\t+\t.\tID=g\n");
        gff3("##gff-version\t3\r\n");
        gff3("a\tx\texon\t1\t9\t.\t+\t.\tID=e;Parent=t\n");
        gff3("a\tx\texon\t1\t9\t.\t+\t.\tParent=t\n");
        let none = "a\tx\texon\t1\t9\t.\t+\t.\tgene_id \"a=b\";\n";
        assert_eq!(read(none).unwrap_err().1, IntronError::NoTranscript);
        let lacks = |text: &str| {
            let mut rows = IntronRows::new([("a", 100)].into_iter());
            let mut lines = (1..).zip(text.lines());
            lines.try_for_each(|(at, line)| rows.line(line.as_bytes(), at)).unwrap();
            rows.lacks_exons()
        };
        assert!(lacks("#!x\na\tx\tCDS\t1\t9\t.\t+\t.\ttranscript_id \"t\";\n"));
        assert!(!lacks("b\tx\texon\t1\t9\t.\t+\t.\ttranscript_id \"t\";\n"));
        assert!(!lacks("##gff-version 2\n"));
        assert!(!lacks("a\t1\t5\t+\n"));
        assert!(!lacks(""));
    }

    fn read(text: &str) -> Result<Vec<KnownIntron>, (u64, IntronError)> {
        let mut rows = IntronRows::new([("a", 100), ("b", 1000)].into_iter());
        for (at, line) in text.lines().enumerate() {
            let number = at as u64 + 1;
            rows.line(line.as_bytes(), number).map_err(|error| (number, error))?;
        }
        rows.finish()
    }

    fn intron(sequence: u32, start: u32, end: u32, is_reverse: Option<bool>) -> KnownIntron {
        KnownIntron { sequence, start, end, is_reverse }
    }

    #[test]
    fn introns_come_from_sites_and_from_exons_in_any_order() {
        let t = |text, expected: &[KnownIntron]| assert_eq!(read(text).unwrap(), expected);
        t("", &[]);
        t("# nothing\n\n", &[]);
        let both = [intron(0, 10, 50, Some(false)), intron(1, 10, 999, None)];
        t("b\t9\t999\t.\nx\t1\t7\t+\na\t9\t50\t+\r\na\t9\t50\t+\n", &both);
        let row = |name, start, end, strand, id| {
            format!("{name}\tsource\texon\t{start}\t{end}\t.\t{strand}\t.\tgene_id \"g\"; {id};\n")
        };
        let text = [
            row("a", 51, 60, "-", "transcript_id \"t\""),
            row("a", 1, 10, "-", "transcript_id \"t\""),
            // Another strand is another transcript; a gap of five bases is none.
            row("a", 16, 20, "+", "transcript_id t"),
            row("a", 1, 10, "+", "transcript_id t"),
            "a\tsource\tgene\t1\t1000\t.\t-\t.\tgene_id \"g\"\n".to_owned(),
        ];
        t(&text.concat(), &[intron(0, 10, 50, Some(true))]);
    }

    #[test]
    fn rows_that_make_no_sense_are_named() {
        let t = |text: &str, line, problem: &str| {
            let (at, error) = read(text).unwrap_err();
            assert_eq!(at, line, "{text}");
            assert!(error.to_string().contains(problem), "{error}");
        };
        t("a\t9\t50\n", 1, "3 fields");
        t("a\t9\t50\t+\na b c\n", 2, "1 fields");
        t("a\tx\t50\t+\n", 1, "\"x\" is not a position");
        t("a\t9\t-5\t+\n", 1, "\"-5\" is not a position");
        t("a\t9\t50\t*\n", 1, "not a strand");
        t("a\t50\t50\t+\n", 1, "before its start");
        t("a\t50\t51\t+\n", 1, "before its start");
        t("a\t50\t100\t+\n", 1, "which has 100 bases");
        t("a\t50\t99999999999999999999\t+\n", 1, "not a position");
        let exon = |start, end, id| format!("a\t.\texon\t{start}\t{end}\t.\t+\t.\t{id}\n");
        t(&exon(5, 4, "transcript_id \"t\""), 1, "before its start");
        t(&exon(0, 4, "transcript_id \"t\""), 1, "not a position");
        t(&exon(1, 101, "transcript_id \"t\""), 1, "reaches 101 of a");
        t(&exon(1, 4, "gene_id \"t\""), 1, "without transcript_id");
        let overlapping = [exon(1, 40, "transcript_id t"), exon(30, 60, "transcript_id t")];
        t(&overlapping.concat(), 2, "overlaps the one of line 1");
    }
}
