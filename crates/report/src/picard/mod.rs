//! Metrics in the layout of Picard, as MultiQC reads it: duplication metrics here, the others
//! below.

mod alignment_summary;
mod insert_size;
mod qualities;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use seqloom_prep::duplicates::{DuplicateSetHistogram, DuplicationMetrics, SetSizes};
use seqloom_prep::metrics::Histogram;

pub use alignment_summary::write_alignment_summary;
pub use insert_size::write_insert_sizes;
pub use qualities::{write_quality_by_cycle, write_quality_distribution, write_quality_yield};

const COLUMNS: &str = "LIBRARY\tUNPAIRED_READS_EXAMINED\tREAD_PAIRS_EXAMINED\t\
    SECONDARY_OR_SUPPLEMENTARY_RDS\tUNMAPPED_READS\tUNPAIRED_READ_DUPLICATES\t\
    READ_PAIR_DUPLICATES\tREAD_PAIR_OPTICAL_DUPLICATES\tPERCENT_DUPLICATION\t\
    ESTIMATED_LIBRARY_SIZE";

/// Bins of the return-on-investment histogram: multiples of the sequencing done so far.
const COVERAGE_MULTIPLES: u64 = 100;

/// Decimals of a number in a metrics file.
const DECIMALS: usize = 6;

/// Digits after the point that write any double above 5e-7 exactly (its last bit is at least
/// 2^-73); smaller ones round to 0 all the same.
const EXACT_DECIMALS: usize = 80;

/// Writes the metrics file.
///
/// `command_line` is written on one line of the heading. The date that Picard writes is there only
/// if `started_on` is given, so that equal runs write equal files.
///
/// # Errors
/// Only those of `out`.
pub fn write_duplication_metrics(
    out: &mut impl Write,
    command_line: &str,
    started_on: Option<&str>,
    rows: &[DuplicationMetrics],
    histogram: &DuplicateSetHistogram,
) -> fmt::Result {
    write_command(out, command_line)?;
    if let Some(date) = started_on {
        writeln!(out, "## htsjdk.samtools.metrics.StringHeader")?;
        writeln!(out, "# Started on: {date}")?;
    }
    writeln!(out)?;
    // htsjdk's MetricsFile has no heading without rows: there are none of a file without records.
    if !rows.is_empty() {
        writeln!(out, "## METRICS CLASS\tpicard.sam.DuplicationMetrics\n{COLUMNS}")?;
    }
    rows.iter().try_for_each(|row| write_row(out, row))?;
    writeln!(out)?;
    write_histogram(out, rows, histogram)
}

fn write_row(out: &mut impl Write, row: &DuplicationMetrics) -> fmt::Result {
    write!(out, "{}", row.library)?;
    for count in [
        row.unpaired_reads_examined,
        row.read_pairs_examined,
        row.secondary_or_supplementary_reads,
        row.unmapped_reads,
        row.unpaired_read_duplicates,
        row.read_pair_duplicates,
        row.read_pair_optical_duplicates,
    ] {
        write!(out, "\t{count}")?;
    }
    write!(out, "\t{}\t", decimal(row.percent_duplication()))?;
    if let Some(size) = row.estimated_library_size() {
        write!(out, "{size}")?;
    }
    writeln!(out)
}

/// A column of a histogram: its name, its cells by key.
type Column<'a> = (&'a str, BTreeMap<u64, f64>);

/// Writes the histogram; an empty line where it has no column.
fn write_histogram(
    out: &mut impl Write,
    rows: &[DuplicationMetrics],
    histogram: &DuplicateSetHistogram,
) -> fmt::Result {
    let sizes = |sizes: &SetSizes| sizes.iter().map(|it| (it.size, it.sets as f64)).collect();
    let columns: Vec<Column<'_>> = [
        ("CoverageMult", return_on_investment(rows)),
        ("all_sets", sizes(&histogram.all)),
        ("optical_sets", sizes(&histogram.optical)),
        ("non_optical_sets", sizes(&histogram.non_optical)),
    ]
    .into_iter()
    .filter(|(_, cells): &Column<'_>| !cells.is_empty())
    .collect();
    let Some((first, _)) = columns.first() else { return writeln!(out) };
    let key_name = if *first == "CoverageMult" { "BIN" } else { "set_size" };
    write_columns(out, &Keys { class: "Double", name: key_name, text: java_double }, &columns)
}

/// The keys of a histogram.
struct Keys<'a> {
    /// Of Java.
    class: &'a str,
    name: &'a str,
    text: fn(u64) -> String,
}

/// Writes columns by key, of which there is at least one. Where a column has no cell it has 0.
fn write_columns(out: &mut impl Write, keys: &Keys<'_>, columns: &[Column<'_>]) -> fmt::Result {
    write!(out, "## HISTOGRAM\tjava.lang.{}\n{}", keys.class, keys.name)?;
    columns.iter().try_for_each(|(name, _)| write!(out, "\t{name}"))?;
    writeln!(out)?;
    let met: BTreeSet<u64> = columns.iter().flat_map(|(_, cells)| cells.keys().copied()).collect();
    for key in met {
        write!(out, "{}", (keys.text)(key))?;
        for (_, cells) in columns {
            write!(out, "\t{}", decimal(cells.get(&key).copied().unwrap_or(0.0)))?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

/// Writes the histogram of whole numbers (class `Integer` or `Byte`); an empty line where no
/// column has a cell. Columns without cells are left out.
fn write_whole_columns(
    out: &mut impl Write,
    class: &str,
    key_name: &str,
    mut columns: Vec<Column<'_>>,
) -> fmt::Result {
    columns.retain(|(_, cells)| !cells.is_empty());
    if columns.is_empty() {
        return writeln!(out);
    }
    let keys = Keys { class, name: key_name, text: |key| key.to_string() };
    write_columns(out, &keys, &columns)
}

/// Lines above the metrics.
#[derive(Debug, Clone, Copy)]
pub struct Heading<'a> {
    /// The command line, which is written on one line.
    pub command_line: &'a str,
    /// Name of the sample.
    pub sample: &'a str,
}

impl Heading<'_> {
    /// Writes the heading. MultiQC knows some files by the leading name of the tool, and takes the
    /// name of the sample from the word after; one of several words is left to the file's name.
    fn write(&self, out: &mut impl Write, tool: &str) -> fmt::Result {
        writeln!(out, "## htsjdk.samtools.metrics.StringHeader")?;
        if self.sample.is_empty() || self.sample.contains(char::is_whitespace) {
            writeln!(out, "# {tool}, as seqloom counts it")?;
        } else {
            writeln!(out, "# {tool} INPUT={} as seqloom counts it", self.sample)?;
        }
        write_command(out, self.command_line)
    }
}

/// The command line on one line of the heading.
fn write_command(out: &mut impl Write, command_line: &str) -> fmt::Result {
    writeln!(out, "## htsjdk.samtools.metrics.StringHeader")?;
    writeln!(out, "# {}", command_line.replace(['\n', '\r', '\t'], " "))
}

/// Cells of a histogram.
fn cells_of(histogram: &Histogram) -> BTreeMap<u64, f64> {
    histogram.iter().map(|(size, count)| (size.into(), count as f64)).collect()
}

/// How many times the unique pairs so far more sequencing would give: x times the sequencing for
/// x = 1 ... 100. Picard makes it for a single library of known size.
fn return_on_investment(rows: &[DuplicationMetrics]) -> BTreeMap<u64, f64> {
    let [row] = rows else { return BTreeMap::new() };
    let Some(size) = row.estimated_library_size() else { return BTreeMap::new() };
    let (size, pairs) = (size as f64, row.read_pairs_examined as f64);
    let unique = row.unique_pairs() as f64;
    let gain = |x: u64| size * (1.0 - (-(x as f64 * pairs) / size).exp()) / unique;
    (1..=COVERAGE_MULTIPLES).map(|x| (x, gain(x))).collect()
}

/// A number with at most six decimals, halves rounded down, without trailing zeros (Java's
/// `DecimalFormat("0.######")` with HALF_DOWN).
fn decimal(value: f64) -> String {
    if !value.is_finite() {
        return "?".to_owned();
    }
    let exact = format!("{:.EXACT_DECIMALS$}", value.abs());
    let point = exact.len() - EXACT_DECIMALS - 1;
    let (kept, rest) = exact.split_at(point + 1 + DECIMALS);
    let mut digits = kept.as_bytes().to_vec();
    let half = rest.starts_with('5') && rest.bytes().skip(1).all(|digit| digit == b'0');
    if rest >= "5" && !half {
        increment(&mut digits);
    }
    let text = String::from_utf8_lossy(&digits);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let sign = if value < 0.0 && text != "0" { "-" } else { "" };
    format!("{sign}{text}")
}

/// Adds one in the last place of decimal digits, which may hold a point.
fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        match digit {
            b'.' => {}
            b'9' => *digit = b'0',
            _ => {
                *digit += 1;
                return;
            }
        }
    }
    digits.insert(0, b'1');
}

/// A whole number as Java prints a double: `1.0`, and `1.25E7` from ten million on.
fn java_double(value: u64) -> String {
    let digits = value.to_string();
    let Some((first, rest)) = digits.split_at_checked(1).filter(|_| value >= 10_000_000) else {
        return format!("{digits}.0");
    };
    let fraction = match rest.trim_end_matches('0') {
        "" => "0",
        fraction => fraction,
    };
    format!("{first}.{fraction}E{}", rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_format::bam::Header;
    use seqloom_prep::duplicates::{DuplicationCounters, LibraryTable};

    #[test]
    fn decimals() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (100.0, "100"),
            (0.1, "0.1"),
            (4.0 / 7.0, "0.571429"),
            (1.0 / 128.0, "0.007812"), // a half: down
            (3.0 / 128.0, "0.023437"), // a half: down, where half-even goes up
            (0.000_000_5, "0"),        // just below a half
            (0.000_000_500_1, "0.000001"),
            (0.999_999_6, "1"),
            (9.999_999_6, "10"),
            (123_456_789.0, "123456789"),
            (-1.5, "-1.5"),
            (-1e-9, "0"),
            (f64::NAN, "?"),
            (f64::INFINITY, "?"),
        ];
        for (value, text) in cases {
            assert_eq!(decimal(value), text, "{value:e}");
        }
    }

    #[test]
    fn keys_are_java_doubles() {
        let cases = [
            (0, "0.0"),
            (1, "1.0"),
            (9_999_999, "9999999.0"),
            (10_000_000, "1.0E7"),
            (12_345_678, "1.2345678E7"),
            (300_500_000, "3.005E8"),
        ];
        for (value, text) in cases {
            assert_eq!(java_double(value), text);
        }
    }

    #[test]
    fn without_a_library_there_is_no_table() {
        let mut text = String::new();
        let histogram = DuplicationCounters::new(1).histogram;
        write_duplication_metrics(&mut text, "x", None, &[], &histogram).unwrap();
        assert_eq!(text, "## htsjdk.samtools.metrics.StringHeader\n# x\n\n\n\n");
    }

    #[test]
    fn nothing_examined_has_a_row_and_no_histogram() {
        let header = Header::parse(b"@RG\tID:a\tLB:l\n").unwrap();
        let table = LibraryTable::new(&header).unwrap();
        let counters = DuplicationCounters::new(2);
        let mut text = String::new();
        let rows = counters.metrics(&table);
        write_duplication_metrics(&mut text, "a\tb", None, &rows, &counters.histogram).unwrap();
        let expected = format!(
            "## htsjdk.samtools.metrics.StringHeader\n# a b\n\n\
             ## METRICS CLASS\tpicard.sam.DuplicationMetrics\n{COLUMNS}\nl{}\t0\t\n\n\n",
            "\t0".repeat(7)
        );
        assert_eq!(text, expected);
        text.clear();
        let date = Some("today");
        write_duplication_metrics(&mut text, "x", date, &rows, &counters.histogram).unwrap();
        assert!(
            text.contains("# x\n## htsjdk.samtools.metrics.StringHeader\n# Started on: today\n\n")
        );
    }
}
