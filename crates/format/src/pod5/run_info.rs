//! The Run Info table: one row per run (acquisition). Versions 0 to 2 of the Reads table keep the
//! same columns in a dictionary.

use super::arrow::{Array, ArrowTable, Batch, DataType};
use super::read_table::ReadTable;
use super::{Pod5FormatError, Span};
use crate::read_at::ReadAt;

/// Most runs of a file. Reads refer to them by a 16-bit number, so there cannot be as many; it
/// bounds what a damaged file makes us keep.
pub(crate) const MAX_RUNS: usize = 1 << 16;

/// Columns in the order of the POD5 library's `RunInfo`.
const COLUMNS: [&str; 20] = [
    "acquisition_id",
    "acquisition_start_time",
    "adc_max",
    "adc_min",
    "context_tags",
    "experiment_name",
    "flow_cell_id",
    "flow_cell_product_code",
    "protocol_name",
    "protocol_run_id",
    "protocol_start_time",
    "sample_id",
    "sample_rate",
    "sequencing_kit",
    "sequencer_position",
    "sequencer_position_type",
    "software",
    "system_name",
    "system_type",
    "tracking_id",
];

/// A value of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunValue {
    /// Bytes of a text, UTF-8 or not.
    Text(Vec<u8>),
    /// A number.
    Integer(i64),
    /// A moment, counted from 1970 in UTC.
    Moment {
        /// How many units.
        count: i64,
        /// How many units make a second.
        per_second: i64,
        /// Time zone to show it in: a name or an offset such as `+01:00`; empty for none.
        zone: Vec<u8>,
    },
    /// Names and values.
    Tags(Vec<(Vec<u8>, Vec<u8>)>),
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunInfo {
    /// Identifier that reads refer to.
    pub acquisition_id: Vec<u8>,
    /// Its columns, those that are there and not missing, in the order of the POD5 library.
    pub values: Vec<(&'static str, RunValue)>,
}

impl RunInfo {
    /// A column that holds a number.
    #[must_use]
    pub fn integer(&self, column: &str) -> Option<i64> {
        let (_, value) = self.values.iter().find(|(name, _)| *name == column)?;
        if let RunValue::Integer(number) = value { Some(*number) } else { None }
    }
}

/// Reads the runs of a file, from their table or from the dictionary of older reads tables.
///
/// # Errors
/// When the table is damaged or has more than [`MAX_RUNS`] rows.
pub fn read_runs(
    file: &dyn ReadAt,
    table: Option<Span>,
    reads: &ReadTable,
) -> Result<Vec<RunInfo>, Pod5FormatError> {
    let mut runs = Vec::new();
    for (array, rows) in reads.embedded_runs() {
        let mut budget = array.body_bytes();
        for row in 0..rows {
            let part = |name: &str| array.part(name);
            let run = read_run(part, row as usize, array.at(), &mut budget)?;
            push_run(&mut runs, run, array.at())?;
        }
    }
    let Some(span) = table else { return Ok(runs) };
    let table = ArrowTable::open(file, span)?;
    let mut batch = Batch::default();
    for index in 0..table.batches() {
        table.load(file, index, &mut batch)?;
        let fields = &table.schema().fields;
        let part = |name: &str| batch.column(fields, table.schema().position(name)?);
        let mut budget = batch.body.len();
        for row in 0..batch.rows {
            let run = read_run(part, row as usize, batch.at, &mut budget)?;
            push_run(&mut runs, run, batch.at)?;
        }
    }
    Ok(runs)
}

fn push_run(runs: &mut Vec<RunInfo>, run: RunInfo, at: u64) -> Result<(), Pod5FormatError> {
    if runs.len() >= MAX_RUNS {
        return Err(Pod5FormatError::Unsupported { what: "more than 65,536 runs", at });
    }
    runs.push(run);
    Ok(())
}

/// What is copied out of a batch is charged to `budget`, its size: in a sound file no two values
/// share bytes, so it suffices.
fn read_run<'a>(
    part: impl Fn(&str) -> Option<Array<'a>>,
    row: usize,
    at: u64,
    budget: &mut usize,
) -> Result<RunInfo, Pod5FormatError> {
    let mut values = Vec::new();
    for name in COLUMNS {
        let Some(array) = part(name) else { continue };
        let value = read_value(array, row, budget);
        let error = |what| Pod5FormatError::Value { what, column: name.to_owned(), row, at };
        if let Some(value) = value.map_err(error)? {
            values.push((name, value));
        }
    }
    match values.first() {
        Some((_, RunValue::Text(id))) => Ok(RunInfo { acquisition_id: id.clone(), values }),
        _ => {
            let (what, column) = ("a run without name", COLUMNS[0].to_owned());
            Err(Pod5FormatError::Value { what, column, row, at })
        }
    }
}

fn read_value(
    array: Array<'_>,
    row: usize,
    budget: &mut usize,
) -> Result<Option<RunValue>, &'static str> {
    let mut charge = |bytes: usize| -> Result<(), &'static str> {
        *budget = budget.checked_sub(bytes).ok_or("values that overlap")?;
        Ok(())
    };
    match array.kind() {
        DataType::Bytes { .. } => {
            let Some(text) = array.bytes(row)? else { return Ok(None) };
            charge(text.len())?;
            Ok(Some(RunValue::Text(text.to_vec())))
        }
        DataType::Timestamp { per_second } => {
            let Some(count) = array.integer(row)? else { return Ok(None) };
            let count = i64::try_from(count).map_err(|_| "a moment out of range")?;
            let zone = array.field().time_zone.clone();
            Ok(Some(RunValue::Moment { count, per_second, zone }))
        }
        DataType::List { .. } => {
            let Some(range) = array.list(row)? else { return Ok(None) };
            let entries = array.child(0).ok_or("a map without entries")?;
            let pair = entries.child(0).zip(entries.child(1));
            let (keys, texts) = pair.ok_or("a map without keys and values")?;
            let mut tags = Vec::new();
            for i in range {
                let key = keys.bytes(i)?.ok_or("a tag without name")?;
                let text = texts.bytes(i)?.unwrap_or_default();
                // Both have an offset of four bytes each.
                charge(8 + key.len() + text.len())?;
                tags.push((key.to_vec(), text.to_vec()));
            }
            Ok(Some(RunValue::Tags(tags)))
        }
        _ => {
            let Some(number) = array.integer(row)? else { return Ok(None) };
            let number = i64::try_from(number).map_err(|_| "a number out of range")?;
            Ok(Some(RunValue::Integer(number)))
        }
    }
}
