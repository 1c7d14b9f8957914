//! Records of a unit in order: sorted in memory, or merged from sorted runs when the unit is too
//! large for it.

use std::collections::VecDeque;

use seqloom_format::bam::RecordRef;

use super::error::FinishError;
use super::merged::{PIECE_BYTES, RunWriter, compare_bodies, merge};
use crate::duplicates::DuplicateMarks;
use crate::partition::frame::{framed, frames, set_duplicates};
use crate::partition::order::{PrefixKeys, SortOrder};
use crate::partition::store::{Backing, Chunk, HeldChunk, StoreScratch};

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

/// How the units of a run are sorted.
#[derive(Clone, Copy)]
pub(super) struct Sorting<'a> {
    pub(super) order: SortOrder,
    /// Applied before records are compared: FLAG is part of some orders.
    pub(super) marks: Option<&'a DuplicateMarks>,
    pub(super) backing: &'a Backing,
}

impl Sorting<'_> {
    /// A chunk in memory with its final duplicate flags.
    fn load(&self, chunk: Chunk, scratch: &mut StoreScratch) -> Result<HeldChunk, FinishError> {
        let mut loaded = chunk.load(self.backing, scratch)?;
        if let Some(marks) = self.marks {
            set_duplicates(&mut loaded.bytes, marks)?;
        }
        Ok(loaded)
    }

    /// Sorts the records of `chunks` and visits them in order.
    pub(super) fn visit_sorted(
        &self,
        chunks: Vec<Chunk>,
        scratch: &mut StoreScratch,
        visit: impl FnMut(u64, &[u8]) -> Result<(), FinishError>,
    ) -> Result<(), FinishError> {
        let load = |chunk| self.load(chunk, scratch);
        let loaded: Vec<_> = chunks.into_iter().map(load).collect::<Result<_, _>>()?;
        visit_in_order(&loaded, self.order, &mut PrefixKeys::new(self.order), visit)
    }

    /// Sorts `chunks` in portions of at most `portion_bytes` into spilled runs, then merges the
    /// runs, as many at a time as have pieces of `portion_bytes` in all.
    pub(super) fn visit_merged(
        &self,
        chunks: Vec<Chunk>,
        portion_bytes: u64,
        scratch: &mut StoreScratch,
        visit: impl FnMut(u64, &[u8]) -> Result<(), FinishError>,
    ) -> Result<(), FinishError> {
        let Self { order, backing, .. } = *self;
        let mut keys = PrefixKeys::new(order);
        let mut runs = VecDeque::new();
        let mut portion = Vec::new();
        let mut bytes = 0;
        let mut chunks = chunks.into_iter().peekable();
        while let Some(chunk) = chunks.next() {
            let loaded = self.load(chunk, scratch)?;
            bytes += loaded.bytes.len() as u64;
            portion.push(loaded);
            if bytes >= portion_bytes || chunks.peek().is_none() {
                let mut run = RunWriter::default();
                visit_in_order(&portion, order, &mut keys, |ordinal, body| {
                    run.push(ordinal, body, backing, scratch)
                })?;
                runs.push_back(run.finish(backing, scratch)?);
                portion.clear();
                bytes = 0;
            }
        }
        drop(portion);
        let fan_in = (portion_bytes / PIECE_BYTES as u64).max(MIN_FAN_IN) as usize;
        while runs.len() > fan_in {
            let mut longer = RunWriter::default();
            let mut scratch_out = StoreScratch::new()?;
            let some = runs.drain(..fan_in).collect();
            merge((order, backing), some, &mut keys, scratch, |ordinal, body| {
                longer.push(ordinal, body, backing, &mut scratch_out)
            })?;
            runs.push_back(longer.finish(backing, &mut scratch_out)?);
        }
        merge((order, backing), runs.into(), &mut keys, scratch, visit)
    }
}

/// Visits the records of `chunks` in order; `keys` takes note of them first.
fn visit_in_order(
    chunks: &[HeldChunk],
    order: SortOrder,
    keys: &mut PrefixKeys,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), FinishError>,
) -> Result<(), FinishError> {
    if keys.needs_notes() {
        for (_, _, body) in chunks.iter().flat_map(|loaded| frames(&loaded.bytes)) {
            keys.note(&RecordRef::new(body)?);
        }
    }
    let mut entries = Vec::new();
    for (chunk, loaded) in chunks.iter().enumerate() {
        for (offset, ordinal, body) in frames(&loaded.bytes) {
            let key = keys.key(&RecordRef::new(body)?, ordinal);
            entries.push(Entry { key, ordinal, chunk: chunk as u32, offset: offset as u32 });
        }
    }
    let frame_of =
        |entry: &Entry| framed(&chunks[entry.chunk as usize].bytes[entry.offset as usize..]);
    if order.is_key_whole() {
        entries.sort_unstable();
    } else {
        entries.sort_unstable_by(|left, right| {
            left.key
                .cmp(&right.key)
                .then_with(|| compare_bodies(order, frame_of(left), frame_of(right)))
                .then_with(|| left.ordinal.cmp(&right.ordinal))
        });
    }
    for entry in entries {
        if let Some((ordinal, body)) = frame_of(&entry) {
            visit(ordinal, body)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "sorted_tests.rs"]
mod tests;
