//! GATK's report format (`#:GATKReport.v1.1`): tables of text in columns of fixed width.

mod parse;
mod text;

pub use self::parse::{ReportError, parse};

use std::io::Write;

use self::text::{Column, Layout, TextRows, half_up};
use super::covariates::context_text;
use super::datum::Datum;
use super::table::{Covariate, CovariateRow, RecalibrationTable};
use super::view::{TableError, TableView};

/// The first line; all recalibration reports have five tables.
const FIRST_LINE: &str = "#:GATKReport.v1.1:5";

/// Columns of the tables: name and format.
const ARGUMENTS: [Column; 2] = [Column::new("Argument", "%s"), Column::new("Value", "%s")];
const QUANTIZED: [Column; 3] = [
    Column::new("QualityScore", "%d"),
    Column::new("Count", "%d"),
    Column::new("QuantizedScore", "%d"),
];
const BY_GROUP: [Column; 6] = [
    Column::new("ReadGroup", "%s"),
    Column::new("EventType", "%s"),
    Column::new("EmpiricalQuality", "%.4f"),
    Column::new("EstimatedQReported", "%.4f"),
    Column::new("Observations", "%d"),
    Column::new("Errors", "%.2f"),
];
const BY_QUALITY: [Column; 6] = [
    Column::new("ReadGroup", "%s"),
    Column::new("QualityScore", "%d"),
    Column::new("EventType", "%s"),
    Column::new("EmpiricalQuality", "%.4f"),
    Column::new("Observations", "%d"),
    Column::new("Errors", "%.2f"),
];
const BY_COVARIATE: [Column; 8] = [
    Column::new("ReadGroup", "%s"),
    Column::new("QualityScore", "%d"),
    Column::new("CovariateValue", "%s"),
    Column::new("CovariateName", "%s"),
    Column::new("EventType", "%s"),
    Column::new("EmpiricalQuality", "%.4f"),
    Column::new("Observations", "%d"),
    Column::new("Errors", "%.2f"),
];

/// The report of a table, byte for byte as GATK 4.6.2 writes it.
#[must_use]
pub fn write(table: &RecalibrationTable) -> String {
    let mut out = Vec::new();
    // The table and the report are in memory: nothing can fail.
    let _ = write_to(table.view(), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Writes the report of a table, byte for byte as GATK 4.6.2 does.
///
/// # Errors
/// The table cannot be read, or `out` not be written to.
pub fn write_to(view: TableView<'_>, out: &mut dyn Write) -> Result<(), TableError> {
    let table = view.table;
    writeln!(out, "{FIRST_LINE}")?;
    const TITLE: &str = "Arguments:Recalibration argument collection values used in this run";
    arguments(table).write(TITLE, &ARGUMENTS, out)?;
    quantized(table).write("Quantized:Quality quantization map", &QUANTIZED, out)?;
    by_group(table).write("RecalTable0:", &BY_GROUP, out)?;
    by_quality(table).write("RecalTable1:", &BY_QUALITY, out)?;
    by_covariate(view, out)
}

fn arguments(table: &RecalibrationTable) -> TextRows {
    let mut text = TextRows::default();
    let mut rows: Vec<_> = table.arguments.rows.iter().collect();
    rows.sort();
    for (name, value) in rows {
        text.cell(name);
        text.cell(value);
    }
    text
}

fn quantized(table: &RecalibrationTable) -> TextRows {
    let mut text = TextRows::default();
    let quantization = &table.quantization;
    for (quality, count) in quantization.counts.iter().enumerate() {
        text.cell(quality);
        text.cell(count);
        text.cell(quantization.qualities[quality]);
    }
    text
}

fn by_group(table: &RecalibrationTable) -> TextRows {
    let mut text = TextRows::default();
    let mut rows: Vec<_> = table.by_group.iter().collect();
    rows.sort_by_key(|((group, event), _)| (&table.read_groups[*group], *event));
    for ((group, event), datum) in rows {
        text.cell(&table.read_groups[*group]);
        text.cell(event.letter());
        text.cell(half_up(datum.empirical_quality(datum.reported).into(), 4));
        text.cell(half_up(datum.reported, 4));
        text.cell(datum.observations);
        text.cell(half_up(datum.errors(), 2));
    }
    text
}

/// The columns that close the rows of qualities and covariates.
fn closing_cells(text: &mut TextRows, datum: &Datum) {
    text.cell(half_up(datum.empirical_quality(datum.reported).into(), 4));
    text.cell(datum.observations);
    text.cell(half_up(datum.errors(), 2));
}

fn by_quality(table: &RecalibrationTable) -> TextRows {
    let mut text = TextRows::default();
    let mut rows: Vec<_> = table.by_quality.iter().collect();
    rows.sort_by_key(|((group, quality, event), _)| (&table.read_groups[*group], *quality, *event));
    for ((group, quality, event), datum) in rows {
        text.cell(&table.read_groups[*group]);
        text.cell(quality);
        text.cell(event.letter());
        closing_cells(&mut text, datum);
    }
    text
}

/// Writes the table of covariates, of which one quality is in memory at a time: all are looked at
/// twice, for the widths of columns first.
fn by_covariate(view: TableView<'_>, out: &mut dyn Write) -> Result<(), TableError> {
    let names = &view.table.read_groups;
    let mut groups: Vec<usize> = (0..names.len()).collect();
    groups.sort_by_key(|&group| &names[group]);
    let mut layout = Layout::new(&BY_COVARIATE);
    for &group in &groups {
        view.for_each_quality(group, |rows| {
            layout.add(&covariate_cells(view.table, group, rows));
            Ok(())
        })?;
    }
    layout.write_head("RecalTable2:", out)?;
    for &group in &groups {
        view.for_each_quality(group, |rows| {
            Ok(layout.write_rows(&covariate_cells(view.table, group, rows), out)?)
        })?;
    }
    Ok(out.write_all(b"\n")?)
}

/// The cells of the rows of one quality.
fn covariate_cells(table: &RecalibrationTable, group: usize, rows: &[CovariateRow]) -> TextRows {
    let mut text = TextRows::default();
    let of_row = |row: &CovariateRow| {
        let (value, name) = match row.covariate {
            Covariate::Context(column) => {
                (context_text(column, table.arguments.context_bases(row.event)), "Context")
            }
            Covariate::Cycle(cycle) => (cycle.to_string(), "Cycle"),
        };
        (value, name, row.event, row.quality, row.datum)
    };
    let mut rows: Vec<_> = rows.iter().map(of_row).collect();
    // Cycles are sorted as text, as GATK does.
    rows.sort_by(|a, b| (&a.0, a.1, a.2).cmp(&(&b.0, b.1, b.2)));
    for (value, name, event, quality, datum) in rows {
        text.cell(&table.read_groups[group]);
        text.cell(quality);
        text.cell(value);
        text.cell(name);
        text.cell(event.letter());
        closing_cells(&mut text, &datum);
    }
    text
}
