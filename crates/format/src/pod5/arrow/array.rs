//! The values of a column, each checked when it is requested.

use std::ops::Range;

use super::layout::{Buffer, ColumnLayout};
use super::schema::{DataType, Field};

/// A batch in memory.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// Number of rows, as it says.
    pub(crate) rows: u64,
    /// Offset of its body in the file.
    pub at: u64,
    /// The body.
    pub body: Vec<u8>,
    /// One for each field of the schema.
    pub(crate) columns: Vec<ColumnLayout>,
}

/// A column of a batch, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Array<'a> {
    field: &'a Field,
    kind: DataType,
    layout: &'a ColumnLayout,
    body: &'a [u8],
    at: u64,
}

/// Problem of a value.
pub(crate) type ValueError = &'static str;

impl Batch {
    /// Column `index`: of a dictionary, its indices.
    #[must_use]
    pub(crate) fn column<'a>(&'a self, fields: &'a [Field], index: usize) -> Option<Array<'a>> {
        Array::new(fields.get(index)?, self.columns.get(index)?, &self.body, self.at, false)
    }

    /// The values of a dictionary whose column is `field`.
    #[must_use]
    pub(super) fn values<'a>(&'a self, field: &'a Field) -> Option<Array<'a>> {
        Array::new(field, self.columns.first()?, &self.body, self.at, true)
    }
}

impl<'a> Array<'a> {
    fn new(
        field: &'a Field,
        layout: &'a ColumnLayout,
        body: &'a [u8],
        at: u64,
        of_dictionary: bool,
    ) -> Option<Self> {
        let index = field.dictionary.filter(|_| !of_dictionary).map(|(_, index)| index);
        Some(Self { field, kind: index.unwrap_or(field.kind), layout, body, at })
    }

    /// The field it belongs to.
    #[must_use]
    pub(crate) fn field(&self) -> &'a Field {
        self.field
    }

    /// Type of its values; of the indices where these refer to a dictionary.
    #[must_use]
    pub(crate) fn kind(&self) -> DataType {
        self.kind
    }

    /// Whether it is a structure.
    #[must_use]
    pub(crate) fn is_struct(&self) -> bool {
        self.kind == DataType::Struct
    }

    /// Offset in the file of the body that it is in.
    #[must_use]
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Bytes of the body it is in.
    #[must_use]
    pub(crate) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    fn bytes_of(&self, buffer: Buffer) -> &'a [u8] {
        let range = buffer.offset as usize..(buffer.offset + buffer.len) as usize;
        self.body.get(range).unwrap_or(&[])
    }

    /// Element `row` of values of `N` bytes.
    fn word<const N: usize>(&self, row: usize) -> Result<[u8; N], ValueError> {
        let (words, _) = self.bytes_of(self.layout.values).as_chunks();
        words.get(row).copied().ok_or("a value past the end of its buffer")
    }

    /// Whether the value is missing; a row past the end is an error.
    fn is_missing(&self, row: usize) -> Result<bool, ValueError> {
        if row as u64 >= self.layout.rows {
            return Err("a row past the end of its column");
        }
        if self.layout.validity.len == 0 {
            return Ok(false);
        }
        let byte = self.bytes_of(self.layout.validity).get(row / 8);
        byte.map(|byte| byte >> (row % 8) & 1 == 0).ok_or("a row past the marks of missing values")
    }

    /// An integer of any width, or the count of a timestamp; `None` when missing.
    ///
    /// # Errors
    /// When the column holds something else or the value is not there.
    pub(crate) fn integer(&self, row: usize) -> Result<Option<i128>, ValueError> {
        if self.is_missing(row)? {
            return Ok(None);
        }
        Ok(Some(match self.kind {
            DataType::Integer { bytes: 1, signed: true } => {
                i8::from_le_bytes(self.word(row)?).into()
            }
            DataType::Integer { bytes: 1, .. } => u8::from_le_bytes(self.word(row)?).into(),
            DataType::Integer { bytes: 2, signed: true } => {
                i16::from_le_bytes(self.word(row)?).into()
            }
            DataType::Integer { bytes: 2, .. } => u16::from_le_bytes(self.word(row)?).into(),
            DataType::Integer { bytes: 4, signed: true } => {
                i32::from_le_bytes(self.word(row)?).into()
            }
            DataType::Integer { bytes: 4, .. } => u32::from_le_bytes(self.word(row)?).into(),
            DataType::Integer { signed: true, .. } | DataType::Timestamp { .. } => {
                i64::from_le_bytes(self.word(row)?).into()
            }
            DataType::Integer { .. } => u64::from_le_bytes(self.word(row)?).into(),
            _ => return Err("no integer"),
        }))
    }

    /// A 32-bit number; `None` when missing.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub(crate) fn float(&self, row: usize) -> Result<Option<f32>, ValueError> {
        if self.is_missing(row)? {
            return Ok(None);
        }
        match self.kind {
            DataType::Float { bytes: 4 } => Ok(Some(f32::from_le_bytes(self.word(row)?))),
            _ => Err("no 32-bit number"),
        }
    }

    /// Text or bytes; `None` when missing.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub(crate) fn bytes(&self, row: usize) -> Result<Option<&'a [u8]>, ValueError> {
        if self.is_missing(row)? {
            return Ok(None);
        }
        let (buffer, range) = match self.kind {
            DataType::Bytes { wide } => (self.layout.data, self.offsets(row, wide)?),
            DataType::Fixed { bytes } => {
                let start = row.checked_mul(bytes).ok_or("a row that overflows")?;
                (self.layout.values, start..start.saturating_add(bytes))
            }
            _ => return Err("neither text nor bytes"),
        };
        self.bytes_of(buffer).get(range).map(Some).ok_or("bytes past the end of their buffer")
    }

    /// Which elements of the child belong to `row`; `None` when missing. The range is in order, but
    /// the child may have fewer elements.
    ///
    /// # Errors
    /// As [`Self::integer`].
    pub(crate) fn list(&self, row: usize) -> Result<Option<Range<usize>>, ValueError> {
        if self.is_missing(row)? {
            return Ok(None);
        }
        match self.kind {
            DataType::List { wide } => self.offsets(row, wide).map(Some),
            _ => Err("no list"),
        }
    }

    fn offsets(&self, row: usize, wide: bool) -> Result<Range<usize>, ValueError> {
        let next = row.checked_add(1).ok_or("a row that overflows")?;
        let offset = |row: usize| -> Result<usize, ValueError> {
            let offset = match wide {
                true => i64::from_le_bytes(self.word(row)?),
                false => i32::from_le_bytes(self.word(row)?).into(),
            };
            usize::try_from(offset).map_err(|_| "a negative offset")
        };
        let range = offset(row)?..offset(next)?;
        if range.start > range.end { Err("offsets in the wrong order") } else { Ok(range) }
    }

    /// Child `index`: part of a structure, elements of a list.
    #[must_use]
    pub(crate) fn child(&self, index: usize) -> Option<Self> {
        let (field, layout) = (self.field.children.get(index)?, self.layout.children.get(index)?);
        Self::new(field, layout, self.body, self.at, false)
    }

    /// The part of a structure that is called `name`.
    #[must_use]
    pub(crate) fn part(&self, name: &str) -> Option<Self> {
        let named = |field: &Field| field.name == name.as_bytes();
        self.child(self.field.children.iter().position(named)?)
    }
}
