//! GATK's report format (`#:GATKReport.v1.1`): tables of text in columns of fixed width.

mod parse;
mod text;

pub use self::parse::{ReportError, parse};

use self::text::{Column, TextTable, half_up};
use super::covariates::context_text;
use super::datum::Datum;
use super::table::{Covariate, Table};

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
pub fn write(table: &Table) -> String {
    let mut out = format!("{FIRST_LINE}\n");
    arguments(table).write(&mut out);
    quantized(table).write(&mut out);
    by_group(table).write(&mut out);
    by_quality(table).write(&mut out);
    by_covariate(table).write(&mut out);
    out
}

fn arguments(table: &Table) -> TextTable {
    const TITLE: &str = "Arguments:Recalibration argument collection values used in this run";
    let mut text = TextTable::new(TITLE, &ARGUMENTS);
    let mut rows: Vec<_> = table.arguments.rows.iter().collect();
    rows.sort();
    for (name, value) in rows {
        text.cell(name);
        text.cell(value);
    }
    text
}

fn quantized(table: &Table) -> TextTable {
    let mut text = TextTable::new("Quantized:Quality quantization map", &QUANTIZED);
    let quantization = &table.quantization;
    for (quality, count) in quantization.counts.iter().enumerate() {
        text.cell(quality);
        text.cell(count);
        text.cell(quantization.qualities[quality]);
    }
    text
}

fn by_group(table: &Table) -> TextTable {
    let mut text = TextTable::new("RecalTable0:", &BY_GROUP);
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
fn closing_cells(text: &mut TextTable, datum: &Datum) {
    text.cell(half_up(datum.empirical_quality(datum.reported).into(), 4));
    text.cell(datum.observations);
    text.cell(half_up(datum.errors(), 2));
}

fn by_quality(table: &Table) -> TextTable {
    let mut text = TextTable::new("RecalTable1:", &BY_QUALITY);
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

fn by_covariate(table: &Table) -> TextTable {
    let mut text = TextTable::new("RecalTable2:", &BY_COVARIATE);
    let rows = table.by_covariate.iter().map(|((group, quality, covariate, event), datum)| {
        let (value, name) = match *covariate {
            Covariate::Context(column) => {
                (context_text(column, table.arguments.context_bases(*event)), "Context")
            }
            Covariate::Cycle(cycle) => (cycle.to_string(), "Cycle"),
        };
        (&table.read_groups[*group], *quality, value, name, *event, datum)
    });
    let mut rows: Vec<_> = rows.collect();
    // Cycles are sorted as text, as GATK does.
    rows.sort_by(|a, b| (a.0, a.1, &a.2, a.3, a.4).cmp(&(b.0, b.1, &b.2, b.3, b.4)));
    for (group, quality, value, name, event, datum) in rows {
        text.cell(group);
        text.cell(quality);
        text.cell(value);
        text.cell(name);
        text.cell(event.letter());
        closing_cells(&mut text, datum);
    }
    text
}
