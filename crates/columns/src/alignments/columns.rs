//! The columns that there are.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::MapFieldNames;
use arrow_schema::{DataType, Field};

use crate::text::TextType;

/// A column of aligned reads. Positions are 0-based.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// QNAME.
    Name,
    /// FLAG.
    Flag,
    /// RNAME.
    Reference,
    /// POS.
    Start,
    /// One past the last base of the reference that is aligned.
    End,
    /// MAPQ; 255, "not available", is null.
    Mapq,
    /// CIGAR as text.
    Cigar,
    /// CIGAR as BAM has it: length * 16 + operation.
    CigarOps,
    /// RNEXT.
    MateReference,
    /// PNEXT.
    MateStart,
    /// TLEN.
    TemplateLength,
    /// SEQ.
    Sequence,
    /// QUAL, Phred.
    Qualities,
    /// The tag RG, by the read groups of the header.
    ReadGroup,
    /// All tags that have no column of their own, as text.
    Tags,
}

impl Column {
    /// All columns, by their names.
    const NAMES: [(Self, &'static str); 15] = [
        (Self::Name, "name"),
        (Self::Flag, "flag"),
        (Self::Reference, "reference"),
        (Self::Start, "start"),
        (Self::End, "end"),
        (Self::Mapq, "mapq"),
        (Self::Cigar, "cigar"),
        (Self::MateReference, "mate_reference"),
        (Self::MateStart, "mate_start"),
        (Self::TemplateLength, "template_length"),
        (Self::Sequence, "sequence"),
        (Self::Qualities, "qualities"),
        (Self::CigarOps, "cigar_ops"),
        (Self::ReadGroup, "read_group"),
        (Self::Tags, "tags"),
    ];

    /// Columns where none are requested: the fields that every record has.
    #[must_use]
    pub fn usual() -> Vec<Self> {
        Self::NAMES[..12].iter().map(|(column, _)| *column).collect()
    }

    pub(super) fn data_type(self, text: TextType) -> DataType {
        match self {
            Self::Name => text.data_type(),
            Self::Flag => DataType::UInt16,
            Self::Mapq => DataType::UInt8,
            Self::Start | Self::End | Self::MateStart => DataType::Int64,
            Self::TemplateLength => DataType::Int32,
            Self::Reference | Self::MateReference | Self::ReadGroup => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
            Self::Cigar | Self::Sequence => DataType::Utf8,
            Self::CigarOps => DataType::new_list(DataType::UInt32, true),
            Self::Qualities => DataType::new_list(DataType::UInt8, true),
            Self::Tags => map_type(text),
        }
    }

    pub(super) fn is_nullable(self) -> bool {
        !matches!(self, Self::Flag | Self::TemplateLength | Self::Tags)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(column, _)| column == self).map(|(_, name)| *name);
        f.write_str(name.unwrap_or_default())
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(column, _)| *column).ok_or_else(|| {
            let known = Self::NAMES.map(|(_, name)| name).join(", ");
            format!(
                "there is no column '{name}'; there are {known}, and tags have an option of \
                     their own"
            )
        })
    }
}

/// Names within the type of the column of tags.
pub(super) fn map_names() -> MapFieldNames {
    MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() }
}

fn map_type(text: TextType) -> DataType {
    let names = map_names();
    let fields = [
        Field::new(names.key, DataType::Utf8, false),
        Field::new(names.value, text.data_type(), true),
    ];
    let entries = Field::new(names.entry, DataType::Struct(fields.into_iter().collect()), false);
    DataType::Map(Arc::new(entries), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_known_by_their_names() {
        for (column, name) in Column::NAMES {
            assert_eq!((name.parse(), column.to_string().as_str()), (Ok(column), name));
        }
        assert!("names".parse::<Column>().unwrap_err().contains("template_length"));
    }
}
