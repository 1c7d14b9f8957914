//! What is requested of aligned reads, and the schema of a table of that.

use std::collections::HashMap;

use arrow_schema::{Field, Schema};
use seqloom_format::bam::Header;

use super::columns::Column;
use super::tags::TagColumn;
use crate::error::ColumnsError;
use crate::text::TextType;

/// Columns and records that a table of alignments is to have.
#[derive(Debug, Clone)]
pub struct Requested {
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Columns of tags after them.
    pub tags: Vec<TagColumn>,
    /// How text is given.
    pub text: TextType,
    /// Bits of FLAG that records must have.
    pub require_flags: u16,
    /// Bits of FLAG that records must not have.
    pub exclude_flags: u16,
    /// Least MAPQ.
    pub min_mapq: u8,
}

impl Requested {
    /// The schema: columns, then tags, each once. The header goes with it.
    pub(super) fn schema(&self, header: &Header) -> Result<Schema, ColumnsError> {
        let columns = self.columns.iter().map(|column| {
            Field::new(column.to_string(), column.data_type(self.text), column.is_nullable())
        });
        let tags =
            self.tags.iter().map(|tag| Field::new(tag.name(), tag.kind.data_type(self.text), true));
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_may_be_there_once() {
        let mut requested = Requested {
            columns: Column::usual(),
            tags: vec!["NM:i".parse().unwrap()],
            text: TextType::Utf8,
            require_flags: 0,
            exclude_flags: 0,
            min_mapq: 0,
        };
        let header = Header::parse(b"@SQ\tSN:c\tLN:9\n").unwrap();
        let schema = requested.schema(&header).unwrap();
        assert_eq!(schema.fields().len(), 13);
        assert_eq!(schema.metadata()["sam_header"], "@SQ\tSN:c\tLN:9\n");
        requested.columns.push(Column::Name);
        let refused = requested.schema(&header).unwrap_err();
        assert!(refused.to_string().contains("'name' is requested twice"));
    }
}
