//! Reads reports. They come from anywhere: every number is checked, and nothing is allocated for
//! what a report only claims to hold.

use std::collections::{BTreeMap, HashMap};

use seqloom_runtime::error::{Class, RunError};

use super::super::RecalibrationOptions;
use super::super::covariates::context_column;
use super::super::datum::Datum;
use super::super::quantize::Quantization;
use super::super::table::{Arguments, Covariate, RecalibrationTable};
use super::super::{Event, MAX_CONTEXT_BASES, MAX_CYCLE_LIMIT, MAX_QUALITY, QUALITIES};

/// Observations are below this one: what a Java long holds.
const MOST_OBSERVATIONS: f64 = i64::MAX as f64;

/// Most read groups of a report.
const MAX_READ_GROUPS: usize = 1 << 20;

/// Why a report is malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// It does not start as reports of this version do.
    #[error("not a recalibration report: the first line is not #:GATKReport.v1.1")]
    NotAReport,
    /// A line is not as it should be.
    #[error("line {line}: {problem}")]
    Line {
        /// Line, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
    /// A table that every recalibration report has is missing.
    #[error("the report has no table {0}; is it a recalibration report?")]
    MissingTable(&'static str),
}

impl RunError for ReportError {
    fn class(&self) -> Class {
        match self {
            Self::NotAReport | Self::Line { .. } | Self::MissingTable(_) => Class::Input,
        }
    }
}

fn fail<T>(line: usize, problem: impl Into<String>) -> Result<T, ReportError> {
    Err(ReportError::Line { line, problem: problem.into() })
}

/// A table of the report: its columns by name, and its rows as lines.
struct RawTable<'a> {
    /// Number of the header line, from 1.
    line: usize,
    /// Name of each column and where it starts, in characters.
    columns: Vec<(&'a str, usize)>,
    rows: Vec<&'a str>,
}

impl<'a> RawTable<'a> {
    fn column(&self, name: &str) -> Result<usize, ReportError> {
        match self.columns.iter().position(|column| column.0 == name) {
            Some(column) => Ok(column),
            None => fail(self.line, format!("the table has no column {name}")),
        }
    }

    /// The rows, each with its line number and its cells.
    fn rows(&self) -> impl Iterator<Item = Row<'a, '_>> {
        self.rows.iter().zip(self.line + 1..).map(|(text, line)| Row { table: self, text, line })
    }
}

struct Row<'a, 't> {
    table: &'t RawTable<'a>,
    text: &'a str,
    line: usize,
}

impl<'a> Row<'a, '_> {
    /// The cell of a column. Columns start where their names do; they are counted in characters.
    fn cell(&self, column: usize) -> &'a str {
        let starts = &self.table.columns;
        let start = starts[column].1;
        let end = starts.get(column + 1).map_or(usize::MAX, |it| it.1);
        self.text[self.bytes(start)..self.bytes(end)].trim()
    }

    fn bytes(&self, characters: usize) -> usize {
        if self.text.is_ascii() {
            return characters.min(self.text.len());
        }
        self.text.char_indices().nth(characters).map_or(self.text.len(), |(at, _)| at)
    }

    fn number<T: std::str::FromStr>(
        &self,
        column: usize,
        range: impl Fn(&T) -> bool,
    ) -> Result<T, ReportError> {
        let cell = self.cell(column);
        match cell.parse().ok().filter(range) {
            Some(number) => Ok(number),
            None => {
                let name = self.table.columns[column].0;
                fail(self.line, format!("{cell:?} is not a good value of {name}"))
            }
        }
    }

    fn quality(&self, column: usize) -> Result<u8, ReportError> {
        self.number(column, |&quality| quality <= MAX_QUALITY)
    }

    fn event(&self, column: usize) -> Result<Event, ReportError> {
        match Event::parse(self.cell(column)) {
            Some(event) => Ok(event),
            None => fail(self.line, format!("{:?} is not an event (M, I or D)", self.cell(column))),
        }
    }

    /// Observations and errors, with what quality was reported. GATK 3 wrote observations with
    /// decimals (`74271335.00`); GATK 4 reads them and drops the decimals.
    fn datum(&self, columns: &DatumColumns, reported: f64) -> Result<Datum, ReportError> {
        let whole: Option<u64> = self.cell(columns.observations).parse().ok();
        let (observations, exact) = match whole.filter(|&it| i64::try_from(it).is_ok()) {
            Some(whole) => (whole, whole as f64),
            None => {
                let is_good = |it: &f64| (0.0..MOST_OBSERVATIONS).contains(it);
                let decimal: f64 = self.number(columns.observations, is_good)?;
                (decimal as u64, decimal)
            }
        };
        // As many as observations, but for the rounding to two decimals.
        let most = exact + 0.01;
        let errors = self.number(columns.errors, |it| (0.0..=most).contains(it))?;
        Ok(Datum::new(observations, errors, reported))
    }
}

struct DatumColumns {
    observations: usize,
    errors: usize,
}

impl DatumColumns {
    fn of(table: &RawTable<'_>) -> Result<Self, ReportError> {
        Ok(Self { observations: table.column("Observations")?, errors: table.column("Errors")? })
    }
}

/// Reads a report, of any order of tables, rows and columns.
///
/// # Errors
/// [`ReportError`] with the first line that is wrong.
pub fn parse(bytes: &[u8]) -> Result<RecalibrationTable, ReportError> {
    let text = String::from_utf8_lossy(bytes);
    let tables = raw_tables(&text)?;
    let table = |name: &'static str| tables.get(name).ok_or(ReportError::MissingTable(name));
    let arguments = arguments(table("Arguments")?)?;
    let by_group = table("RecalTable0")?;
    let groups = Groups::of(by_group)?;
    let mut parsed = RecalibrationTable::empty(arguments, groups.names.clone());
    parsed.quantization = quantization(table("Quantized")?)?;
    parsed.by_group = by_group_rows(by_group, &groups)?;
    parsed.by_quality = by_quality_rows(table("RecalTable1")?, &groups)?;
    parsed.by_covariate = by_covariate_rows(table("RecalTable2")?, &groups, &parsed.arguments)?;
    Ok(parsed)
}

/// Cuts a report into its tables, by name.
fn raw_tables(text: &str) -> Result<HashMap<&str, RawTable<'_>>, ReportError> {
    const PREFIX: &str = "#:GATKTable:";
    let mut lines = text.lines().zip(1..).map(|(text, line)| (text.trim_end_matches('\r'), line));
    let first = lines.next().and_then(|(text, _)| text.strip_prefix("#:GATKReport.v1.1:"));
    let count: usize = first.and_then(|it| it.parse().ok()).ok_or(ReportError::NotAReport)?;
    let mut tables = HashMap::new();
    // As GATK does, nothing is read after the tables that the first line announces.
    for _ in 0..count {
        let Some((shape, line)) = lines.find(|(text, _)| !text.trim().is_empty()) else { break };
        let Some(shape) = shape.strip_prefix(PREFIX) else {
            return fail(line, "a table does not start with #:GATKTable");
        };
        let mut sizes = shape.split(':').map(str::parse::<usize>);
        let (Some(Ok(columns)), Some(Ok(rows))) = (sizes.next(), sizes.next()) else {
            return fail(line, "a table does not state its columns and rows");
        };
        let Some((title, _)) = lines.next() else { return fail(line, "the report ends here") };
        let Some(title) = title.strip_prefix(PREFIX) else {
            return fail(line + 1, "a table has no name");
        };
        let name = title.split(':').next().unwrap_or_default();
        let Some((header, line)) = lines.next() else { return fail(line, "the report ends here") };
        let mut table = RawTable { line, columns: words(header), rows: Vec::new() };
        if table.columns.len() != columns {
            return fail(line, "the table has not as many columns as it states");
        }
        for _ in 0..rows {
            match lines.next() {
                Some((row, _)) => table.rows.push(row),
                None => return fail(line + table.rows.len(), "the report ends within a table"),
            }
        }
        if tables.insert(name, table).is_some() {
            return fail(line, format!("a second table {name}"));
        }
    }
    Ok(tables)
}

/// The words of a header line and where they start, in characters.
fn words(line: &str) -> Vec<(&str, usize)> {
    let mut words = Vec::new();
    let mut start = None;
    for (index, (at, letter)) in line.char_indices().chain([(line.len(), ' ')]).enumerate() {
        match (letter.is_whitespace(), start) {
            (false, None) => start = Some((at, index)),
            (true, Some((from, index))) => {
                words.push((&line[from..at], index));
                start = None;
            }
            _ => {}
        }
    }
    words
}

fn arguments(table: &RawTable<'_>) -> Result<Arguments, ReportError> {
    let (name, value) = (table.column("Argument")?, table.column("Value")?);
    let mut arguments = Arguments::new(&RecalibrationOptions::default());
    arguments.rows.clear();
    for row in table.rows() {
        let context = |size: &u8| (1..=MAX_CONTEXT_BASES).contains(size);
        match row.cell(name) {
            "mismatches_context_size" => {
                arguments.mismatches_context_bases = row.number(value, context)?;
            }
            "indels_context_size" => arguments.indels_context_bases = row.number(value, context)?,
            "maximum_cycle_value" => {
                let is_good = |cycle: &u32| (1..=MAX_CYCLE_LIMIT).contains(cycle);
                arguments.max_cycle = row.number(value, is_good)?;
            }
            "low_quality_tail" => arguments.low_quality_tail = row.quality(value)?,
            "quantizing_levels" => arguments.quantizing_levels = row.number(value, |_| true)?,
            _ => {}
        }
        arguments.rows.push((row.cell(name).to_owned(), row.cell(value).to_owned()));
    }
    Ok(arguments)
}

fn quantization(table: &RawTable<'_>) -> Result<Quantization, ReportError> {
    let count = table.column("Count")?;
    let quantized = table.column("QuantizedScore")?;
    let mut quantization = Quantization { counts: [0; QUALITIES], qualities: [0; QUALITIES] };
    if table.rows.len() != QUALITIES {
        return fail(table.line, format!("the table Quantized has not {QUALITIES} rows"));
    }
    for (quality, row) in table.rows().enumerate() {
        quantization.counts[quality] = row.number(count, |_| true)?;
        quantization.qualities[quality] = row.quality(quantized)?;
    }
    Ok(quantization)
}

/// The read groups of a report, in the order of their names.
struct Groups {
    names: Vec<String>,
}

impl Groups {
    fn of(table: &RawTable<'_>) -> Result<Self, ReportError> {
        let column = table.column("ReadGroup")?;
        let mut names: Vec<String> = table.rows().map(|row| row.cell(column).to_owned()).collect();
        names.sort();
        names.dedup();
        if names.len() > MAX_READ_GROUPS {
            return fail(table.line, format!("more than {MAX_READ_GROUPS} read groups"));
        }
        Ok(Self { names })
    }

    fn find(&self, row: &Row<'_, '_>, column: usize) -> Result<usize, ReportError> {
        let name = row.cell(column);
        match self.names.binary_search_by(|it| it.as_str().cmp(name)) {
            Ok(group) => Ok(group),
            Err(_) => fail(row.line, format!("read group {name:?} is not in RecalTable0")),
        }
    }
}

/// Adds a row; its key must be new.
fn insert<K: Ord>(
    rows: &mut BTreeMap<K, Datum>,
    key: K,
    datum: Datum,
    line: usize,
) -> Result<(), ReportError> {
    match rows.insert(key, datum) {
        None => Ok(()),
        Some(_) => fail(line, "a second row with the same covariates"),
    }
}

fn by_group_rows(
    table: &RawTable<'_>,
    groups: &Groups,
) -> Result<BTreeMap<(usize, Event), Datum>, ReportError> {
    let columns = DatumColumns::of(table)?;
    let (group, event) = (table.column("ReadGroup")?, table.column("EventType")?);
    let reported = table.column("EstimatedQReported")?;
    let mut rows = BTreeMap::new();
    for row in table.rows() {
        let reported = row.number(reported, |it| (0.0..=1000.0).contains(it))?;
        let key = (groups.find(&row, group)?, row.event(event)?);
        insert(&mut rows, key, row.datum(&columns, reported)?, row.line)?;
    }
    Ok(rows)
}

fn by_quality_rows(
    table: &RawTable<'_>,
    groups: &Groups,
) -> Result<BTreeMap<(usize, u8, Event), Datum>, ReportError> {
    let columns = DatumColumns::of(table)?;
    let (group, event) = (table.column("ReadGroup")?, table.column("EventType")?);
    let quality_column = table.column("QualityScore")?;
    let mut rows = BTreeMap::new();
    for row in table.rows() {
        let quality = row.quality(quality_column)?;
        let key = (groups.find(&row, group)?, quality, row.event(event)?);
        insert(&mut rows, key, row.datum(&columns, quality.into())?, row.line)?;
    }
    Ok(rows)
}

/// Rows by read group, quality, covariate and event.
type CovariateRows = BTreeMap<(usize, u8, Covariate, Event), Datum>;

fn by_covariate_rows(
    table: &RawTable<'_>,
    groups: &Groups,
    arguments: &Arguments,
) -> Result<CovariateRows, ReportError> {
    let columns = DatumColumns::of(table)?;
    let (group, event) = (table.column("ReadGroup")?, table.column("EventType")?);
    let quality_column = table.column("QualityScore")?;
    let (value, name) = (table.column("CovariateValue")?, table.column("CovariateName")?);
    let mut rows = BTreeMap::new();
    for row in table.rows() {
        let (event, quality) = (row.event(event)?, row.quality(quality_column)?);
        let covariate = match row.cell(name) {
            "Context" => {
                let column = context_column(row.cell(value), arguments.context_bases(event));
                column.map(Covariate::Context)
            }
            "Cycle" => {
                let cycle = row.cell(value).parse().ok();
                let is_good =
                    |cycle: &i32| (1..=arguments.max_cycle).contains(&cycle.unsigned_abs());
                cycle.filter(is_good).map(Covariate::Cycle)
            }
            other => return fail(row.line, format!("covariate {other:?} is not supported")),
        };
        let Some(covariate) = covariate else {
            let (value, name) = (row.cell(value), row.cell(name));
            return fail(row.line, format!("{value:?} is not a good value of {name}"));
        };
        let key = (groups.find(&row, group)?, quality, covariate, event);
        insert(&mut rows, key, row.datum(&columns, quality.into())?, row.line)?;
    }
    Ok(rows)
}
