//! The text of Picard CollectInsertSizeMetrics.

use std::fmt::{self, Write};

use seqloom_prep::metrics::{InsertSizeMetrics, PairOrientation};

use super::{Heading, cells_of, decimal, write_whole_columns};

const COLUMNS: &str = "MEDIAN_INSERT_SIZE\tMODE_INSERT_SIZE\tMEDIAN_ABSOLUTE_DEVIATION\t\
    MIN_INSERT_SIZE\tMAX_INSERT_SIZE\tMEAN_INSERT_SIZE\tSTANDARD_DEVIATION\tREAD_PAIRS\t\
    PAIR_ORIENTATION\tWIDTH_OF_10_PERCENT\tWIDTH_OF_20_PERCENT\tWIDTH_OF_30_PERCENT\t\
    WIDTH_OF_40_PERCENT\tWIDTH_OF_50_PERCENT\tWIDTH_OF_60_PERCENT\tWIDTH_OF_70_PERCENT\t\
    WIDTH_OF_80_PERCENT\tWIDTH_OF_90_PERCENT\tWIDTH_OF_95_PERCENT\tWIDTH_OF_99_PERCENT\t\
    SAMPLE\tLIBRARY\tREAD_GROUP";

/// Writes the file. Picard writes none where there are no rows.
///
/// # Errors
/// Only those of `out`.
pub fn write_insert_sizes(
    out: &mut impl Write,
    heading: &Heading<'_>,
    rows: &[InsertSizeMetrics],
) -> fmt::Result {
    heading.write(out, "CollectInsertSizeMetrics")?;
    writeln!(out, "\n## METRICS CLASS\tpicard.analysis.InsertSizeMetrics\n{COLUMNS}")?;
    rows.iter().try_for_each(|row| write_row(out, row))?;
    writeln!(out)?;
    let columns = rows.iter().map(|row| (column_name(row), cells_of(&row.histogram))).collect();
    write_whole_columns(out, "Integer", "insert_size", columns)
}

fn write_row(out: &mut impl Write, row: &InsertSizeMetrics) -> fmt::Result {
    write!(out, "{}\t{}\t", decimal(row.median_bp), row.mode_bp)?;
    write!(out, "{}\t", decimal(row.median_absolute_deviation_bp))?;
    write!(out, "{}\t{}\t", row.min_bp, row.max_bp)?;
    write!(out, "{}\t{}\t", decimal(row.mean_bp), decimal(row.standard_deviation_bp))?;
    let orientation = match row.orientation {
        PairOrientation::Fr => "FR",
        PairOrientation::Rf => "RF",
        PairOrientation::Tandem => "TANDEM",
    };
    write!(out, "{}\t{orientation}", row.read_pairs)?;
    row.widths_bp.iter().try_for_each(|width| write!(out, "\t{width}"))?;
    writeln!(out, "\t\t\t")
}

fn column_name(row: &InsertSizeMetrics) -> &'static str {
    match row.orientation {
        PairOrientation::Fr => "All_Reads.fr_count",
        PairOrientation::Rf => "All_Reads.rf_count",
        PairOrientation::Tandem => "All_Reads.tandem_count",
    }
}
