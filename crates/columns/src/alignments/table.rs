//! Blocks of records as the flow takes them, and what is built of them.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use seqloom_format::bam::{Flags, Header, RecordRef};
use seqloom_io::RecordStart;
use seqloom_io::alignments::{
    AlignmentError, AlignmentFormat, AlignmentScratch, AlignmentSource, BlockCheck, RecordBlock,
};
use seqloom_io::cram::InputBases;

use seqloom_runtime::pool::Stopped;
use seqloom_runtime::schedule::Fetch;

use super::Requested;
use super::builder::{Builders, Names};
use super::regions::{Region, Regions};
use crate::error::ColumnsError;
use crate::flow::{Block, Piece, Rest, Table};

/// A part of an input, or all of it.
pub(super) struct Chunk {
    source: AlignmentSource,
    /// The regions whose records are taken here.
    own: Range<usize>,
    /// Place from which no such record starts, in an input that is sorted.
    end: Option<(i32, i64)>,
}

impl Chunk {
    /// All of an input, which is opened alone.
    pub(super) fn whole(source: AlignmentSource) -> Self {
        Self { source, own: 0..0, end: None }
    }

    /// This chunk with other bounds.
    pub(super) fn of_regions(self, own: Range<usize>, end: Option<(i32, i64)>) -> Self {
        Self { own, end, ..self }
    }

    pub(super) fn header(&self) -> &Header {
        &self.source.headers()[0]
    }

    pub(super) fn path(&self) -> &Path {
        self.source.path(0)
    }

    pub(super) fn can_start_anywhere(&self) -> bool {
        self.source.can_start_anywhere(0)
    }

    pub(super) fn start_at(&mut self, at: Option<RecordStart>) -> Result<(), AlignmentError> {
        self.source.start_at(0, at)
    }

    pub(super) fn format(&self) -> AlignmentFormat {
        self.source.format(0)
    }

    pub(super) fn source(&mut self) -> &mut AlignmentSource {
        &mut self.source
    }

    /// Reference of the records of CRAM.
    pub(super) fn referred(&self) -> Option<(InputBases, PathBuf)> {
        self.source.referred(0)
    }

    pub(super) fn refer(&mut self, bases: InputBases, fasta: &Path) {
        self.source.refer(0, bases, fasta);
    }

    /// Whether nothing at this place or after it is requested.
    fn is_after(&self, place: (i32, i64)) -> bool {
        // Records without a sequence come last.
        let order = |(reference_id, base): (i32, i64)| (reference_id.cast_unsigned(), base);
        self.end.is_some_and(|end| order(place) >= order(end))
    }
}

/// A record of a block that is a row.
#[derive(Debug, Clone, Copy)]
struct Row {
    /// Its start, its length included.
    start: u32,
    /// Records of the block before it.
    ordinal: u32,
}

/// See [`Block`].
pub(super) struct AlignmentBlock {
    chunk: usize,
    block: Box<RecordBlock>,
    rows: Vec<Row>,
    /// Place of the first record.
    first_place: Option<(i32, i64)>,
    /// Records of the chunk before the block.
    first_record: u64,
}

impl AlignmentBlock {
    /// The framed record of a row.
    fn record(&self, row: &Row) -> &[u8] {
        let framed = self.block.bytes.get(row.start as usize..).unwrap_or_default();
        framed.get(..framed_bytes(framed)).unwrap_or_default()
    }
}

/// Bytes of the record that `framed` begins with, its length included.
fn framed_bytes(framed: &[u8]) -> usize {
    framed.first_chunk().map_or(0, |size| 4 + u32::from_le_bytes(*size) as usize)
}

impl Block for AlignmentBlock {
    fn place(&self) -> (usize, u64) {
        (self.chunk, self.block.index)
    }

    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn row_bytes(&self, row: usize) -> u64 {
        self.record(&self.rows[row]).len() as u64
    }

    fn held_bytes(&self) -> u64 {
        (self.block.bytes.capacity() + self.rows.capacity() * size_of::<Row>()) as u64
    }
}

/// Which records are rows.
struct Filter {
    require_flags: u16,
    exclude_flags: u16,
    min_mapq: u8,
    regions: Regions,
}

impl Filter {
    fn takes_all(&self) -> bool {
        let without_flags = self.require_flags == 0 && self.exclude_flags == 0;
        without_flags && self.min_mapq == 0 && self.regions.len() == 0
    }

    fn takes(&self, record: &RecordRef<'_>, own: &Range<usize>) -> bool {
        record.has_flags(self.require_flags)
            && record.flags() & self.exclude_flags == 0
            && record.mapping_quality() >= self.min_mapq
            && (self.regions.len() == 0 || self.is_reached(record, own))
    }

    /// Whether the first region that a record reaches into is one of `own`: each record is a row
    /// of one chunk alone.
    fn is_reached(&self, record: &RecordRef<'_>, own: &Range<usize>) -> bool {
        let start = i64::from(record.position());
        let is_mapped = !record.has_flags(Flags::UNMAPPED);
        let span = if is_mapped { record.full_cigar().reference_span() } else { 0 };
        let end = start + span.max(1);
        let reached =
            self.regions.first_reached(&Region { reference_id: record.reference_id(), start, end });
        start >= 0 && reached.is_some_and(|region| own.contains(&region))
    }
}

/// See [`Table`].
pub(super) struct AlignmentTable<'a> {
    chunks: Vec<Chunk>,
    filter: Filter,
    requested: &'a Requested,
    schema: Arc<Schema>,
    names: Names,
    /// The chunk whose turn it is.
    turn: AtomicUsize,
}

impl<'a> AlignmentTable<'a> {
    pub(super) fn new(
        chunks: Vec<Chunk>,
        regions: Regions,
        requested: &'a Requested,
    ) -> Result<Self, ColumnsError> {
        let header = chunks[0].header();
        let references: Vec<String> =
            header.references().iter().map(|reference| reference.name.clone()).collect();
        let mut groups: Vec<Vec<u8>> = Vec::new();
        for group in chunks.iter().flat_map(|chunk| chunk.header().read_groups()) {
            if !groups.iter().any(|known| known == group.id) {
                groups.push(group.id.to_vec());
            }
        }
        let names = Names::new(&references, &groups).map_err(|why| ColumnsError::Inputs {
            path: chunks[0].path().to_path_buf(),
            problem: format!("the ID of a read group {why}"),
        })?;
        let filter = Filter {
            require_flags: requested.require_flags,
            exclude_flags: requested.exclude_flags,
            min_mapq: requested.min_mapq,
            regions,
        };
        let schema = Arc::new(requested.schema(header)?);
        Ok(Self { chunks, filter, requested, schema, names, turn: AtomicUsize::new(0) })
    }

    /// Nothing more is read of a chunk, nor kept for it: there may be very many.
    fn end(&self, chunk: usize) {
        self.turn.fetch_max(chunk + 1, Ordering::AcqRel);
        self.chunks[chunk].source.release_buffers();
    }

    /// Finds the rows of a block, and drops the bytes of all else.
    fn scan(&self, chunk: usize, block: &mut RecordBlock) -> (Vec<Row>, Option<(i32, i64)>) {
        let mut rows = Vec::with_capacity(usize::try_from(block.records).unwrap_or(0));
        let mut first_place = None;
        let own = &self.chunks[chunk].own;
        let takes_all = self.filter.takes_all();
        let (mut start, mut kept_bytes, mut ordinal) = (0, 0, 0);
        while let Some(framed) = block.bytes.get(start..).filter(|rest| !rest.is_empty()) {
            let size = framed_bytes(framed).max(4);
            // The source has checked all records.
            let record = framed.get(4..size).and_then(|body| RecordRef::new(body).ok());
            let Some(record) = record else { break };
            if ordinal == 0 {
                first_place = Some((record.reference_id(), i64::from(record.position())));
            }
            if takes_all || self.filter.takes(&record, own) {
                rows.push(Row { start: kept_bytes as u32, ordinal });
                if kept_bytes < start {
                    block.bytes.copy_within(start..start + size, kept_bytes);
                }
                kept_bytes += size;
            }
            start += size;
            ordinal += 1;
        }
        if kept_bytes < block.bytes.len() / 2 {
            // A batch may be of rows of very many blocks.
            block.bytes.truncate(kept_bytes);
            block.bytes.shrink_to_fit();
            rows.shrink_to_fit();
        }
        (rows, first_place)
    }

    fn value_error(&self, block: &AlignmentBlock, row: &Row, problem: String) -> ColumnsError {
        let chunk = &self.chunks[block.chunk];
        let ordinal = block.first_record + u64::from(row.ordinal);
        let body = self.body(block, row);
        let name = body.map_or(&b""[..], |record| record.name());
        ColumnsError::value(chunk.path(), ordinal, name, problem)
    }

    fn body<'b>(&self, block: &'b AlignmentBlock, row: &Row) -> Option<RecordRef<'b>> {
        block.record(row).get(4..).and_then(|body| RecordRef::new(body).ok())
    }
}

impl Table for AlignmentTable<'_> {
    type Block = AlignmentBlock;
    type Scratch = AlignmentScratch;
    type Check = Vec<BlockCheck>;
    type Builders = Builders;

    fn inputs(&self) -> usize {
        self.chunks.len()
    }

    fn check(&self) -> Vec<BlockCheck> {
        self.chunks.iter().map(|chunk| BlockCheck::new(&chunk.source, 0)).collect()
    }

    fn builders(&self) -> Builders {
        Builders::new(self.requested)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let read = self.chunks.iter().map(|chunk| chunk.source.bytes_read()).sum();
        let all = self.chunks.iter().map(|chunk| chunk.source.total_bytes()).sum();
        // Of regions nobody knows how many bytes they are.
        (read, Option::filter(all, |_| self.filter.regions.len() == 0))
    }

    fn fetch(&self, scratch: &mut AlignmentScratch) -> Result<Fetch<AlignmentBlock>, ColumnsError> {
        loop {
            let turn = self.turn.load(Ordering::Acquire);
            let Some(chunk) = self.chunks.get(turn) else { return Ok(Fetch::End) };
            match chunk.source.fetch(scratch)? {
                Fetch::Block(mut block) => {
                    let (rows, first_place) = self.scan(turn, &mut block);
                    let (chunk, first_record) = (turn, 0);
                    let block = AlignmentBlock { chunk, block, rows, first_place, first_record };
                    return Ok(Fetch::Block(block));
                }
                Fetch::Busy => return Ok(Fetch::Busy),
                Fetch::End => {
                    self.end(turn);
                }
            }
        }
    }

    fn accept(
        &self,
        checks: &mut Vec<BlockCheck>,
        block: &mut AlignmentBlock,
    ) -> Result<Rest, ColumnsError> {
        let (check, chunk) = (&mut checks[block.chunk], &self.chunks[block.chunk]);
        let found = Some((std::mem::take(&mut block.rows), block.first_place));
        let found = check.accept_scanned(&chunk.source, &mut block.block, found, |_| None)?;
        // Where its records were put right, they are looked at again.
        let found = found.unwrap_or_else(|| self.scan(block.chunk, &mut block.block));
        (block.rows, block.first_place) = found;
        block.first_record = check.records() - block.block.records;
        let is_after = block.first_place.is_some_and(|place| chunk.is_after(place));
        if is_after {
            self.end(block.chunk);
        }
        Ok(if is_after || block.block.last { Rest::Nothing } else { Rest::More })
    }

    fn build(
        &self,
        builders: &mut Builders,
        pieces: &[Piece<AlignmentBlock>],
    ) -> Result<RecordBatch, ColumnsError> {
        let mut count = 0;
        for piece in pieces {
            for row in &piece.block.rows[piece.rows.clone()] {
                let Some(record) = self.body(&piece.block, row) else {
                    return Err(Stopped::Incomplete.into());
                };
                let appended = builders.append(&record, &self.names);
                appended.map_err(|why| self.value_error(&piece.block, row, why))?;
                count += 1;
            }
        }
        let columns = builders.finish(&self.names)?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)?)
    }

    fn recycle(&self, block: AlignmentBlock) {
        if block.chunk >= self.turn.load(Ordering::Acquire) {
            self.chunks[block.chunk].source.recycle(block.block);
        }
    }
}
