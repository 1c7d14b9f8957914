//! Reads, FASTQ or FASTA, as columns.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::builder::{ListBuilder, StringBuilder, UInt8Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use seqloom_format::ReadSpans;
use seqloom_io::reads::{BlockCheck, FetchScratch, InputBlock, ReadSource, SourceOptions};

use seqloom_runtime::schedule::Fetch;

use crate::error::ColumnsError;
use crate::flow::{self, Block, Destination, Piece, Rest, Table, Totals};
use crate::text::{TextBuilder, TextType, utf8};

/// Offset of qualities in text: Phred+33.
const QUALITY_BASE: u8 = 33;

/// A column of reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadColumn {
    /// The name, up to the first white space, without `/1` and `/2`.
    Name,
    /// Text after the name.
    Comment,
    /// Bases as letters.
    Sequence,
    /// Phred qualities; FASTA has none.
    Qualities,
}

impl ReadColumn {
    /// All columns.
    pub const ALL: [Self; 4] = [Self::Name, Self::Comment, Self::Sequence, Self::Qualities];

    fn data_type(self, text: TextType) -> DataType {
        match self {
            Self::Name | Self::Comment => text.data_type(),
            Self::Sequence => DataType::Utf8,
            Self::Qualities => DataType::new_list(DataType::UInt8, true),
        }
    }
}

impl fmt::Display for ReadColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "name",
            Self::Comment => "comment",
            Self::Sequence => "sequence",
            Self::Qualities => "qualities",
        })
    }
}

impl FromStr for ReadColumn {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|column| column.to_string() == name).ok_or_else(|| {
            let known = Self::ALL.map(|column| column.to_string()).join(", ");
            format!("there is no column '{name}' of reads; there are {known}")
        })
    }
}

/// Which columns are written, and how text is.
#[derive(Debug, Clone, Copy)]
pub struct RequestedReads<'a> {
    /// In this order.
    pub columns: &'a [ReadColumn],
    /// Of columns of text.
    pub text: TextType,
}

/// Writes the stream of all reads of `inputs`, one file after the other.
///
/// # Errors
/// The first failure of any worker.
pub fn write(
    inputs: &[PathBuf],
    options: &SourceOptions,
    requested: &RequestedReads<'_>,
    destination: Destination<'_>,
) -> Result<Totals, ColumnsError> {
    let &RequestedReads { columns, text } = requested;
    let keep_comments = columns.contains(&ReadColumn::Comment);
    let options = SourceOptions { keep_comments, ..options.clone() };
    let open = |path: &PathBuf| {
        let source = ReadSource::open(std::slice::from_ref(path), options.clone())?;
        let format = source.format(0).reads;
        if format.has_records() {
            let problem = format!("this is {}: its columns are those of alignments", format.name());
            return Err(ColumnsError::Inputs { path: source.path(0).to_path_buf(), problem });
        }
        Ok(source)
    };
    let sources = inputs.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let fields: Vec<Field> = columns
        .iter()
        .map(|column| Field::new(column.to_string(), column.data_type(text), true))
        .collect();
    let metadata = HashMap::from([("quality_base".to_owned(), "0".to_owned())]);
    let schema = Arc::new(Schema::new(fields).with_metadata(metadata));
    let table = ReadTable { sources, columns, text, schema, turn: AtomicUsize::new(0) };
    flow::run(&table, destination)
}

struct ReadTable<'a> {
    sources: Vec<ReadSource>,
    columns: &'a [ReadColumn],
    text: TextType,
    schema: Arc<Schema>,
    /// The input whose turn it is.
    turn: AtomicUsize,
}

struct ReadRows {
    input: usize,
    block: Box<InputBlock>,
    /// Records of the input before the block.
    first_record: u64,
}

impl Block for ReadRows {
    fn place(&self) -> (usize, u64) {
        (self.input, self.block.index)
    }

    fn rows(&self) -> usize {
        self.block.reads.reads.len()
    }

    fn row_bytes(&self, row: usize) -> u64 {
        let ReadSpans { name, bases, qualities, extra } = self.block.reads.reads[row];
        [name, bases, qualities, extra].iter().map(|span| u64::from(span.len)).sum()
    }

    fn held_bytes(&self) -> u64 {
        let reads = &self.block.reads;
        (reads.bytes.capacity() + reads.reads.capacity() * size_of::<ReadSpans>()) as u64
    }
}

/// Values of one column.
enum Values {
    Text(TextBuilder),
    Sequence(StringBuilder),
    Qualities(ListBuilder<UInt8Builder>),
}

impl ReadTable<'_> {
    fn append(&self, builders: &mut [Values], rows: &ReadRows, row: usize) -> Result<(), String> {
        let reads = &rows.block.reads;
        for (column, values) in self.columns.iter().zip(builders) {
            match (column, values) {
                (ReadColumn::Comment, Values::Text(builder)) => match reads.extra(row) {
                    b"" => builder.append_null(),
                    comment => builder.append(comment)?,
                },
                (_, Values::Text(builder)) => builder.append(reads.name(row))?,
                (_, Values::Sequence(builder)) => builder.append_value(utf8(reads.bases(row))?),
                (_, Values::Qualities(builder)) => {
                    let qualities = reads.qualities(row);
                    let is_there = !qualities.is_empty() || reads.bases(row).is_empty();
                    let phred = qualities.iter().map(|byte| byte.wrapping_sub(QUALITY_BASE));
                    phred.for_each(|quality| builder.values().append_value(quality));
                    builder.append(is_there);
                }
            }
        }
        Ok(())
    }

    fn path(&self, input: usize) -> &Path {
        self.sources[input].path(0)
    }
}

impl Table for ReadTable<'_> {
    type Block = ReadRows;
    type Scratch = FetchScratch;
    type Check = Vec<BlockCheck>;
    type Builders = Vec<Values>;

    fn inputs(&self) -> usize {
        self.sources.len()
    }

    fn check(&self) -> Vec<BlockCheck> {
        self.sources.iter().map(|source| BlockCheck::new(source, 0)).collect()
    }

    fn builders(&self) -> Vec<Values> {
        let values = |column: &ReadColumn| match column {
            ReadColumn::Name | ReadColumn::Comment => Values::Text(TextBuilder::new(self.text)),
            ReadColumn::Sequence => Values::Sequence(StringBuilder::new()),
            ReadColumn::Qualities => Values::Qualities(ListBuilder::new(UInt8Builder::new())),
        };
        self.columns.iter().map(values).collect()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let read = self.sources.iter().map(ReadSource::bytes_read).sum();
        (read, self.sources.iter().map(ReadSource::total_bytes).sum())
    }

    fn fetch(&self, scratch: &mut FetchScratch) -> Result<Fetch<ReadRows>, ColumnsError> {
        loop {
            let turn = self.turn.load(Ordering::Acquire);
            let Some(source) = self.sources.get(turn) else { return Ok(Fetch::End) };
            match source.fetch(scratch)? {
                Fetch::Block(block) => {
                    return Ok(Fetch::Block(ReadRows { input: turn, block, first_record: 0 }));
                }
                Fetch::Busy => return Ok(Fetch::Busy),
                Fetch::End => {
                    self.turn.fetch_max(turn + 1, Ordering::AcqRel);
                }
            }
        }
    }

    fn accept(
        &self,
        checks: &mut Vec<BlockCheck>,
        rows: &mut ReadRows,
    ) -> Result<Rest, ColumnsError> {
        let check = &mut checks[rows.input];
        rows.first_record = check.records();
        check.accept(&self.sources[rows.input], &mut rows.block)?;
        Ok(if rows.block.last { Rest::Nothing } else { Rest::More })
    }

    fn build(
        &self,
        builders: &mut Vec<Values>,
        pieces: &[Piece<ReadRows>],
    ) -> Result<RecordBatch, ColumnsError> {
        let mut count = 0;
        for piece in pieces {
            for row in piece.rows.clone() {
                self.append(builders, &piece.block, row).map_err(|why| {
                    let ordinal = piece.block.first_record + row as u64;
                    let name = piece.block.block.reads.name(row);
                    ColumnsError::value(self.path(piece.block.input), ordinal, name, why)
                })?;
            }
            count += piece.rows.len();
        }
        let finish = |values: &mut Values| -> ArrayRef {
            match values {
                Values::Text(builder) => builder.finish(),
                Values::Sequence(builder) => Arc::new(builder.finish()),
                Values::Qualities(builder) => Arc::new(builder.finish()),
            }
        };
        let columns = builders.iter_mut().map(finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    fn recycle(&self, rows: ReadRows) {
        self.sources[rows.input].recycle(rows.block.reads);
    }
}
