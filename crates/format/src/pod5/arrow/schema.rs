//! The schema of a table: names and types of its columns (Arrow's `Schema.fbs`).

use super::super::flatbuffers::{FlatError, Table};

/// Deepest nesting of columns that is read: a map in a structure in a dictionary has 5.
const MAX_DEPTH: usize = 8;
/// Most fields of a schema, nested ones and pairs of their metadata included. The newest reads
/// table has 26.
const MAX_FIELDS: usize = 4096;

/// Longest name of a field, an extension type or a time zone.
const MAX_NAME_BYTES: usize = 1024;

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataType {
    /// Integers of this many bytes.
    Integer {
        /// 1, 2, 4 or 8.
        bytes: usize,
        /// Whether it has a sign.
        signed: bool,
    },
    /// IEEE numbers of this many bytes.
    Float {
        /// 2, 4 or 8.
        bytes: usize,
    },
    /// One bit each.
    Bool,
    /// Text or bytes; `wide` with 64-bit offsets.
    Bytes {
        /// Whether offsets have 64 bits.
        wide: bool,
    },
    /// Values of this many bytes.
    Fixed {
        /// Width of a value.
        bytes: usize,
    },
    /// Lists of what the one child holds, maps among them; `wide` with 64-bit offsets.
    List {
        /// Whether offsets have 64 bits.
        wide: bool,
    },
    /// A row of each child.
    Struct,
    /// Moments, as 64-bit integers since 1970.
    Timestamp {
        /// How many make a second: 1, 1,000, 1,000,000 or 1,000,000,000.
        per_second: i64,
    },
    /// A type that POD5 does not use: only its buffers are counted, so that it can be passed over.
    Other {
        /// Buffers of a column of it.
        buffers: usize,
    },
}

/// A column, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: Vec<u8>,
    /// Type of its values; of a dictionary's values where it has a dictionary.
    pub(crate) kind: DataType,
    /// Id and type of the indices of its dictionary.
    pub(crate) dictionary: Option<(i64, DataType)>,
    /// Parts of a structure, the element of a list.
    pub(crate) children: Vec<Field>,
    /// Name of the extension type (`ARROW:extension:name`), empty without.
    pub(crate) extension: Vec<u8>,
    /// Time zone of a timestamp; empty without.
    pub(crate) time_zone: Vec<u8>,
}

/// The columns of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Schema {
    /// In order.
    pub(crate) fields: Vec<Field>,
}

impl Schema {
    /// Reads a `Schema` table.
    ///
    /// # Errors
    /// When it is damaged, big-endian, nested deeper than 8 or has more than 4,096 fields.
    pub(super) fn parse(schema: &Table<'_>) -> Result<Self, FlatError> {
        if schema.i16(0)? != 0 {
            return Err(FlatError { what: "a table with big-endian numbers", at: 0 });
        }
        let mut budget = MAX_FIELDS;
        let fields = parse_fields(schema, 1, MAX_DEPTH, &mut budget)?;
        Ok(Self { fields })
    }

    /// The place of the column called `name`.
    #[must_use]
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name.as_bytes())
    }
}

const TOO_MANY: FlatError = FlatError { what: "a schema with too many or too deep fields", at: 0 };

/// A copy of a short text: hostile tables may all refer to one long one.
fn name(table: &Table<'_>, slot: usize) -> Result<Vec<u8>, FlatError> {
    let text = table.string(slot)?;
    if text.len() > MAX_NAME_BYTES {
        return Err(FlatError { what: "a name that is too long", at: 0 });
    }
    Ok(text.to_vec())
}

/// The fields in vector `slot` of `parent`.
fn parse_fields(
    parent: &Table<'_>,
    slot: usize,
    depth: usize,
    budget: &mut usize,
) -> Result<Vec<Field>, FlatError> {
    let Some(vector) = parent.vector(slot, 4)? else { return Ok(Vec::new()) };
    if depth == 0 && !vector.is_empty() {
        return Err(TOO_MANY);
    }
    *budget = budget.checked_sub(vector.len()).ok_or(TOO_MANY)?;
    let mut fields = Vec::with_capacity(vector.len());
    for table in vector.tables() {
        fields.push(parse_field(&table?, depth, budget)?);
    }
    Ok(fields)
}

fn parse_field(field: &Table<'_>, depth: usize, budget: &mut usize) -> Result<Field, FlatError> {
    let kind = parse_kind(field.u8(2)?, field.table(3)?)?;
    let mut time_zone = Vec::new();
    if let (DataType::Timestamp { .. }, Some(stamp)) = (kind, field.table(3)?) {
        time_zone = name(&stamp, 1)?;
    }
    let dictionary = match field.table(4)? {
        None => None,
        Some(encoding) => {
            // Indices are 32-bit where the type is left out.
            let default = DataType::Integer { bytes: 4, signed: true };
            let index = encoding.table(1)?.map_or(Ok(default), |index| integer(&index))?;
            Some((encoding.i64(0)?, index))
        }
    };
    let mut extension = Vec::new();
    if let Some(metadata) = field.vector(6, 4)? {
        *budget = budget.checked_sub(metadata.len()).ok_or(TOO_MANY)?;
        for pair in metadata.tables() {
            let pair = pair?;
            if pair.string(0)? == b"ARROW:extension:name" {
                extension = name(&pair, 1)?;
            }
        }
    }
    let children = parse_fields(field, 5, depth - 1, budget)?;
    let expected = match kind {
        DataType::List { .. } => Some(1),
        DataType::Integer { .. } | DataType::Float { .. } | DataType::Bool => Some(0),
        DataType::Bytes { .. } | DataType::Fixed { .. } | DataType::Timestamp { .. } => Some(0),
        DataType::Struct | DataType::Other { .. } => None,
    };
    if expected.is_some_and(|expected| expected != children.len()) {
        return Err(FlatError { what: "a field with the wrong number of children", at: 0 });
    }
    let name = name(field, 0)?;
    Ok(Field { name, kind, dictionary, children, extension, time_zone })
}

/// An `Int` table.
fn integer(table: &Table<'_>) -> Result<DataType, FlatError> {
    let bytes = match table.i32(0)? {
        8 => 1,
        16 => 2,
        32 => 4,
        64 => 8,
        _ => return Err(FlatError { what: "an integer of odd width", at: 0 }),
    };
    Ok(DataType::Integer { bytes, signed: table.u8(1)? != 0 })
}

/// The union `Type`, by its number in `Schema.fbs`.
fn parse_kind(number: u8, table: Option<Table<'_>>) -> Result<DataType, FlatError> {
    let untyped = FlatError { what: "a field without a type", at: 0 };
    let table = table.ok_or(untyped)?;
    Ok(match number {
        1 => DataType::Other { buffers: 0 },
        2 => integer(&table)?,
        3 => match table.i16(0)? {
            0 => DataType::Float { bytes: 2 },
            1 => DataType::Float { bytes: 4 },
            2 => DataType::Float { bytes: 8 },
            _ => return Err(FlatError { what: "a float of odd width", at: 0 }),
        },
        4 | 5 => DataType::Bytes { wide: false },
        6 => DataType::Bool,
        // Decimal, date, time, interval, duration.
        7 | 8 | 9 | 11 | 18 => DataType::Other { buffers: 2 },
        10 => DataType::Timestamp {
            per_second: match table.i16(0)? {
                0 => 1,
                1 => 1_000,
                2 => 1_000_000,
                3 => 1_000_000_000,
                _ => return Err(FlatError { what: "a timestamp of odd unit", at: 0 }),
            },
        },
        12 | 17 => DataType::List { wide: false },
        13 => DataType::Struct,
        15 => match usize::try_from(table.i32(0)?) {
            Ok(bytes) => DataType::Fixed { bytes },
            Err(_) => return Err(FlatError { what: "a value of negative width", at: 0 }),
        },
        16 => DataType::Other { buffers: 1 },
        19 | 20 => DataType::Bytes { wide: true },
        21 => DataType::List { wide: true },
        22 => DataType::Other { buffers: 0 },
        // Unions and views, whose number of buffers varies, and what may come.
        _ => return Err(FlatError { what: "a column of a type that is not supported", at: 0 }),
    })
}
