//! Columns of arrays: the tags of type `B`.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Int8Type, Int16Type, Int32Type, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_schema::DataType;
use seqloom_format::bam::{AuxArray, AuxValue};

/// Type of the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementKind {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
}

impl ElementKind {
    /// By the letter of SAM.
    pub(super) fn of(letter: u8) -> Option<Self> {
        Some(match letter {
            b'c' => Self::I8,
            b'C' => Self::U8,
            b's' => Self::I16,
            b'S' => Self::U16,
            b'i' => Self::I32,
            b'I' => Self::U32,
            b'f' => Self::F32,
            _ => return None,
        })
    }

    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::I8 => DataType::Int8,
            Self::U8 => DataType::UInt8,
            Self::I16 => DataType::Int16,
            Self::U16 => DataType::UInt16,
            Self::I32 => DataType::Int32,
            Self::U32 => DataType::UInt32,
            Self::F32 => DataType::Float32,
        }
    }
}

type Lists<T> = ListBuilder<PrimitiveBuilder<T>>;

/// Arrays of one type.
pub(super) enum ArrayBuilder {
    I8(Lists<Int8Type>),
    U8(Lists<UInt8Type>),
    I16(Lists<Int16Type>),
    U16(Lists<UInt16Type>),
    I32(Lists<Int32Type>),
    U32(Lists<UInt32Type>),
    F32(Lists<Float32Type>),
}

fn lists<T: ArrowPrimitiveType>() -> Lists<T> {
    ListBuilder::new(PrimitiveBuilder::new())
}

/// Appends an array if `convert` takes each of its elements.
fn append<T: ArrowPrimitiveType>(
    builder: &mut Lists<T>,
    array: AuxArray<'_>,
    convert: impl Fn(AuxValue<'_>) -> Option<T::Native>,
) -> Result<(), String> {
    for element in array.values() {
        let value = convert(element).ok_or_else(|| {
            let subtype = char::from(array.subtype);
            format!("is an array of another type than was requested: B:{subtype}")
        })?;
        builder.values().append_value(value);
    }
    builder.append(true);
    Ok(())
}

/// An element as another integer, if it is one and fits.
fn integer<T: TryFrom<i64>>(element: AuxValue<'_>) -> Option<T> {
    element.as_int().and_then(|value| value.try_into().ok())
}

impl ArrayBuilder {
    pub(super) fn new(kind: ElementKind) -> Self {
        match kind {
            ElementKind::I8 => Self::I8(lists()),
            ElementKind::U8 => Self::U8(lists()),
            ElementKind::I16 => Self::I16(lists()),
            ElementKind::U16 => Self::U16(lists()),
            ElementKind::I32 => Self::I32(lists()),
            ElementKind::U32 => Self::U32(lists()),
            ElementKind::F32 => Self::F32(lists()),
        }
    }

    /// Appends an array; what is wrong with it, if its elements are not of the column's type.
    pub(super) fn append(&mut self, array: AuxArray<'_>) -> Result<(), String> {
        match self {
            Self::I8(builder) => append(builder, array, integer),
            Self::U8(builder) => append(builder, array, integer),
            Self::I16(builder) => append(builder, array, integer),
            Self::U16(builder) => append(builder, array, integer),
            Self::I32(builder) => append(builder, array, integer),
            Self::U32(builder) => append(builder, array, integer),
            Self::F32(builder) => append(builder, array, |element| match element {
                AuxValue::Float(number) => Some(number),
                _ => None,
            }),
        }
    }

    pub(super) fn append_null(&mut self) {
        match self {
            Self::I8(builder) => builder.append(false),
            Self::U8(builder) => builder.append(false),
            Self::I16(builder) => builder.append(false),
            Self::U16(builder) => builder.append(false),
            Self::I32(builder) => builder.append(false),
            Self::U32(builder) => builder.append(false),
            Self::F32(builder) => builder.append(false),
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::I8(builder) => Arc::new(builder.finish()),
            Self::U8(builder) => Arc::new(builder.finish()),
            Self::I16(builder) => Arc::new(builder.finish()),
            Self::U16(builder) => Arc::new(builder.finish()),
            Self::I32(builder) => Arc::new(builder.finish()),
            Self::U32(builder) => Arc::new(builder.finish()),
            Self::F32(builder) => Arc::new(builder.finish()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn elements_are_widened_where_they_fit() {
        let bytes = AuxArray { subtype: b'c', bytes: &[1, 0xff] };
        let mut wide = ArrayBuilder::new(ElementKind::I32);
        wide.append(bytes).unwrap();
        wide.append_null();
        assert_eq!(wide.finish().len(), 2);
        let mut unsigned = ArrayBuilder::new(ElementKind::U8);
        assert!(unsigned.append(bytes).unwrap_err().contains("B:c"));
        let mut floats = ArrayBuilder::new(ElementKind::F32);
        assert!(floats.append(bytes).is_err());
        floats.append(AuxArray { subtype: b'f', bytes: &1_f32.to_le_bytes() }).unwrap();
    }
}
