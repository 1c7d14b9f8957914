//! The columns that there are, and the schema of a table of them.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::builder::MapFieldNames;
use arrow_schema::{DataType, Field, Schema};
use seqloom_format::bam::Header;

use super::Requested;
use crate::error::ColumnsError;
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
    /// All of them, by their names.
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

    /// Those that are given where none are requested: what every record has.
    #[must_use]
    pub fn usual() -> Vec<Self> {
        Self::NAMES[..12].iter().map(|(column, _)| *column).collect()
    }

    fn data_type(self, text: TextType) -> DataType {
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

    fn is_nullable(self) -> bool {
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

/// The schema: columns, then tags, each once. The header goes with it.
pub(super) fn schema(requested: &Requested, header: &Header) -> Result<Schema, ColumnsError> {
    let columns = requested.columns.iter().map(|column| {
        Field::new(column.to_string(), column.data_type(requested.text), column.is_nullable())
    });
    let tags = requested
        .tags
        .iter()
        .map(|tag| Field::new(tag.name(), tag.kind.data_type(requested.text), true));
    let fields: Vec<Field> = columns.chain(tags).collect();
    if fields.is_empty() {
        return Err(ColumnsError::Requested("no column is requested".to_owned()));
    }
    for (at, field) in fields.iter().enumerate() {
        if fields[..at].iter().any(|earlier| earlier.name() == field.name()) {
            let problem = format!("column '{}' is requested twice", field.name());
            return Err(ColumnsError::Requested(problem));
        }
    }
    let metadata = HashMap::from([
        ("sam_header".to_owned(), String::from_utf8_lossy(&header.text()).into_owned()),
        ("coordinates".to_owned(), "0-based, end exclusive".to_owned()),
    ]);
    Ok(Schema::new(fields).with_metadata(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_known_by_their_names_and_each_may_be_there_once() {
        for (column, name) in Column::NAMES {
            assert_eq!((name.parse(), column.to_string().as_str()), (Ok(column), name));
        }
        assert!("names".parse::<Column>().unwrap_err().contains("template_length"));
        let mut requested = Requested {
            columns: Column::usual(),
            tags: vec!["NM:i".parse().unwrap()],
            text: TextType::Utf8,
            require_flags: 0,
            exclude_flags: 0,
            min_mapq: 0,
        };
        let header = Header::parse(b"@SQ\tSN:c\tLN:9\n").unwrap();
        let schema = schema(&requested, &header).unwrap();
        assert_eq!(schema.fields().len(), 13);
        assert_eq!(schema.metadata()["sam_header"], "@SQ\tSN:c\tLN:9\n");
        requested.columns.push(Column::Name);
        let refused = super::schema(&requested, &header).unwrap_err();
        assert!(refused.to_string().contains("'name' is requested twice"));
    }
}
