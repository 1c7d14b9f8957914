//! Columns of auxiliary fields.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{ListBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::DataType;
use seqloom_format::signal::{AuxiliaryField, AuxiliaryType};

/// Values of a field.
pub(super) trait Values {
    /// Appends a value as it is kept; `None` where a file has no such field.
    fn append(&mut self, value: Option<&[u8]>) -> Result<(), String>;
    fn finish(&mut self) -> ArrayRef;
}

/// A number from its little-endian bytes.
type Parse<T> = fn(&[u8]) -> Option<<T as ArrowPrimitiveType>::Native>;

struct Numbers<T: ArrowPrimitiveType> {
    parse: Parse<T>,
    missing: Vec<u8>,
    builder: PrimitiveBuilder<T>,
}

impl<T: ArrowPrimitiveType> Values for Numbers<T> {
    fn append(&mut self, value: Option<&[u8]>) -> Result<(), String> {
        let value = value.filter(|value| *value != self.missing.as_slice());
        self.builder.append_option(value.and_then(self.parse));
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

struct Lists<T: ArrowPrimitiveType> {
    parse: Parse<T>,
    size_bytes: usize,
    builder: ListBuilder<PrimitiveBuilder<T>>,
}

impl<T: ArrowPrimitiveType> Values for Lists<T> {
    fn append(&mut self, value: Option<&[u8]>) -> Result<(), String> {
        for bytes in value.unwrap_or_default().chunks_exact(self.size_bytes) {
            self.builder.values().append_option((self.parse)(bytes));
        }
        self.builder.append(value.is_some_and(|value| !value.is_empty()));
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

/// Text, and labels of enums. SLOW5 has ASCII here (specification 1.0.0), but nobody checks it:
/// bytes that are not UTF-8 become U+FFFD, for one odd comment must not cost the table.
struct Texts {
    labels: Option<Vec<Vec<u8>>>,
    builder: StringBuilder,
}

impl Values for Texts {
    fn append(&mut self, value: Option<&[u8]>) -> Result<(), String> {
        let text = match (&self.labels, value) {
            (Some(labels), Some(&[index])) => labels.get(usize::from(index)).map(Vec::as_slice),
            (Some(_), _) => None,
            (None, value) => value.filter(|text| !text.is_empty() && *text != b"\0"),
        };
        self.builder.append_option(text.map(String::from_utf8_lossy));
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

fn numbers<T: ArrowPrimitiveType>(field: &AuxiliaryField, parse: Parse<T>) -> Box<dyn Values> {
    if field.is_array {
        let size_bytes = field.kind.size_bytes();
        return Box::new(Lists {
            parse,
            size_bytes,
            builder: ListBuilder::<PrimitiveBuilder<T>>::new(PrimitiveBuilder::new()),
        });
    }
    let missing = field.kind.missing();
    Box::new(Numbers { parse, missing, builder: PrimitiveBuilder::<T>::new() })
}

/// A builder of a field's column.
pub(super) fn values(field: &AuxiliaryField) -> Box<dyn Values> {
    use AuxiliaryType as Kind;
    let texts = |labels| Box::new(Texts { labels, builder: StringBuilder::new() });
    match &field.kind {
        Kind::I8 => {
            numbers::<Int8Type>(field, |it| it.first_chunk().copied().map(i8::from_le_bytes))
        }
        Kind::I16 => {
            numbers::<Int16Type>(field, |it| it.first_chunk().copied().map(i16::from_le_bytes))
        }
        Kind::I32 => {
            numbers::<Int32Type>(field, |it| it.first_chunk().copied().map(i32::from_le_bytes))
        }
        Kind::I64 => {
            numbers::<Int64Type>(field, |it| it.first_chunk().copied().map(i64::from_le_bytes))
        }
        Kind::U16 => {
            numbers::<UInt16Type>(field, |it| it.first_chunk().copied().map(u16::from_le_bytes))
        }
        Kind::U32 => {
            numbers::<UInt32Type>(field, |it| it.first_chunk().copied().map(u32::from_le_bytes))
        }
        Kind::U64 => {
            numbers::<UInt64Type>(field, |it| it.first_chunk().copied().map(u64::from_le_bytes))
        }
        Kind::F32 => {
            numbers::<Float32Type>(field, |it| it.first_chunk().copied().map(f32::from_le_bytes))
        }
        Kind::F64 => {
            numbers::<Float64Type>(field, |it| it.first_chunk().copied().map(f64::from_le_bytes))
        }
        Kind::Char => texts(None),
        Kind::Enum(labels) if !field.is_array => texts(Some(labels.clone())),
        Kind::U8 | Kind::Enum(_) => numbers::<UInt8Type>(field, |it| it.first().copied()),
    }
}

/// The type of a field's column.
pub(super) fn data_type(field: &AuxiliaryField) -> DataType {
    use AuxiliaryType as Kind;
    let one = match &field.kind {
        Kind::I8 => DataType::Int8,
        Kind::I16 => DataType::Int16,
        Kind::I32 => DataType::Int32,
        Kind::I64 => DataType::Int64,
        Kind::U16 => DataType::UInt16,
        Kind::U32 => DataType::UInt32,
        Kind::U64 => DataType::UInt64,
        Kind::F32 => DataType::Float32,
        Kind::F64 => DataType::Float64,
        Kind::Char => return DataType::Utf8,
        Kind::Enum(_) if !field.is_array => return DataType::Utf8,
        Kind::U8 | Kind::Enum(_) => DataType::UInt8,
    };
    if field.is_array { DataType::new_list(one, true) } else { one }
}
