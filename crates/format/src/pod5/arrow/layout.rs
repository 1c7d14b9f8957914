//! Where in the body of a batch the buffers of each column are (Arrow's `Message.fbs`).

use super::super::flatbuffers::{FlatError, Table};
use super::schema::{DataType, Field};

/// Part of a body. It is in the body: that is checked once, when the layout is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Buffer {
    /// First byte, from the start of the body.
    pub(crate) offset: u64,
    /// Number of bytes.
    pub(crate) len: u64,
}

/// The buffers of a column and of its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnLayout {
    /// Number of values, as it says: what the buffers hold may be less.
    pub(crate) rows: u64,
    /// Bits of the values that are not missing; empty when none is.
    pub(crate) validity: Buffer,
    /// Values, or offsets into `data`.
    pub(crate) values: Buffer,
    /// Data that offsets lead into.
    pub(crate) data: Buffer,
    /// Parts of a structure, elements of a list.
    pub(crate) children: Vec<ColumnLayout>,
}

/// Reads a `RecordBatch` table: number of rows and layout of `fields`. As the values of a
/// dictionary are laid out where `of_dictionary`.
pub(super) fn parse(
    batch: &Table<'_>,
    fields: &[Field],
    of_dictionary: bool,
    body_bytes: u64,
) -> Result<(u64, Vec<ColumnLayout>), FlatError> {
    if batch.table(3)?.is_some() {
        return Err(FlatError { what: "a batch with compressed buffers: not supported", at: 0 });
    }
    let rows = u64::try_from(batch.i64(0)?);
    let rows = rows.map_err(|_| FlatError { what: "a negative number of rows", at: 0 })?;
    let mut walk = Walk { nodes: pairs(batch, 1)?, buffers: pairs(batch, 2)?, body_bytes };
    let mut columns = Vec::with_capacity(fields.len());
    for field in fields {
        let column = walk.column(field, of_dictionary)?;
        if column.rows != rows {
            return Err(FlatError { what: "columns of different length", at: 0 });
        }
        columns.push(column);
    }
    Ok((rows, columns))
}

/// Vector `slot` of structures of two 64-bit integers.
fn pairs<'a>(batch: &Table<'a>, slot: usize) -> Result<std::slice::ChunksExact<'a, u8>, FlatError> {
    Ok(batch.vector(slot, 16)?.map_or([].chunks_exact(16), |vector| vector.elements()))
}

/// Nodes and buffers are listed depth first.
struct Walk<'a> {
    nodes: std::slice::ChunksExact<'a, u8>,
    buffers: std::slice::ChunksExact<'a, u8>,
    body_bytes: u64,
}

/// The two numbers of such a structure.
fn pair(element: Option<&[u8]>) -> Option<[u64; 2]> {
    let (words, _) = element?.as_chunks::<8>();
    let number = |i: usize| u64::try_from(i64::from_le_bytes(*words.get(i)?)).ok();
    Some([number(0)?, number(1)?])
}

impl Walk<'_> {
    fn buffer(&mut self) -> Result<Buffer, FlatError> {
        let [offset, len] = pair(self.buffers.next())
            .filter(|[offset, len]| offset.checked_add(*len).is_some_and(|e| e <= self.body_bytes))
            .ok_or(FlatError { what: "a buffer that is missing or outside its batch", at: 0 })?;
        Ok(Buffer { offset, len })
    }

    fn column(&mut self, field: &Field, of_dictionary: bool) -> Result<ColumnLayout, FlatError> {
        let missing = FlatError { what: "a column without its place", at: 0 };
        let [rows, nulls] = pair(self.nodes.next()).ok_or(missing)?;
        let index = field.dictionary.filter(|_| !of_dictionary).map(|(_, index)| index);
        let kind = index.unwrap_or(field.kind);
        let count = match kind {
            DataType::Bytes { .. } => 3,
            DataType::Struct => 1,
            DataType::Other { buffers } => buffers,
            _ => 2,
        };
        let mut buffers = [Buffer::default(); 3];
        for buffer in buffers.iter_mut().take(count) {
            *buffer = self.buffer()?;
        }
        let [mut validity, values, data] = buffers;
        if nulls == 0 {
            validity = Buffer::default();
        } else if validity.len.saturating_mul(8) < rows {
            return Err(FlatError { what: "missing values that are not marked", at: 0 });
        }
        let mut children = Vec::new();
        if index.is_none() {
            // Dictionaries inside dictionaries keep indices there.
            for child in &field.children {
                children.push(self.column(child, false)?);
            }
        }
        Ok(ColumnLayout { rows, validity, values, data, children })
    }
}
