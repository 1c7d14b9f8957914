//! Columns of tags: their types, and values of records in them.

use std::str::FromStr;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{Float32Builder, Float64Builder, Int64Builder, StringBuilder};
use arrow_schema::DataType;
use seqloom_format::bam::AuxValue;
use seqloom_format::names::is_tag;

use super::arrays::{ArrayBuilder, ElementKind};
use crate::text::{TextBuilder, TextType, utf8};

/// A tag that has a column of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagColumn {
    /// Its two letters.
    pub(super) tag: [u8; 2],
    pub(super) kind: TagKind,
}

/// Type of the values of a tag's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    /// `A`
    Character,
    /// Integers of any width.
    Integer,
    /// `f`
    Float,
    /// `d`, and `f`
    Double,
    /// `Z`
    Text,
    /// `H`
    Hex,
    /// `B`
    Array(ElementKind),
}

impl TagColumn {
    /// The column's name.
    pub(super) fn name(&self) -> String {
        self.tag.iter().map(|&byte| char::from(byte)).collect()
    }
}

/// `NM:i`, `RG:Z`, `ML:B:C`.
impl FromStr for TagColumn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || {
            format!(
                "'{text}' is not a tag with its type, such as NM:i, RG:Z or ML:B:C; types are A, \
                 i, f, d, Z, H, and B: with one of c, C, s, S, i, I and f"
            )
        };
        let (&[t0, t1, b':'], kind) = text.as_bytes().split_first_chunk().ok_or_else(refuse)?
        else {
            return Err(refuse());
        };
        let kind = match kind {
            b"A" => TagKind::Character,
            b"c" | b"C" | b"s" | b"S" | b"i" | b"I" => TagKind::Integer,
            b"f" => TagKind::Float,
            b"d" => TagKind::Double,
            b"Z" => TagKind::Text,
            b"H" => TagKind::Hex,
            [b'B', b':', subtype] | [b'B', subtype] => {
                TagKind::Array(ElementKind::of(*subtype).ok_or_else(refuse)?)
            }
            _ => return Err(refuse()),
        };
        is_tag([t0, t1]).then_some(Self { tag: [t0, t1], kind }).ok_or_else(refuse)
    }
}

impl TagKind {
    pub(super) fn data_type(self, text: TextType) -> DataType {
        match self {
            Self::Character | Self::Hex => DataType::Utf8,
            Self::Integer => DataType::Int64,
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Text => text.data_type(),
            Self::Array(element) => DataType::new_list(element.data_type(), true),
        }
    }
}

/// Values of a tag.
pub(super) enum TagBuilder {
    Character(StringBuilder),
    Integer(Int64Builder),
    Float(Float32Builder),
    Double(Float64Builder),
    Text(TextBuilder),
    Hex(StringBuilder),
    Array(ArrayBuilder),
}

impl TagBuilder {
    pub(super) fn new(kind: TagKind, text: TextType) -> Self {
        match kind {
            TagKind::Character => Self::Character(StringBuilder::new()),
            TagKind::Integer => Self::Integer(Int64Builder::new()),
            TagKind::Float => Self::Float(Float32Builder::new()),
            TagKind::Double => Self::Double(Float64Builder::new()),
            TagKind::Text => Self::Text(TextBuilder::new(text)),
            TagKind::Hex => Self::Hex(StringBuilder::new()),
            TagKind::Array(element) => Self::Array(ArrayBuilder::new(element)),
        }
    }

    /// Appends a value; what is wrong with it, if it is none of the column's.
    pub(super) fn append(&mut self, value: AuxValue<'_>) -> Result<(), String> {
        match (self, value) {
            (Self::Character(builder), AuxValue::Character(letter)) => {
                builder.append_value(utf8(&[letter])?);
            }
            (Self::Integer(builder), value) if value.as_int().is_some() => {
                builder.append_option(value.as_int());
            }
            (Self::Float(builder), AuxValue::Float(number)) => builder.append_value(number),
            (Self::Double(builder), AuxValue::Double(number)) => builder.append_value(number),
            (Self::Double(builder), AuxValue::Float(number)) => builder.append_value(number.into()),
            (Self::Text(builder), AuxValue::String(text)) => builder.append(text)?,
            (Self::Hex(builder), AuxValue::Hex(digits)) => builder.append_value(utf8(digits)?),
            (Self::Array(builder), AuxValue::Array(array)) => builder.append(array)?,
            (_, value) => {
                let kind = kind_of(value);
                return Err(format!("is of another type than was requested: {kind}"));
            }
        }
        Ok(())
    }

    pub(super) fn append_null(&mut self) {
        match self {
            Self::Character(builder) | Self::Hex(builder) => builder.append_null(),
            Self::Integer(builder) => builder.append_null(),
            Self::Float(builder) => builder.append_null(),
            Self::Double(builder) => builder.append_null(),
            Self::Text(builder) => builder.append_null(),
            Self::Array(builder) => builder.append_null(),
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Character(builder) | Self::Hex(builder) => Arc::new(builder.finish()),
            Self::Integer(builder) => Arc::new(builder.finish()),
            Self::Float(builder) => Arc::new(builder.finish()),
            Self::Double(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => builder.finish(),
            Self::Array(builder) => builder.finish(),
        }
    }
}

/// The type of a value as it is requested.
fn kind_of(value: AuxValue<'_>) -> String {
    match value {
        AuxValue::Character(_) => "A".to_owned(),
        AuxValue::Float(_) => "f".to_owned(),
        AuxValue::Double(_) => "d".to_owned(),
        AuxValue::String(_) => "Z".to_owned(),
        AuxValue::Hex(_) => "H".to_owned(),
        AuxValue::Array(array) => format!("B:{}", char::from(array.subtype)),
        _ => "i".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    #[test]
    fn tags_have_types() {
        let kind = |text: &str| text.parse::<TagColumn>().map(|it| it.kind);
        assert_eq!(kind("NM:i"), Ok(TagKind::Integer));
        assert_eq!(kind("X0:C"), Ok(TagKind::Integer));
        assert_eq!(kind("ML:B:C"), kind("ML:BC"));
        assert_eq!("MD:Z".parse::<TagColumn>().unwrap().name(), "MD");
        for bad in ["", "NM", "NM:", "NM:q", "N:i", "NMM:i", "ML:B", "ML:B:Z", "ML:B:d", "é:i"] {
            assert!(kind(bad).unwrap_err().contains("NM:i"), "{bad}");
        }
    }

    #[test]
    fn widths_are_widened_and_other_types_refused() {
        let mut integers = TagBuilder::new(TagKind::Integer, TextType::Utf8);
        integers.append(AuxValue::UInt32(u32::MAX)).unwrap();
        integers.append(AuxValue::Int8(-1)).unwrap();
        integers.append_null();
        let refused = integers.append(AuxValue::String(b"7")).unwrap_err();
        assert_eq!(refused, "is of another type than was requested: Z");
        assert_eq!((integers.finish().len(), integers.finish().len()), (3, 0));
        let mut double = TagBuilder::new(TagKind::Double, TextType::Utf8);
        double.append(AuxValue::Float(0.5)).unwrap();
        let mut float = TagBuilder::new(TagKind::Float, TextType::Utf8);
        assert!(float.append(AuxValue::Double(0.5)).is_err());
        assert!(float.append(AuxValue::Int8(1)).is_err());
        let mut text = TagBuilder::new(TagKind::Text, TextType::Utf8);
        assert!(text.append(AuxValue::String(b"\xff")).unwrap_err().contains("--binary"));
        let mut bytes = TagBuilder::new(TagKind::Text, TextType::Binary);
        bytes.append(AuxValue::String(b"\xff")).unwrap();
    }
}
