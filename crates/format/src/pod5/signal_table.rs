//! The Signal table: where in the file the signal of a row is.

use std::sync::OnceLock;

use super::arrow::{ArrowTable, BatchLayout, Buffer, DataType};
use super::row::RowCoding;
use super::{Pod5FormatError, Span};
use crate::read_at::ReadAt;

const TABLE: &str = "signal";

/// Place of the signal of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalRow {
    /// Its bytes in the file; they are in it.
    pub span: Span,
    /// Its samples, as it says.
    pub samples: u32,
}

/// Places of the rows of a batch.
#[derive(Debug)]
struct Rows {
    /// Start of what `bounds` count from, in the file.
    at: u64,
    /// Bounds of the rows, one more than there are.
    bounds: Box<[u64]>,
    samples: Box<[u32]>,
}

/// The table. The places of a batch's rows (12 bytes each) are read when the first of them is
/// needed, and kept: several threads may ask at once.
#[derive(Debug)]
pub struct SignalTable {
    table: ArrowTable,
    coding: RowCoding,
    signal: usize,
    samples: usize,
    /// Of every batch but the last, which may have fewer.
    rows_per_batch: u64,
    batches: Box<[OnceLock<Rows>]>,
}

impl SignalTable {
    /// Opens the table at `span`.
    ///
    /// # Errors
    /// When it is damaged, lacks a column, or codes signal in a way that is not known.
    pub fn open(file: &dyn ReadAt, span: Span) -> Result<Self, Pod5FormatError> {
        let table = ArrowTable::open(file, span)?;
        let schema = table.schema();
        let needed = |column: &'static str| {
            schema.position(column).ok_or(Pod5FormatError::NoColumn { table: TABLE, column })
        };
        let (signal, samples) = (needed("signal")?, needed("samples")?);
        let unsupported = |what| Pod5FormatError::Unsupported { what, at: span.offset };
        let field = &schema.fields[signal];
        let coding = match (field.kind, field.extension.as_slice()) {
            (DataType::Bytes { .. }, b"minknow.vbz") => RowCoding::Vbz,
            (DataType::List { .. }, _)
                if field.children.first().map(|child| child.kind)
                    == Some(DataType::Integer { bytes: 2, signed: true }) =>
            {
                RowCoding::Plain
            }
            _ => return Err(unsupported("signal that is neither VBZ nor 16-bit samples")),
        };
        if schema.fields[samples].kind != (DataType::Integer { bytes: 4, signed: false }) {
            return Err(unsupported("a number of samples that has not 32 bits"));
        }
        let batches = (0..table.batches()).map(|_| OnceLock::new()).collect();
        let rows_per_batch = if table.batches() > 0 { table.layout(file, 0)?.rows } else { 0 };
        Ok(Self { table, coding, signal, samples, rows_per_batch, batches })
    }

    /// How the rows hold their samples.
    #[must_use]
    pub fn coding(&self) -> RowCoding {
        self.coding
    }

    /// Place of row `row` of the table.
    ///
    /// # Errors
    /// When there is no such row, or its batch is damaged.
    pub fn row(&self, file: &dyn ReadAt, row: u64) -> Result<SignalRow, Pod5FormatError> {
        let none = || Pod5FormatError::NoRow { row };
        let batch = row.checked_div(self.rows_per_batch).and_then(|batch| batch.try_into().ok());
        let batch: usize = batch.ok_or_else(none)?;
        let cell = self.batches.get(batch).ok_or_else(none)?;
        let rows = match cell.get() {
            Some(rows) => rows,
            None => {
                let rows = self.rows(file, batch)?;
                cell.get_or_init(|| rows)
            }
        };
        let place = (row % self.rows_per_batch) as usize;
        let samples = *rows.samples.get(place).ok_or_else(none)?;
        let bounds = rows.bounds.get(place).zip(rows.bounds.get(place + 1));
        let (start, end) = bounds.ok_or_else(none)?;
        let span = Span { offset: rows.at + start, len: end - start };
        Ok(SignalRow { span, samples })
    }

    /// Reads where the rows of a batch are.
    fn rows(&self, file: &dyn ReadAt, batch: usize) -> Result<Rows, Pod5FormatError> {
        let layout = self.table.layout(file, batch)?;
        let at = layout.at;
        let malformed = |what| Pod5FormatError::Malformed { what, at };
        let is_last = batch + 1 == self.batches.len();
        if layout.rows != self.rows_per_batch && !(is_last && layout.rows < self.rows_per_batch) {
            return Err(Pod5FormatError::Unsupported { what: "batches of unequal size", at });
        }
        let columns = layout.columns.get(self.signal).zip(layout.columns.get(self.samples));
        let (signal, samples) = columns.ok_or_else(|| malformed("a batch without signal"))?;
        if signal.validity.len > 0 || samples.validity.len > 0 {
            return Err(malformed("a row without signal"));
        }
        let (data, element_bytes) = match (self.coding, signal.children.first()) {
            (RowCoding::Vbz, _) => (signal.data, 1),
            (RowCoding::Plain, Some(child)) => (child.values, 2),
            (RowCoding::Plain, None) => return Err(malformed("a list without elements")),
        };
        let samples = read_numbers(file, &layout, samples.values, layout.rows)?;
        let samples = samples.iter().map(|&word| u32::from_le_bytes(word)).collect();
        let kind = self.table.schema().fields[self.signal].kind;
        let wide = matches!(kind, DataType::Bytes { wide: true } | DataType::List { wide: true });
        let bounds = layout.rows + u64::from(layout.rows > 0);
        let bounds: Vec<i64> = if wide {
            let words = read_numbers(file, &layout, signal.values, bounds)?;
            words.iter().map(|&word| i64::from_le_bytes(word)).collect()
        } else {
            let words = read_numbers(file, &layout, signal.values, bounds)?;
            words.iter().map(|&word| i64::from(i32::from_le_bytes(word))).collect()
        };
        let most = (data.len / element_bytes) as i64;
        let in_order = bounds.is_sorted() && bounds.first().is_none_or(|&first| first >= 0);
        if !in_order || bounds.last().is_some_and(|&last| last > most) {
            return Err(malformed("rows of signal outside their batch"));
        }
        let bounds = bounds.iter().map(|&bound| bound as u64 * element_bytes).collect();
        Ok(Rows { at: at + data.offset, bounds, samples })
    }
}

/// `count` numbers of `N` bytes from a buffer of a batch, which is in the file.
fn read_numbers<const N: usize>(
    file: &dyn ReadAt,
    layout: &BatchLayout,
    buffer: Buffer,
    count: u64,
) -> Result<Vec<[u8; N]>, Pod5FormatError> {
    if count.checked_mul(N as u64).is_none_or(|bytes| bytes > buffer.len) {
        let what = "a column of signal that is too short";
        return Err(Pod5FormatError::Malformed { what, at: layout.at });
    }
    let mut words = vec![[0; N]; count as usize];
    file.read_exact_at(words.as_flattened_mut(), layout.at + buffer.offset)?;
    Ok(words)
}
