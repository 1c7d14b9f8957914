//! Auxiliary fields of a read: their types, conversion, and their place in the header.

use seqloom_format::hdf5::Datatype;
use seqloom_format::signal::{AuxiliaryField, AuxiliaryType, AuxiliaryValues};

use super::engine::{Field, FieldValue};
use super::error::{Fast5Problem, lossy};

/// Type of a field, without labels: these are with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number(Number),
    Text,
    Enum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

impl Number {
    fn of_integer(size_bytes: u32, signed: bool) -> Self {
        match (size_bytes, signed) {
            (1, true) => Self::I8,
            (2, true) => Self::I16,
            (3 | 4, true) => Self::I32,
            (_, true) => Self::I64,
            (1, false) => Self::U8,
            (2, false) => Self::U16,
            (3 | 4, false) => Self::U32,
            (_, false) => Self::U64,
        }
    }

    pub(super) fn kind(self) -> AuxiliaryType {
        match self {
            Self::I8 => AuxiliaryType::I8,
            Self::I16 => AuxiliaryType::I16,
            Self::I32 => AuxiliaryType::I32,
            Self::I64 => AuxiliaryType::I64,
            Self::U8 => AuxiliaryType::U8,
            Self::U16 => AuxiliaryType::U16,
            Self::U32 => AuxiliaryType::U32,
            Self::U64 => AuxiliaryType::U64,
            Self::F32 => AuxiliaryType::F32,
            Self::F64 => AuxiliaryType::F64,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::I8 => "int8_t",
            Self::I16 => "int16_t",
            Self::I32 => "int32_t",
            Self::I64 => "int64_t",
            Self::U8 => "uint8_t",
            Self::U16 => "uint16_t",
            Self::U32 => "uint32_t",
            Self::U64 => "uint64_t",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// Converts a value of another type, as little-endian bytes of both.
    pub(super) fn convert(self, from: &AuxiliaryType, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(size_bytes) = u32::try_from(bytes.len()) else { return false };
        if bytes.len() != from.size_bytes() {
            return false;
        }
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(padded);
        let integer = |signed| {
            let unused = 64 - 8 * size_bytes;
            let value = match signed {
                true => i128::from((bits << unused) as i64 >> unused),
                false => i128::from(bits),
            };
            FieldValue::Integer { value, size_bytes, signed }
        };
        let value = match from {
            AuxiliaryType::F32 => FieldValue::F32(f32::from_bits(bits as u32)),
            AuxiliaryType::F64 => FieldValue::F64(f64::from_bits(bits)),
            AuxiliaryType::Char | AuxiliaryType::Enum(_) => return false,
            AuxiliaryType::I8 | AuxiliaryType::I16 | AuxiliaryType::I32 | AuxiliaryType::I64 => {
                integer(true)
            }
            _ => integer(false),
        };
        self.encode(value, out)
    }

    /// The value as little-endian bytes of this type, when it is one of it.
    fn encode(self, value: FieldValue<'_>, out: &mut Vec<u8>) -> bool {
        macro_rules! integer {
            ($type:ty) => {
                match value {
                    FieldValue::Integer { value, .. } => match <$type>::try_from(value) {
                        Ok(value) => out.extend_from_slice(&value.to_le_bytes()),
                        Err(_) => return false,
                    },
                    _ => return false,
                }
            };
        }
        match self {
            Self::I8 => integer!(i8),
            Self::I16 => integer!(i16),
            Self::I32 => integer!(i32),
            Self::I64 => integer!(i64),
            Self::U8 => integer!(u8),
            Self::U16 => integer!(u16),
            Self::U32 => integer!(u32),
            Self::U64 => integer!(u64),
            Self::F32 => match value {
                FieldValue::F32(value) => out.extend_from_slice(&value.to_le_bytes()),
                _ => return false,
            },
            Self::F64 => match value {
                FieldValue::F64(value) => out.extend_from_slice(&value.to_le_bytes()),
                FieldValue::F32(value) => out.extend_from_slice(&f64::from(value).to_le_bytes()),
                _ => return false,
            },
        }
        true
    }
}

/// Fields that FAST5 readers know, and their types in SLOW5. `end_reason` is not among them: it has
/// its labels from the file.
pub(super) const KNOWN: [(&[u8], Kind); 5] = [
    (b"start_time", Kind::Number(Number::U64)),
    (b"read_number", Kind::Number(Number::I32)),
    (b"start_mux", Kind::Number(Number::U8)),
    (b"median_before", Kind::Number(Number::F64)),
    (b"channel_number", Kind::Text),
];

/// Whether an attribute of this name is an auxiliary field.
pub(super) fn is_known(name: &[u8]) -> bool {
    name == b"end_reason" || KNOWN.iter().any(|(known, _)| *known == name)
}

/// The auxiliary fields of one read as they were met, in recycled buffers.
#[derive(Debug, Default)]
pub(super) struct Auxiliary {
    bytes: Vec<u8>,
    fields: Vec<Met>,
}

#[derive(Debug, Clone, Copy)]
struct Met {
    kind: Kind,
    /// Name, value and labels are one after the other in `bytes`, ending here.
    start: usize,
    name_end: usize,
    value_end: usize,
    labels_end: usize,
}

impl Auxiliary {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    /// Adds a field, converted to the type that it has in SLOW5.
    pub(super) fn push(&mut self, field: Field<'_>) -> Result<(), Fast5Problem> {
        let Field { name, value } = field;
        if self.find(name).is_some() {
            return Err(Fast5Problem::Duplicate(lossy(name)));
        }
        let kind = match KNOWN.iter().find(|(known, _)| *known == name) {
            Some(&(_, kind)) => kind,
            None => own_kind(name, value)?,
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        let name_end = self.bytes.len();
        let convert = |expected| Fast5Problem::ConvertAuxiliary { name: lossy(name), expected };
        match (kind, value) {
            (Kind::Number(number), value) => {
                if !number.encode(value, &mut self.bytes) {
                    return Err(convert(number.name()));
                }
            }
            (Kind::Text, FieldValue::Text(text)) => self.bytes.extend_from_slice(text),
            (Kind::Enum, FieldValue::Enum { value, .. }) => {
                // 255 is SLOW5's missing value, and so it may stay.
                let value = u8::try_from(value);
                self.bytes.push(value.map_err(|_| Fast5Problem::EnumLabels(lossy(name)))?);
            }
            (Kind::Text, _) => return Err(convert("char*")),
            (Kind::Enum, _) => return Err(convert("enum")),
        }
        let value_end = self.bytes.len();
        if let FieldValue::Enum { datatype, .. } = value {
            append_labels(datatype, &mut self.bytes)
                .ok_or_else(|| Fast5Problem::EnumLabels(lossy(name)))?;
        }
        let labels_end = self.bytes.len();
        self.fields.push(Met { kind, start, name_end, value_end, labels_end });
        Ok(())
    }

    fn name(&self, met: Met) -> &[u8] {
        &self.bytes[met.start..met.name_end]
    }

    fn value(&self, met: Met) -> &[u8] {
        &self.bytes[met.name_end..met.value_end]
    }

    fn labels(&self, met: Met) -> &[u8] {
        &self.bytes[met.value_end..met.labels_end]
    }

    fn find(&self, name: &[u8]) -> Option<Met> {
        self.fields.iter().copied().find(|&met| self.name(met) == name)
    }

    /// Adds the fields that `columns` lacks, each after the one that it follows here.
    pub(super) fn add_columns(&self, columns: &mut Vec<AuxiliaryField>) {
        let mut place = 0;
        for &met in &self.fields {
            let name = self.name(met);
            match columns.iter().position(|column| column.name == name) {
                Some(found) => place = found + 1,
                None => {
                    columns.insert(place, self.column(met));
                    place += 1;
                }
            }
        }
    }

    fn column(&self, met: Met) -> AuxiliaryField {
        let split = |labels: &[u8]| labels.split(|&b| b == b',').map(<[u8]>::to_vec).collect();
        let (kind, is_array) = match met.kind {
            Kind::Number(number) => (number.kind(), false),
            Kind::Text => (AuxiliaryType::Char, true),
            Kind::Enum => (AuxiliaryType::Enum(split(self.labels(met))), false),
        };
        AuxiliaryField { name: self.name(met).to_vec(), kind, is_array }
    }

    /// Appends one value for each of `columns`, missing ones as such.
    pub(super) fn values(
        &self,
        columns: &[AuxiliaryField],
        out: &mut AuxiliaryValues,
    ) -> Result<(), Fast5Problem> {
        for column in columns {
            let Some(met) = self.find(&column.name) else {
                push_missing(column, out);
                continue;
            };
            let value = self.value(met);
            let convert = |expected| {
                let name = lossy(&column.name);
                Fast5Problem::ConvertAuxiliary { name, expected }
            };
            match (&column.kind, met.kind) {
                (AuxiliaryType::Char, Kind::Text) => out.push(value),
                (AuxiliaryType::Enum(labels), Kind::Enum) => {
                    let value = self.relabelled(met, labels);
                    let lacks = || Fast5Problem::EnumLabels(lossy(&column.name));
                    out.push(&[value.ok_or_else(lacks)?]);
                }
                (kind, Kind::Number(number)) if *kind == number.kind() => out.push(value),
                _ => return Err(convert("what it is in the first read")),
            }
        }
        Ok(())
    }

    /// The number that an enum's value has among `labels`, which may be in another order.
    fn relabelled(&self, met: Met, labels: &[Vec<u8>]) -> Option<u8> {
        let &[value] = self.value(met) else { return None };
        if value == u8::MAX {
            return Some(value);
        }
        let label = self.labels(met).split(|&b| b == b',').nth(usize::from(value))?;
        if labels.get(usize::from(value)).is_some_and(|same| same == label) {
            return Some(value);
        }
        labels.iter().position(|known| known == label).and_then(|place| u8::try_from(place).ok())
    }
}

/// Type of a field that is not known by name: that of the attribute.
fn own_kind(name: &[u8], value: FieldValue<'_>) -> Result<Kind, Fast5Problem> {
    let is_end_reason = name == b"end_reason";
    let expected = "an enum of bytes";
    match value {
        // compress_fast5 of ont_fast5_api makes the enum a plain byte (slow5tools issue 59).
        FieldValue::Integer { size_bytes, signed, .. }
            if !is_end_reason || (size_bytes, signed) == (1, false) =>
        {
            Ok(Kind::Number(Number::of_integer(size_bytes, signed)))
        }
        FieldValue::Enum { .. } => Ok(Kind::Enum),
        _ if is_end_reason => Err(Fast5Problem::ConvertAuxiliary { name: lossy(name), expected }),
        FieldValue::F32(_) => Ok(Kind::Number(Number::F32)),
        FieldValue::F64(_) => Ok(Kind::Number(Number::F64)),
        FieldValue::Text(_) => Ok(Kind::Text),
        FieldValue::Integer { .. } | FieldValue::Other => {
            Err(Fast5Problem::AttributeType(lossy(name)))
        }
    }
}

/// Appends the labels of an enum in the order of their values, with commas between them. None when
/// the values are not 0 to the number of labels, or a label is no C identifier (SLOW5 1.0.0).
fn append_labels(datatype: &Datatype, out: &mut Vec<u8>) -> Option<()> {
    let count = datatype.members().len();
    if count == 0 || count > 255 {
        return None;
    }
    for value in 0..count as u64 {
        let mut found = datatype.members().skip(value as usize).chain(datatype.members());
        let label = found.find(|member| member.value == value)?.name;
        let is_word = |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if !label.iter().all(is_word) || label.first().is_none_or(u8::is_ascii_digit) {
            return None;
        }
        if value > 0 {
            out.push(b',');
        }
        out.extend_from_slice(label);
    }
    Some(())
}

fn push_missing(column: &AuxiliaryField, out: &mut AuxiliaryValues) {
    if column.is_array {
        out.push(b"");
    } else {
        out.push(&column.kind.missing());
    }
}
