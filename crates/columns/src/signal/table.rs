//! Batches of stored reads as the flow takes them, and what is built of them.

use std::sync::{Arc, Mutex};

use arrow_array::builder::{
    Float64Builder, Int16Builder, ListBuilder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use seqloom_format::signal::SignalRead;
use seqloom_runtime::failure::lock;
use seqloom_runtime::schedule::Fetch;
use seqloom_signal::flow::pass::StoredRead;
use seqloom_signal::store::{Cursor, DecodeScratch, Frame, FrameBatch, ReadError, SignalStore};

use super::auxiliary::{self, Values};
use super::columns::{Column, Columns};
use crate::error::ColumnsError;
use crate::flow::{Block, Piece, Rest, Table};
use crate::text::utf8;

/// Bytes of a read in columns, per stored byte: samples are packed to about a third.
const INFLATED: u64 = 3;
/// What is expected of a read of a format that does not say how large its reads are. Reads of DNA
/// have about a hundred thousand samples.
const TYPICAL_BYTES: u64 = 256 << 10;
/// Expected bytes of a read whose samples are not requested.
const BARE_BYTES: u64 = 1 << 10;

/// See [`Table`].
pub(super) struct SignalTable {
    stores: Vec<Arc<dyn SignalStore>>,
    columns: Columns,
    next: Mutex<Next>,
}

/// What is read next. To find reads takes one worker at a time no time; to decode them does.
#[derive(Default)]
struct Next {
    input: usize,
    index: u64,
    cursor: Cursor,
}

/// Stored reads; without any at the end of each input.
pub(super) struct StoredReads {
    input: usize,
    index: u64,
    batch: FrameBatch,
    is_last: bool,
    /// Whether samples are requested.
    has_samples: bool,
}

impl Block for StoredReads {
    fn place(&self) -> (usize, u64) {
        (self.input, self.index)
    }

    fn rows(&self) -> usize {
        self.batch.frames.len()
    }

    fn row_bytes(&self, row: usize) -> u64 {
        match self.batch.frames[row] {
            _ if !self.has_samples => BARE_BYTES,
            Frame { start, end, .. } if start < end => (end - start) as u64 * INFLATED,
            _ => TYPICAL_BYTES,
        }
    }

    fn held_bytes(&self) -> u64 {
        (self.batch.bytes.capacity() + self.batch.frames.capacity() * size_of::<Frame>()) as u64
    }
}

/// Values of one column.
enum Builder {
    ReadId(StringBuilder),
    ReadGroup(UInt32Builder),
    Digitisation(Float64Builder),
    Offset(Float64Builder),
    Range(Float64Builder),
    SamplingRate(Float64Builder),
    SampleCount(UInt64Builder),
    Samples(ListBuilder<Int16Builder>),
    Auxiliary(usize, Box<dyn Values>),
}

/// A worker's.
pub(super) struct Builders {
    columns: Vec<Builder>,
    decode: DecodeScratch,
    read: SignalRead,
}

impl SignalTable {
    pub(super) fn new(stores: Vec<Arc<dyn SignalStore>>, columns: Columns) -> Self {
        Self { stores, columns, next: Mutex::default() }
    }

    fn builder(&self, column: Column) -> Builder {
        match column {
            Column::ReadId => Builder::ReadId(StringBuilder::new()),
            Column::ReadGroup => Builder::ReadGroup(UInt32Builder::new()),
            Column::Digitisation => Builder::Digitisation(Float64Builder::new()),
            Column::Offset => Builder::Offset(Float64Builder::new()),
            Column::Range => Builder::Range(Float64Builder::new()),
            Column::SamplingRate => Builder::SamplingRate(Float64Builder::new()),
            Column::SampleCount => Builder::SampleCount(UInt64Builder::new()),
            Column::Samples => Builder::Samples(ListBuilder::new(Int16Builder::new())),
            Column::Auxiliary(at) => {
                Builder::Auxiliary(at, auxiliary::values(&self.columns.fields[at]))
            }
        }
    }

    /// Decodes a read and appends it.
    fn append(
        &self,
        builders: &mut Builders,
        stored: &StoredReads,
        frame: &Frame,
    ) -> Result<(), ReadError> {
        let Builders { columns, decode, read } = builders;
        let store = &self.stores[stored.input];
        read.clear();
        let decoded = if self.columns.has_samples() {
            let outcome = store.decode(decode, &stored.batch, frame, read);
            outcome.map(|()| read.samples.len() as u64)
        } else {
            store.decode_without_samples(decode, &stored.batch, frame, read)
        };
        let samples = decoded?;
        let places = &self.columns.places[stored.input];
        let mut columns = columns.iter_mut();
        columns.try_for_each(|it| it.append(read, samples, places)).map_err(ReadError)
    }
}

impl Builder {
    fn append(
        &mut self,
        read: &SignalRead,
        samples: u64,
        places: &[Option<usize>],
    ) -> Result<(), String> {
        match self {
            Self::ReadId(builder) => builder.append_value(utf8(&read.read_id)?),
            Self::ReadGroup(builder) => builder.append_value(read.read_group),
            Self::Digitisation(builder) => builder.append_value(read.digitisation),
            Self::Offset(builder) => builder.append_value(read.offset),
            Self::Range(builder) => builder.append_value(read.range),
            Self::SamplingRate(builder) => builder.append_value(read.sampling_rate),
            Self::SampleCount(builder) => builder.append_value(samples),
            Self::Samples(builder) => {
                builder.values().append_slice(&read.samples);
                builder.append(true);
            }
            Self::Auxiliary(at, values) => {
                values.append(places[*at].map(|place| read.auxiliary.get(place)))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::ReadId(builder) => Arc::new(builder.finish()),
            Self::ReadGroup(builder) => Arc::new(builder.finish()),
            Self::Digitisation(builder)
            | Self::Offset(builder)
            | Self::Range(builder)
            | Self::SamplingRate(builder) => Arc::new(builder.finish()),
            Self::SampleCount(builder) => Arc::new(builder.finish()),
            Self::Samples(builder) => Arc::new(builder.finish()),
            Self::Auxiliary(_, values) => values.finish(),
        }
    }
}

impl Table for SignalTable {
    type Block = StoredReads;
    type Scratch = ();
    type Check = ();
    type Builders = Builders;

    fn inputs(&self) -> usize {
        self.stores.len()
    }

    fn check(&self) {}

    fn builders(&self) -> Builders {
        Builders {
            columns: self.columns.requested.iter().map(|column| self.builder(*column)).collect(),
            decode: DecodeScratch::default(),
            read: SignalRead::default(),
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let sizes = self.stores.iter().map(|store| store.size_bytes());
        let through = sizes.clone().take(lock(&self.next).input).sum();
        (through, Some(sizes.sum()))
    }

    fn fetch(&self, (): &mut ()) -> Result<Fetch<StoredReads>, ColumnsError> {
        let mut next = lock(&self.next);
        let Some(store) = self.stores.get(next.input) else { return Ok(Fetch::End) };
        let mut batch = FrameBatch::default();
        let is_last = !store.next(&mut next.cursor, &mut batch)?;
        if is_last {
            batch.clear();
        }
        let (input, index) = (next.input, next.index);
        *next = match is_last {
            true => Next { input: input + 1, ..Next::default() },
            false => Next { index: index + 1, ..*next },
        };
        let has_samples = self.columns.has_samples();
        Ok(Fetch::Block(StoredReads { input, index, batch, is_last, has_samples }))
    }

    fn accept(&self, (): &mut (), stored: &mut StoredReads) -> Result<Rest, ColumnsError> {
        if let Some(fault) = stored.batch.faults.first() {
            return Err(ColumnsError::Fault(Box::new(fault.clone())));
        }
        Ok(if stored.is_last { Rest::Nothing } else { Rest::More })
    }

    fn build(
        &self,
        builders: &mut Builders,
        pieces: &[Piece<StoredReads>],
    ) -> Result<RecordBatch, ColumnsError> {
        let mut count = 0;
        for piece in pieces {
            for frame in &piece.block.batch.frames[piece.rows.clone()] {
                if let Err(error) = self.append(builders, &piece.block, frame) {
                    let StoredReads { input, batch, .. } = &*piece.block;
                    let Builders { decode, read, .. } = builders;
                    let store = self.stores[*input].as_ref();
                    let fault = StoredRead { store, batch, frame }.fault(decode, read, &error);
                    return Err(ColumnsError::Fault(Box::new(fault)));
                }
            }
            count += piece.rows.len();
        }
        let columns = builders.columns.iter_mut().map(Builder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let schema = self.columns.schema.clone();
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    fn recycle(&self, _: StoredReads) {}
}
