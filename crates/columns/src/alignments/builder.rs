//! Records to columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{
    Int32Builder, Int64Builder, ListBuilder, MapBuilder, StringBuilder, UInt8Builder,
    UInt16Builder, UInt32Builder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, StringArray};
use arrow_schema::ArrowError;
use seqloom_format::bam::{AuxValue, BASE_LETTERS, Flags, RecordRef};
use seqloom_format::sam;

use super::columns::map_names;
use super::tags::TagBuilder;
use super::{Column, Requested};
use crate::text::{TextBuilder, TextType, utf8};

/// MAPQ where there is none (SAM specification 1.4.5).
const NO_MAPQ: u8 = 255;

/// Names of sequences and read groups, the same in all batches.
pub(super) struct Names {
    references: Arc<StringArray>,
    read_groups: Arc<StringArray>,
    number_of_group: HashMap<Vec<u8>, i32>,
}

impl Names {
    /// Of sequences and read groups, each once.
    pub(super) fn new(references: &[String], groups: &[Vec<u8>]) -> Result<Self, String> {
        let texts = groups.iter().map(|group| utf8(group)).collect::<Result<Vec<_>, _>>()?;
        let numbers = groups.iter().cloned().zip(0..);
        Ok(Self {
            references: Arc::new(StringArray::from_iter_values(references)),
            read_groups: Arc::new(StringArray::from_iter_values(texts)),
            number_of_group: numbers.collect(),
        })
    }
}

/// Values of one column.
enum Values {
    Name(TextBuilder),
    Flag(UInt16Builder),
    Mapq(UInt8Builder),
    Start(Int64Builder),
    End(Int64Builder),
    MateStart(Int64Builder),
    TemplateLength(Int32Builder),
    Reference(Int32Builder),
    MateReference(Int32Builder),
    ReadGroup(Int32Builder),
    Cigar(StringBuilder),
    CigarOps(ListBuilder<UInt32Builder>),
    Sequence(StringBuilder),
    Qualities(ListBuilder<UInt8Builder>),
    Tags(TagMap),
}

/// All tags of a record as text.
enum TagMap {
    Utf8(MapBuilder<StringBuilder, StringBuilder>),
    Binary(MapBuilder<StringBuilder, arrow_array::builder::BinaryBuilder>),
}

/// A worker's.
pub(super) struct Builders {
    columns: Vec<Values>,
    tags: Vec<([u8; 2], TagBuilder)>,
    /// Which of the tags a record had.
    seen: Vec<bool>,
    /// Whether a record's tags are looked at.
    reads_tags: bool,
    text: Vec<u8>,
}

impl Builders {
    pub(super) fn new(requested: &Requested) -> Self {
        let columns = requested.columns.iter().map(|column| Values::new(*column, requested.text));
        let tags =
            requested.tags.iter().map(|it| (it.tag, TagBuilder::new(it.kind, requested.text)));
        let of_tags = |it: &Column| matches!(it, Column::ReadGroup | Column::Tags);
        Self {
            columns: columns.collect(),
            tags: tags.collect(),
            seen: vec![false; requested.tags.len()],
            reads_tags: !requested.tags.is_empty() || requested.columns.iter().any(of_tags),
            text: Vec::new(),
        }
    }

    /// Appends a record; what is wrong with it, if a column cannot hold it.
    pub(super) fn append(&mut self, record: &RecordRef<'_>, names: &Names) -> Result<(), String> {
        for column in &mut self.columns {
            column.append(record, &mut self.text)?;
        }
        if self.reads_tags { self.append_tags(record, names) } else { Ok(()) }
    }

    fn append_tags(&mut self, record: &RecordRef<'_>, names: &Names) -> Result<(), String> {
        self.seen.fill(false);
        let is_cigar_elsewhere = record.long_cigar().is_some();
        let mut group = None;
        for field in record.aux() {
            let (tag, value) = field.map_err(|error| error.to_string())?;
            if is_cigar_elsewhere && tag == *b"CG" {
                continue;
            }
            if tag == *b"RG" {
                group = value.as_string().or(group);
            }
            let own = self.tags.iter().position(|(known, _)| *known == tag);
            match own {
                // A tag that is there twice counts once, as in every reader.
                Some(at) if self.seen[at] => {}
                Some(at) => {
                    self.seen[at] = true;
                    self.tags[at].1.append(value).map_err(|why| about(tag, &why))?;
                }
                None => self.append_other(tag, value)?,
            }
        }
        for (seen, (_, builder)) in self.seen.iter().zip(&mut self.tags) {
            if !seen {
                builder.append_null();
            }
        }
        for column in &mut self.columns {
            column.end_tags(group, names)?;
        }
        Ok(())
    }

    /// A tag without a column.
    fn append_other(&mut self, tag: [u8; 2], value: AuxValue<'_>) -> Result<(), String> {
        for column in &mut self.columns {
            if let Values::Tags(map) = column {
                self.text.clear();
                sam::append_value(value, &mut self.text);
                map.append(utf8(&tag)?, &self.text).map_err(|why| about(tag, &why))?;
            }
        }
        Ok(())
    }

    /// The columns, in order; the builders are empty then.
    pub(super) fn finish(&mut self, names: &Names) -> Result<Vec<ArrayRef>, ArrowError> {
        let columns = self.columns.iter_mut().map(|column| column.finish(names));
        let tags = self.tags.iter_mut().map(|(_, builder)| Ok(builder.finish()));
        columns.chain(tags).collect()
    }
}

fn about(tag: [u8; 2], why: &str) -> String {
    format!("tag {} {why}", tag.escape_ascii())
}

impl TagMap {
    fn append(&mut self, tag: &str, value: &[u8]) -> Result<(), String> {
        match self {
            Self::Utf8(builder) => {
                builder.keys().append_value(tag);
                builder.values().append_value(utf8(value)?);
            }
            Self::Binary(builder) => {
                builder.keys().append_value(tag);
                builder.values().append_value(value);
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ArrowError> {
        match self {
            Self::Utf8(builder) => builder.append(true),
            Self::Binary(builder) => builder.append(true),
        }
    }
}

impl Values {
    fn new(column: Column, text: TextType) -> Self {
        match column {
            Column::Name => Self::Name(TextBuilder::new(text)),
            Column::Flag => Self::Flag(UInt16Builder::new()),
            Column::Mapq => Self::Mapq(UInt8Builder::new()),
            Column::Start => Self::Start(Int64Builder::new()),
            Column::End => Self::End(Int64Builder::new()),
            Column::MateStart => Self::MateStart(Int64Builder::new()),
            Column::TemplateLength => Self::TemplateLength(Int32Builder::new()),
            Column::Reference => Self::Reference(Int32Builder::new()),
            Column::MateReference => Self::MateReference(Int32Builder::new()),
            Column::ReadGroup => Self::ReadGroup(Int32Builder::new()),
            Column::Cigar => Self::Cigar(StringBuilder::new()),
            Column::CigarOps => Self::CigarOps(ListBuilder::new(UInt32Builder::new())),
            Column::Sequence => Self::Sequence(StringBuilder::new()),
            Column::Qualities => Self::Qualities(ListBuilder::new(UInt8Builder::new())),
            Column::Tags => {
                let keys = StringBuilder::new();
                Self::Tags(match text {
                    TextType::Utf8 => {
                        let values = StringBuilder::new();
                        TagMap::Utf8(MapBuilder::new(Some(map_names()), keys, values))
                    }
                    TextType::Binary => {
                        let values = arrow_array::builder::BinaryBuilder::new();
                        TagMap::Binary(MapBuilder::new(Some(map_names()), keys, values))
                    }
                })
            }
        }
    }

    fn append(&mut self, record: &RecordRef<'_>, text: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Self::Name(builder) => match record.name() {
                b"*" => builder.append_null(),
                name => builder.append(name)?,
            },
            Self::Flag(builder) => builder.append_value(record.flags()),
            Self::Mapq(builder) => {
                let mapq = record.mapping_quality();
                builder.append_option((mapq != NO_MAPQ).then_some(mapq));
            }
            Self::Start(builder) => builder.append_option(position(record.position())),
            Self::End(builder) => builder.append_option(end(record)),
            Self::MateStart(builder) => builder.append_option(position(record.mate_position())),
            Self::TemplateLength(builder) => builder.append_value(record.template_length()),
            Self::Reference(builder) => builder.append_option(number(record.reference_id())),
            Self::MateReference(builder) => {
                builder.append_option(number(record.mate_reference_id()));
            }
            Self::Cigar(builder) => {
                text.clear();
                sam::append_cigar(record, text);
                builder.append_option(Some(utf8(text)?).filter(|text| *text != "*"));
            }
            Self::CigarOps(builder) => {
                let cigar = record.full_cigar();
                let has_cigar = cigar.len() > 0;
                let words = cigar.codes().map(|(code, length)| length << 4 | u32::from(code));
                words.for_each(|word| builder.values().append_value(word));
                builder.append(has_cigar);
            }
            Self::Sequence(builder) => append_sequence(record, text, builder)?,
            Self::Qualities(builder) => {
                let qualities = record.qualities();
                let has_qualities = !matches!(qualities.first(), None | Some(0xff));
                if has_qualities {
                    builder.values().append_slice(qualities);
                }
                builder.append(has_qualities);
            }
            // Reported when the tags have been looked at.
            Self::ReadGroup(_) | Self::Tags(_) => {}
        }
        Ok(())
    }

    /// The tags of a record are through.
    fn end_tags(&mut self, group: Option<&[u8]>, names: &Names) -> Result<(), String> {
        match self {
            Self::ReadGroup(builder) => {
                let number = group.map(|group| {
                    names.number_of_group.get(group).copied().ok_or_else(|| {
                        let group = String::from_utf8_lossy(group);
                        format!("read group '{group}' is not in the header; the tag RG:Z has it")
                    })
                });
                builder.append_option(number.transpose()?);
                Ok(())
            }
            Self::Tags(map) => map.end().map_err(|error| error.to_string()),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, names: &Names) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Name(builder) => builder.finish(),
            Self::Flag(builder) => Arc::new(builder.finish()),
            Self::Mapq(builder) => Arc::new(builder.finish()),
            Self::Start(builder) | Self::End(builder) | Self::MateStart(builder) => {
                Arc::new(builder.finish())
            }
            Self::TemplateLength(builder) => Arc::new(builder.finish()),
            Self::Reference(builder) | Self::MateReference(builder) => {
                dictionary(builder, &names.references)?
            }
            Self::ReadGroup(builder) => dictionary(builder, &names.read_groups)?,
            Self::Cigar(builder) | Self::Sequence(builder) => Arc::new(builder.finish()),
            Self::CigarOps(builder) => Arc::new(builder.finish()),
            Self::Qualities(builder) => Arc::new(builder.finish()),
            Self::Tags(TagMap::Utf8(builder)) => Arc::new(builder.finish()),
            Self::Tags(TagMap::Binary(builder)) => Arc::new(builder.finish()),
        })
    }
}

fn dictionary(keys: &mut Int32Builder, values: &Arc<StringArray>) -> Result<ArrayRef, ArrowError> {
    let array = DictionaryArray::<Int32Type>::try_new(keys.finish(), values.clone())?;
    Ok(Arc::new(array))
}

/// -1 is none.
fn number(index: i32) -> Option<i32> {
    (index >= 0).then_some(index)
}

fn position(position: i32) -> Option<i64> {
    (position >= 0).then_some(position.into())
}

/// One past the last base that is aligned; none where nothing is.
fn end(record: &RecordRef<'_>) -> Option<i64> {
    let cigar = record.full_cigar();
    let is_aligned = !record.has_flags(Flags::UNMAPPED) && cigar.len() > 0;
    let start = position(record.position()).filter(|_| is_aligned)?;
    Some(start + cigar.reference_span().max(1))
}

fn append_sequence(
    record: &RecordRef<'_>,
    text: &mut Vec<u8>,
    builder: &mut StringBuilder,
) -> Result<(), String> {
    let bases = record.base_count();
    if bases == 0 {
        builder.append_null();
        return Ok(());
    }
    text.clear();
    for &byte in record.packed_bases() {
        let letters = [byte >> 4, byte & 0xf].map(|code| BASE_LETTERS[usize::from(code)]);
        text.extend_from_slice(&letters);
    }
    text.truncate(bases);
    builder.append_value(utf8(text)?);
    Ok(())
}
