//! Two SAM streams of the same reads in the same order, record by record.
//!
//! Records of a template are matched by read number, by kind (primary, secondary, supplementary)
//! and by their order within those; then the columns and the chosen tags are compared. Memory
//! holds one template of each stream, so streams of any length can be compared.

use crate::Error;
use crate::sam::{COLUMNS, SamRecord, Templates, flag, lossy};
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

/// What counts as a difference.
#[derive(Debug, Clone)]
pub struct CompareOptions {
    /// FLAG bits that are not compared.
    pub ignore_flag: u16,
    /// Tags that are compared; a tag that only one side has is a difference.
    pub tags: Vec<[u8; 2]>,
    /// Columns that are not compared (names as in [`COLUMNS`]).
    pub ignore_columns: Vec<String>,
    /// How many examples to keep.
    pub examples: usize,
}

impl Default for CompareOptions {
    /// Everything that bwa mem writes is compared.
    fn default() -> CompareOptions {
        let tags = ["NM", "MD", "AS", "XS", "SA", "XA", "MC"];
        CompareOptions {
            ignore_flag: 0,
            tags: tags.map(|t| [t.as_bytes()[0], t.as_bytes()[1]]).to_vec(),
            ignore_columns: Vec::new(),
            examples: 5,
        }
    }
}

/// Counts over one class of records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that both sides have.
    pub compared: u64,
    /// Of those, records that differ in at least one field.
    pub differing: u64,
    /// Records that only the first stream has.
    pub only_in_first: u64,
    /// Records that only the second stream has.
    pub only_in_second: u64,
    /// Differing records by field; a record counts once in each field that differs.
    pub fields: BTreeMap<String, u64>,
    /// Differing records by the set of fields that differ (`POS+CIGAR+NM`).
    pub kinds: BTreeMap<String, u64>,
}

impl Counts {
    /// No difference of any kind.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differing == 0 && self.only_in_first == 0 && self.only_in_second == 0
    }
}

/// A differing record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The fields that differ, joined by `+`; `record` when one side has none.
    pub kind: String,
    /// The first stream's line, or empty.
    pub first: String,
    /// The second stream's line, or empty.
    pub second: String,
}

/// The result of a comparison. [`fmt::Display`] gives a table to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Templates in both streams.
    pub templates: u64,
    /// Primary records.
    pub primary: Counts,
    /// Secondary and supplementary records.
    pub other: Counts,
    /// Templates whose records come in another order.
    pub reordered: u64,
    /// The first few differences.
    pub examples: Vec<Example>,
}

impl Comparison {
    /// Equal in every compared field of every record, and in order.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.primary.is_equal() && self.other.is_equal() && self.reordered == 0
    }
}

/// Compares two SAM streams whose templates come in the same order.
///
/// # Errors
/// A stream cannot be read, a line is no record, or the templates are out of step.
pub fn compare(
    first: impl BufRead,
    second: impl BufRead,
    options: &CompareOptions,
) -> Result<Comparison, Error> {
    let mut first = Templates::new(first, "first stream");
    let mut second = Templates::new(second, "second stream");
    let mut out = Comparison::default();
    loop {
        let more = (first.advance()?, second.advance()?);
        match more {
            (false, false) => return Ok(out),
            (true, true) if first.name() == second.name() => {}
            _ => {
                let name =
                    |has: bool, name: &[u8]| if has { lossy(name) } else { "the end".into() };
                let (a, b) = (name(more.0, first.name()), name(more.1, second.name()));
                let at = format!("after {} common templates", out.templates);
                return Err(Error::format("streams", format!("out of step {at}: {a} against {b}")));
            }
        }
        out.templates += 1;
        template(&mut out, options, &first.records()?, &second.records()?);
    }
}

/// Read number and kind: what two records must share to be compared.
fn slot(record: &SamRecord<'_>) -> u16 {
    record.flag & (flag::FIRST | flag::SECOND | flag::SECONDARY | flag::SUPPLEMENTARY)
}

fn template(
    out: &mut Comparison,
    options: &CompareOptions,
    first: &[SamRecord<'_>],
    second: &[SamRecord<'_>],
) {
    if first.iter().map(slot).eq(second.iter().map(slot)) {
        for (a, b) in first.iter().zip(second) {
            record(out, options, a, b);
        }
        return;
    }
    let mut unmatched: Vec<&SamRecord<'_>> = second.iter().collect();
    let mut missing = false;
    for a in first {
        match unmatched.iter().position(|b| slot(b) == slot(a)) {
            Some(at) => record(out, options, a, unmatched.remove(at)),
            None => {
                missing = true;
                counts(out, a).only_in_first += 1;
                example(out, options, "record", Some(a), None);
            }
        }
    }
    missing |= !unmatched.is_empty();
    for b in unmatched {
        counts(out, b).only_in_second += 1;
        example(out, options, "record", None, Some(b));
    }
    out.reordered += u64::from(!missing);
}

fn counts<'a>(out: &'a mut Comparison, record: &SamRecord<'_>) -> &'a mut Counts {
    if record.is_primary() { &mut out.primary } else { &mut out.other }
}

fn record(out: &mut Comparison, options: &CompareOptions, a: &SamRecord<'_>, b: &SamRecord<'_>) {
    let fields = differences(options, a, b);
    let counts = counts(out, a);
    counts.compared += 1;
    if fields.is_empty() {
        return;
    }
    counts.differing += 1;
    let kind = fields.join("+");
    for field in fields {
        *counts.fields.entry(field).or_default() += 1;
    }
    *counts.kinds.entry(kind.clone()).or_default() += 1;
    example(out, options, &kind, Some(a), Some(b));
}

/// Names of the fields in which two records differ.
fn differences(o: &CompareOptions, a: &SamRecord<'_>, b: &SamRecord<'_>) -> Vec<String> {
    let mut fields = Vec::new();
    if (a.flag ^ b.flag) & !o.ignore_flag != 0 {
        fields.push(COLUMNS[1].to_owned());
    }
    for i in (0..11).filter(|&i| i != 1) {
        if a.columns[i] != b.columns[i] && !o.ignore_columns.iter().any(|c| c == COLUMNS[i]) {
            fields.push(COLUMNS[i].to_owned());
        }
    }
    if a.tags != b.tags {
        let differ = o.tags.iter().filter(|&&t| a.tag(t) != b.tag(t));
        fields.extend(differ.map(|t| lossy(t)));
    }
    fields
}

fn example(
    out: &mut Comparison,
    options: &CompareOptions,
    kind: &str,
    first: Option<&SamRecord<'_>>,
    second: Option<&SamRecord<'_>>,
) {
    if out.examples.len() >= options.examples {
        return;
    }
    let line = |record: Option<&SamRecord<'_>>| {
        record.map_or(String::new(), |r| lossy(&[&r.columns.join(&b'\t')[..], r.tags].join(&b'\t')))
    };
    out.examples.push(Example { kind: kind.into(), first: line(first), second: line(second) });
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "templates {}, in another order {}", self.templates, self.reordered)?;
        for (name, c) in [("primary", &self.primary), ("other", &self.other)] {
            let share = 100.0 * c.differing as f64 / c.compared.max(1) as f64;
            writeln!(
                f,
                "{name}: compared {}, differing {} ({share:.4} %), only first {}, only second {}",
                c.compared, c.differing, c.only_in_first, c.only_in_second
            )?;
            for (field, n) in &c.fields {
                writeln!(f, "  field {field}\t{n}")?;
            }
            let mut kinds: Vec<_> = c.kinds.iter().collect();
            kinds.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
            for (kind, n) in kinds.iter().take(20) {
                writeln!(f, "  kind {kind}\t{n}")?;
            }
        }
        for e in &self.examples {
            writeln!(f, "example {}\n  < {}\n  > {}", e.kind, e.first, e.second)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "@HD\tVN:1.6\n\
        r1\t99\tc\t5\t60\t4M\t=\t9\t8\tACGT\tIIII\tNM:i:0\tHN:i:1\n\
        r1\t147\tc\t9\t60\t4M\t=\t5\t-8\tACGT\tIIII\tNM:i:0\n\
        r1\t2195\tc\t90\t3\t2H2M\t=\t5\t0\tGT\tII\tNM:i:0\tSA:Z:x\n\
        r2\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n";

    fn run(a: &str, b: &str) -> Comparison {
        compare(a.as_bytes(), b.as_bytes(), &CompareOptions::default()).unwrap()
    }

    #[test]
    fn equal_streams_are_equal_whatever_the_header_and_the_other_tags() {
        let b = A.replace("@HD\tVN:1.6\n", "").replace("HN:i:1", "HN:i:2\tMQ:i:60");
        let c = run(A, &b);
        assert!(c.is_equal(), "{c}");
        assert_eq!((c.templates, c.primary.compared, c.other.compared), (2, 3, 1));
    }

    #[test]
    fn each_kind_of_difference_is_seen() {
        let cases: [(&str, &str, &str, bool); 12] = [
            ("r1\t99\t", "r1\t97\t", "FLAG", true),
            ("\tc\t5\t60\t", "\td\t5\t60\t", "RNAME", true),
            ("\tc\t5\t60\t", "\tc\t6\t60\t", "POS", true),
            ("\tc\t5\t60\t", "\tc\t5\t59\t", "MAPQ", true),
            ("5\t60\t4M", "5\t60\t3M1S", "CIGAR", true),
            ("4M\t=\t9\t8", "4M\tc\t9\t8", "RNEXT", true),
            ("4M\t=\t9\t8", "4M\t=\t8\t8", "PNEXT", true),
            ("4M\t=\t9\t8", "4M\t=\t9\t9", "TLEN", true),
            ("\tGT\tII", "\tGA\tII", "SEQ", false),
            ("\tGT\tII", "\tGT\tIJ", "QUAL", false),
            ("NM:i:0\tHN", "NM:i:1\tHN", "NM", true),
            ("\tSA:Z:x", "", "SA", false),
        ];
        for (from, to, field, primary) in cases {
            let b = A.replacen(from, to, 1);
            assert_ne!(A, b, "{field}: the case changes nothing");
            let c = run(A, &b);
            let counts = if primary { &c.primary } else { &c.other };
            assert_eq!(counts.differing, 1, "{field}: {c}");
            assert_eq!(counts.fields.keys().collect::<Vec<_>>(), [field]);
            assert_eq!(c.primary.differing + c.other.differing, 1);
            assert_eq!(c.examples.len(), 1);
            assert!(!c.is_equal());
        }
    }

    #[test]
    fn masked_flags_and_left_out_columns_do_not_count() {
        let b = A.replace("r1\t99\t", "r1\t1123\t").replace("c\t9\t60", "c\t9\t50");
        let options = CompareOptions {
            ignore_flag: flag::DUPLICATE,
            ignore_columns: vec!["MAPQ".into()],
            ..CompareOptions::default()
        };
        assert!(compare(A.as_bytes(), b.as_bytes(), &options).unwrap().is_equal());
        assert_eq!(run(A, &b).primary.differing, 2);
    }

    #[test]
    fn missing_and_reordered_records_count() {
        let lines: Vec<&str> = A.lines().collect();
        let without = [lines[1], lines[2], lines[4]].join("\n");
        let c = run(A, &without);
        assert_eq!((c.other.only_in_first, c.other.only_in_second, c.reordered), (1, 0, 0));
        let c = run(&without, A);
        assert_eq!((c.other.only_in_first, c.other.only_in_second), (0, 1));
        let swapped = [lines[2], lines[1], lines[3], lines[4]].join("\n");
        let c = run(A, &swapped);
        assert_eq!((c.reordered, c.primary.differing), (1, 0));
        assert!(!c.is_equal());
    }

    #[test]
    fn streams_out_of_step_are_an_error() {
        let lines: Vec<&str> = A.lines().collect();
        let short = lines[..4].join("\n");
        for (a, b) in [(A, &short[..]), (&short, A), (A, &A.replace("r2", "r3")), (A, "")] {
            let e = compare(a.as_bytes(), b.as_bytes(), &CompareOptions::default()).unwrap_err();
            assert!(e.to_string().contains("out of step"), "{e}");
        }
        assert!(run("", "").is_equal());
    }
}
