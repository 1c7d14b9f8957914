//! The text of Picard CollectAlignmentSummaryMetrics.

use std::fmt::{self, Write};

use seqloom_prep::metrics::{
    AlignmentSummaryCounts, AlignmentSummaryMetrics, Category, ReadLengths,
};

use super::{Heading, cells_of, decimal, write_whole_columns};

/// A cell's value.
#[derive(Clone, Copy)]
enum Cell {
    Whole(u64),
    Fraction(f64),
}

use Cell::{Fraction, Whole};

/// A column's name and what is in it.
type Column = (&'static str, fn(&AlignmentSummaryMetrics) -> Cell);

/// Columns after CATEGORY.
const COLUMNS: [Column; 32] = [
    ("TOTAL_READS", |row| Whole(row.total_reads)),
    ("PF_READS", |row| Whole(row.pf_reads)),
    ("PCT_PF_READS", |row| Fraction(row.pct_pf_reads)),
    ("PF_NOISE_READS", |row| Whole(row.pf_noise_reads)),
    ("PF_READS_ALIGNED", |row| Whole(row.pf_reads_aligned)),
    ("PCT_PF_READS_ALIGNED", |row| Fraction(row.pct_pf_reads_aligned)),
    ("PF_ALIGNED_BASES", |row| Whole(row.pf_aligned_bases)),
    ("PF_HQ_ALIGNED_READS", |row| Whole(row.pf_hq_aligned_reads)),
    ("PF_HQ_ALIGNED_BASES", |row| Whole(row.pf_hq_aligned_bases)),
    ("PF_HQ_ALIGNED_Q20_BASES", |row| Whole(row.pf_hq_aligned_q20_bases)),
    ("PF_HQ_MEDIAN_MISMATCHES", |row| Fraction(row.pf_hq_median_mismatches)),
    ("PF_MISMATCH_RATE", |row| Fraction(row.pf_mismatch_rate)),
    ("PF_HQ_ERROR_RATE", |row| Fraction(row.pf_hq_error_rate)),
    ("PF_INDEL_RATE", |row| Fraction(row.pf_indel_rate)),
    ("MEAN_READ_LENGTH", |row| Fraction(row.mean_read_length)),
    ("SD_READ_LENGTH", |row| Fraction(row.sd_read_length)),
    ("MEDIAN_READ_LENGTH", |row| Fraction(row.median_read_length)),
    ("MAD_READ_LENGTH", |row| Fraction(row.mad_read_length)),
    ("MIN_READ_LENGTH", |row| Whole(row.min_read_length.into())),
    ("MAX_READ_LENGTH", |row| Whole(row.max_read_length.into())),
    ("MEAN_ALIGNED_READ_LENGTH", |row| Fraction(row.mean_aligned_read_length)),
    ("READS_ALIGNED_IN_PAIRS", |row| Whole(row.reads_aligned_in_pairs)),
    ("PCT_READS_ALIGNED_IN_PAIRS", |row| Fraction(row.pct_reads_aligned_in_pairs)),
    ("PF_READS_IMPROPER_PAIRS", |row| Whole(row.pf_reads_improper_pairs)),
    ("PCT_PF_READS_IMPROPER_PAIRS", |row| Fraction(row.pct_pf_reads_improper_pairs)),
    ("BAD_CYCLES", |row| Whole(row.bad_cycles)),
    ("STRAND_BALANCE", |row| Fraction(row.strand_balance)),
    ("PCT_CHIMERAS", |row| Fraction(row.pct_chimeras)),
    ("PCT_ADAPTER", |row| Fraction(row.pct_adapter)),
    ("PCT_SOFTCLIP", |row| Fraction(row.pct_softclip)),
    ("PCT_HARDCLIP", |row| Fraction(row.pct_hardclip)),
    ("AVG_POS_3PRIME_SOFTCLIP_LENGTH", |row| Fraction(row.avg_pos_3prime_softclip_length)),
];

/// Writes the file.
///
/// # Errors
/// Only those of `out`.
pub fn write_alignment_summary(
    out: &mut impl Write,
    heading: &Heading<'_>,
    counts: &AlignmentSummaryCounts,
) -> fmt::Result {
    heading.write(out, "CollectAlignmentSummaryMetrics")?;
    write!(out, "\n## METRICS CLASS\tpicard.analysis.AlignmentSummaryMetrics\nCATEGORY")?;
    COLUMNS.iter().try_for_each(|(name, _)| write!(out, "\t{name}"))?;
    writeln!(out, "\tSAMPLE\tLIBRARY\tREAD_GROUP")?;
    counts.rows().iter().try_for_each(|row| write_row(out, row))?;
    writeln!(out)?;
    let ReadLengths { total: paired, aligned: paired_aligned } = counts.paired_lengths();
    let ReadLengths { total: unpaired, aligned: unpaired_aligned } = counts.unpaired_lengths();
    let columns = vec![
        ("PAIRED_TOTAL_LENGTH_COUNT", cells_of(&paired)),
        ("PAIRED_ALIGNED_LENGTH_COUNT", cells_of(&paired_aligned)),
        ("UNPAIRED_TOTAL_LENGTH_COUNT", cells_of(&unpaired)),
        ("UNPAIRED_ALIGNED_LENGTH_COUNT", cells_of(&unpaired_aligned)),
    ];
    write_whole_columns(out, "Integer", "READ_LENGTH", columns)
}

fn write_row(out: &mut impl Write, row: &AlignmentSummaryMetrics) -> fmt::Result {
    out.write_str(match row.category {
        Category::FirstOfPair => "FIRST_OF_PAIR",
        Category::SecondOfPair => "SECOND_OF_PAIR",
        Category::Pair => "PAIR",
        Category::Unpaired => "UNPAIRED",
    })?;
    for (_, cell) in COLUMNS {
        match cell(row) {
            Whole(count) => write!(out, "\t{count}")?,
            Fraction(value) => write!(out, "\t{}", decimal(value))?,
        }
    }
    writeln!(out, "\t\t\t")
}
