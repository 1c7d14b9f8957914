//! Records of a unit in coordinate order: sorted in memory, or merged from sorted runs when the
//! unit is too large for it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use seqloom_format::bam::{Flags, RecordError, RecordRef};
use seqloom_io::spill::SpillExtent;

use super::FinishError;
use crate::collect::FRAME_BYTES;
use crate::layout::coordinate_key;
use crate::store::{Backing, Chunk, Loaded, StoreScratch};

/// Bytes of one piece of a spilled run: what the merge holds per run.
const PIECE_BYTES: usize = 64 << 10;
/// Fewest runs that are merged at a time.
const MIN_FAN_IN: u64 = 4;

/// Sort entry of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: u64,
    ordinal: u64,
    chunk: u32,
    offset: u32,
}

/// Memory of a sort entry, in bytes.
pub(super) const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

/// A record's frame and body at the start of `bytes`.
fn framed(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (ordinal, rest) = bytes.split_first_chunk::<8>()?;
    let (size, rest) = rest.split_first_chunk::<4>()?;
    let body = rest.get(..u32::from_le_bytes(*size) as usize)?;
    Some((u64::from_le_bytes(*ordinal), body))
}

fn key_of(body: &[u8]) -> Result<u64, RecordError> {
    let record = RecordRef::new(body)?;
    let reverse = record.has_flags(Flags::REVERSE);
    Ok(coordinate_key(record.reference_id(), record.position(), reverse))
}

/// Sorts the records of `chunks` and visits them in order.
pub(super) fn visit_sorted(
    chunks: &[Loaded<'_>],
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), FinishError>,
) -> Result<(), FinishError> {
    let mut entries = Vec::new();
    for (chunk, loaded) in chunks.iter().enumerate() {
        let mut offset = 0;
        while let Some((ordinal, body)) = framed(&loaded.bytes[offset..]) {
            let key = key_of(body)?;
            entries.push(Entry { key, ordinal, chunk: chunk as u32, offset: offset as u32 });
            offset += FRAME_BYTES + body.len();
        }
    }
    entries.sort_unstable();
    for entry in entries {
        let at = &chunks[entry.chunk as usize].bytes[entry.offset as usize..];
        if let Some((ordinal, body)) = framed(at) {
            visit(ordinal, body)?;
        }
    }
    Ok(())
}

/// A sorted run in the spill file.
type Run = Vec<SpillExtent>;

/// Sorts `chunks` in portions of at most `portion_bytes` into spilled runs, then merges the runs,
/// as many at a time as have pieces of `portion_bytes` in all.
pub(super) fn visit_merged(
    chunks: Vec<Chunk>,
    portion_bytes: u64,
    backing: &Backing,
    scratch: &mut StoreScratch,
    visit: impl FnMut(u64, &[u8]) -> Result<(), FinishError>,
) -> Result<(), FinishError> {
    let mut runs = VecDeque::new();
    let mut portion = Vec::new();
    let mut bytes = 0;
    for chunk in chunks {
        let loaded = chunk.load(backing, scratch)?;
        bytes += loaded.bytes.len() as u64;
        portion.push(loaded);
        if bytes >= portion_bytes {
            runs.push_back(write_run(&portion, backing, scratch)?);
            portion.clear();
            bytes = 0;
        }
    }
    runs.push_back(write_run(&portion, backing, scratch)?);
    drop(portion);
    let fan_in = (portion_bytes / PIECE_BYTES as u64).max(MIN_FAN_IN) as usize;
    while runs.len() > fan_in {
        let mut longer = RunWriter::default();
        let mut scratch_out = StoreScratch::new()?;
        let some = runs.drain(..fan_in).collect();
        merge(some, backing, scratch, |ordinal, body| {
            longer.push(ordinal, body, backing, &mut scratch_out)
        })?;
        runs.push_back(longer.finish(backing, &mut scratch_out)?);
    }
    merge(runs.into(), backing, scratch, visit)
}

/// Writes a sorted run piece by piece.
#[derive(Default)]
struct RunWriter {
    run: Run,
    piece: Vec<u8>,
}

impl RunWriter {
    fn push(
        &mut self,
        ordinal: u64,
        body: &[u8],
        backing: &Backing,
        scratch: &mut StoreScratch,
    ) -> Result<(), FinishError> {
        if self.piece.len() + FRAME_BYTES + body.len() > PIECE_BYTES {
            self.flush(backing, scratch)?;
        }
        self.piece.extend_from_slice(&ordinal.to_le_bytes());
        self.piece.extend_from_slice(&(body.len() as u32).to_le_bytes());
        self.piece.extend_from_slice(body);
        Ok(())
    }

    fn flush(&mut self, backing: &Backing, scratch: &mut StoreScratch) -> Result<(), FinishError> {
        if !self.piece.is_empty() {
            self.run.push(scratch.write(backing, &self.piece)?);
            self.piece.clear();
        }
        Ok(())
    }

    fn finish(mut self, backing: &Backing, scratch: &mut StoreScratch) -> Result<Run, FinishError> {
        self.flush(backing, scratch)?;
        Ok(self.run)
    }
}

fn write_run(
    portion: &[Loaded<'_>],
    backing: &Backing,
    scratch: &mut StoreScratch,
) -> Result<Run, FinishError> {
    let mut run = RunWriter::default();
    visit_sorted(portion, |ordinal, body| run.push(ordinal, body, backing, scratch))?;
    run.finish(backing, scratch)
}

/// Reads one run, piece by piece.
struct Cursor {
    pieces: std::vec::IntoIter<SpillExtent>,
    piece: Vec<u8>,
    offset: usize,
}

impl Cursor {
    /// Key and ordinal of the current record, reading the next piece if need be.
    fn peek(
        &mut self,
        backing: &Backing,
        scratch: &mut StoreScratch,
    ) -> Result<Option<(u64, u64)>, FinishError> {
        if self.offset == self.piece.len() {
            let Some(extent) = self.pieces.next() else { return Ok(None) };
            self.piece.clear();
            self.offset = 0;
            scratch.read(backing, extent, &mut self.piece)?;
        }
        match framed(&self.piece[self.offset..]) {
            Some((ordinal, body)) => Ok(Some((key_of(body)?, ordinal))),
            None => Ok(None),
        }
    }
}

fn merge(
    runs: Vec<Run>,
    backing: &Backing,
    scratch: &mut StoreScratch,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), FinishError>,
) -> Result<(), FinishError> {
    let cursor = |run: Run| Cursor { pieces: run.into_iter(), piece: Vec::new(), offset: 0 };
    let mut cursors: Vec<_> = runs.into_iter().map(cursor).collect();
    let mut heads = BinaryHeap::with_capacity(cursors.len());
    for (index, cursor) in cursors.iter_mut().enumerate() {
        heads.extend(cursor.peek(backing, scratch)?.map(|head| Reverse((head, index))));
    }
    while let Some(Reverse((_, index))) = heads.pop() {
        let cursor = &mut cursors[index];
        if let Some((ordinal, body)) = framed(&cursor.piece[cursor.offset..]) {
            visit(ordinal, body)?;
            cursor.offset += FRAME_BYTES + body.len();
        }
        heads.extend(cursor.peek(backing, scratch)?.map(|head| Reverse((head, index))));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
