//! A table: its footer, its batches, its dictionaries.

use std::collections::HashMap;

use super::super::error::in_flatbuffer;
use super::super::flatbuffers::{FlatError, Table, Vector};
use super::super::{MAX_METADATA_BYTES, Pod5FormatError, Span};
use super::array::{Array, Batch};
use super::dictionary::Dictionary;
use super::layout::{self, ColumnLayout};
use super::schema::{Field, Schema};
use crate::read_at::ReadAt;

const MAGIC: [u8; 6] = *b"ARROW1";
/// The magic at the start, padded.
const HEAD_BYTES: u64 = 8;
/// Length of the footer and the magic.
const TAIL_BYTES: u64 = 4 + 6;
/// A `Block`: offset, length of the metadata padded to 8, length of the body.
const BLOCK_BYTES: usize = 24;

/// Kinds of `MessageHeader`.
const DICTIONARY_BATCH: u8 = 2;
const RECORD_BATCH: u8 = 3;

/// Place of a message, from the start of the file.
#[derive(Debug, Clone, Copy)]
struct Block {
    at: u64,
    metadata_bytes: u64,
    body_bytes: u64,
}

/// Places of the buffers of a record batch.
#[derive(Debug, Clone)]
pub(crate) struct BatchLayout {
    /// Number of rows, as it says.
    pub(crate) rows: u64,
    /// Offset of its body in the file.
    pub(crate) at: u64,
    /// Bytes of the body.
    pub(crate) body_bytes: u64,
    /// One for each field of the schema; buffers are in the body.
    pub(crate) columns: Vec<ColumnLayout>,
}

/// A table of the Arrow IPC file format inside a file.
#[derive(Debug)]
pub(crate) struct ArrowTable {
    schema: Schema,
    batches: Vec<Block>,
    dictionaries: HashMap<i64, Dictionary>,
}

impl ArrowTable {
    /// Opens the table that is at `span` of `file`: reads its footer and its dictionaries.
    ///
    /// # Errors
    /// When it is damaged or has what is not supported.
    pub(crate) fn open(file: &dyn ReadAt, span: Span) -> Result<Self, Pod5FormatError> {
        let (footer, footer_at) = read_footer(file, span)?;
        let flat = in_flatbuffer(footer_at);
        let root = Table::root(&footer).map_err(flat)?;
        let schema = root.table(1).map_err(flat)?;
        let what = "a table without schema";
        let schema = schema.ok_or(Pod5FormatError::Malformed { what, at: footer_at })?;
        let schema = Schema::parse(&schema).map_err(flat)?;
        let body = Span { offset: span.offset, len: footer_at - span.offset };
        let blocks = |slot: usize| -> Result<Vec<Block>, Pod5FormatError> {
            let found = root.vector(slot, BLOCK_BYTES).map_err(flat)?;
            found.map_or(Ok(Vec::new()), |found| parse_blocks(&found, body))
        };
        let batches = blocks(3)?;
        let mut table = Self { schema, batches, dictionaries: HashMap::new() };
        for block in blocks(2)? {
            table.load_dictionary(file, block)?;
        }
        Ok(table)
    }

    /// Names and types of the columns.
    #[must_use]
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Number of record batches.
    #[must_use]
    pub(crate) fn batches(&self) -> usize {
        self.batches.len()
    }

    /// Where the buffers of record batch `index` are: reads the head of the batch.
    ///
    /// # Errors
    /// When it is damaged.
    pub(crate) fn layout(
        &self,
        file: &dyn ReadAt,
        index: usize,
    ) -> Result<BatchLayout, Pod5FormatError> {
        let what = "a batch that is not there";
        let block = *self.batches.get(index).ok_or(Pod5FormatError::Malformed { what, at: 0 })?;
        let (message, message_at) = read_message(file, block)?;
        let parsed = || -> Result<(u64, Vec<ColumnLayout>), FlatError> {
            let batch = header(&message, RECORD_BATCH)?;
            layout::parse(&batch, &self.schema.fields, false, block.body_bytes)
        };
        let (rows, columns) = parsed().map_err(in_flatbuffer(message_at))?;
        let at = block.at + block.metadata_bytes;
        Ok(BatchLayout { rows, at, body_bytes: block.body_bytes, columns })
    }

    /// Reads record batch `index` into `batch`, keeping the memory it has.
    ///
    /// # Errors
    /// When it is damaged.
    pub(crate) fn load(
        &self,
        file: &dyn ReadAt,
        index: usize,
        batch: &mut Batch,
    ) -> Result<(), Pod5FormatError> {
        let layout = self.layout(file, index)?;
        read_body(file, layout, batch)
    }

    /// Value `index` of the dictionary of `field`, for a batch at `batch_at` ([`Batch::at`]).
    #[must_use]
    pub(crate) fn dictionary_value<'a>(
        &'a self,
        field: &'a Field,
        batch_at: u64,
        index: usize,
    ) -> Option<(Array<'a>, usize)> {
        self.dictionary(field)?.value(field, batch_at, index)
    }

    /// The dictionary of `field`, if it has one.
    #[must_use]
    pub(crate) fn dictionary(&self, field: &Field) -> Option<&Dictionary> {
        self.dictionaries.get(&field.dictionary?.0)
    }

    fn load_dictionary(&mut self, file: &dyn ReadAt, block: Block) -> Result<(), Pod5FormatError> {
        let (message, message_at) = read_message(file, block)?;
        let flat = in_flatbuffer(message_at);
        let head = header(&message, DICTIONARY_BATCH).map_err(flat)?;
        let id = head.i64(0).map_err(flat)?;
        let is_delta = head.u8(2).map_err(flat)? != 0;
        let Some(field) = field_of_dictionary(&self.schema.fields, id) else {
            return Ok(()); // nobody refers to it
        };
        let what = "a dictionary without values";
        let data = head.table(1).map_err(flat)?;
        let data = data.ok_or(Pod5FormatError::Malformed { what, at: message_at })?;
        let fields = std::slice::from_ref(field);
        let (rows, columns) = layout::parse(&data, fields, true, block.body_bytes).map_err(flat)?;
        let at = block.at + block.metadata_bytes;
        let mut batch = Batch::default();
        let layout = BatchLayout { rows, at, body_bytes: block.body_bytes, columns };
        read_body(file, layout, &mut batch)?;
        self.dictionaries.entry(id).or_default().push(batch, is_delta);
        Ok(())
    }
}

/// The field, at any depth, whose dictionary has this id.
fn field_of_dictionary(fields: &[Field], id: i64) -> Option<&Field> {
    let has = |field: &Field| field.dictionary.is_some_and(|(own, _)| own == id);
    let here = fields.iter().find(|field| has(field));
    here.or_else(|| fields.iter().find_map(|field| field_of_dictionary(&field.children, id)))
}

fn read_body(
    file: &dyn ReadAt,
    layout: BatchLayout,
    batch: &mut Batch,
) -> Result<(), Pod5FormatError> {
    // It is in the file: `parse_blocks`.
    batch.body.resize(layout.body_bytes as usize, 0);
    file.read_exact_at(&mut batch.body, layout.at)?;
    (batch.rows, batch.at, batch.columns) = (layout.rows, layout.at, layout.columns);
    Ok(())
}

/// The FlatBuffer of the footer and its place in the file.
fn read_footer(file: &dyn ReadAt, span: Span) -> Result<(Vec<u8>, u64), Pod5FormatError> {
    let malformed = |what: &'static str| Pod5FormatError::Malformed { what, at: span.offset };
    let end = span.offset.checked_add(span.len).filter(|&end| end <= file.size_bytes());
    let end = end.ok_or(malformed("a table outside the file"))?;
    if span.len < HEAD_BYTES + TAIL_BYTES {
        return Err(malformed("a table that is too short"));
    }
    let mut tail = [0; TAIL_BYTES as usize];
    file.read_exact_at(&mut tail, end - TAIL_BYTES)?;
    if tail[4..] != MAGIC {
        return Err(malformed("a table that does not end as Arrow files do"));
    }
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    let room = span.len - HEAD_BYTES - TAIL_BYTES;
    let length = u64::from(length);
    if length > room || length > MAX_METADATA_BYTES {
        return Err(malformed("a table with a footer of impossible length"));
    }
    let at = end - TAIL_BYTES - length;
    let mut footer = vec![0; length as usize];
    file.read_exact_at(&mut footer, at)?;
    Ok((footer, at))
}

/// Blocks that are inside `body` and together fill no more than it: what is read of all of them is
/// bounded by the size of the file, however often a hostile footer names the same bytes.
fn parse_blocks(blocks: &Vector<'_>, body: Span) -> Result<Vec<Block>, Pod5FormatError> {
    let parse = |element: &[u8]| -> Option<Block> {
        let (words, _) = element.as_chunks::<8>();
        let offset = u64::try_from(i64::from_le_bytes(*words.first()?)).ok()?;
        let [a, b, c, d, ..] = *words.get(1)?;
        let metadata_bytes = u64::try_from(i32::from_le_bytes([a, b, c, d])).ok()?;
        let body_bytes = u64::try_from(i64::from_le_bytes(*words.get(2)?)).ok()?;
        let end = offset.checked_add(metadata_bytes)?.checked_add(body_bytes)?;
        let at = body.offset + offset.min(body.len);
        (end <= body.len).then_some(Block { at, metadata_bytes, body_bytes })
    };
    let what = "a batch outside its table";
    let malformed = || Pod5FormatError::Malformed { what, at: body.offset };
    let mut room = body.len;
    let mut parsed = Vec::with_capacity(blocks.len());
    for element in blocks.elements() {
        let block = parse(element).ok_or_else(malformed)?;
        let left = room.checked_sub(block.metadata_bytes + block.body_bytes);
        room = left.ok_or_else(malformed)?;
        parsed.push(block);
    }
    Ok(parsed)
}

/// The FlatBuffer of a message and its place in the file.
fn read_message(file: &dyn ReadAt, block: Block) -> Result<(Vec<u8>, u64), Pod5FormatError> {
    let mut bytes = vec![0; block.metadata_bytes.min(MAX_METADATA_BYTES) as usize];
    file.read_exact_at(&mut bytes, block.at)?;
    // Four bytes of ones and a length; files of Arrow before 0.15 have the length only.
    let prefix = if bytes.starts_with(&[0xFF; 4]) { 8 } else { 4 };
    if bytes.len() < prefix {
        let what = "a message that is too short";
        return Err(Pod5FormatError::Malformed { what, at: block.at });
    }
    bytes.drain(..prefix);
    Ok((bytes, block.at + prefix as u64))
}

/// The header of a message of this kind.
fn header(message: &[u8], kind: u8) -> Result<Table<'_>, FlatError> {
    let message = Table::root(message)?;
    let header = message.table(2)?.filter(|_| message.u8(1) == Ok(kind));
    header.ok_or(FlatError { what: "a message of another kind", at: 0 })
}
