//! What a worker collects about its run of records.

use std::ops::Range;

use super::{BinningScheme, IndexError};
use crate::bam::{Flags, RecordRef};
use crate::bgzf::VirtualOffset;

/// A window of the linear index that no record of the fragment overlaps.
pub(super) const UNSET: u64 = u64::MAX;

/// Index entries of a run of consecutive records, with positions relative to the run's first
/// compressed byte. The run may start and end anywhere in a coordinate-sorted file, so long as it
/// starts at a block's start. It is reused by [`IndexFragment::clear`]; no record allocates.
///
/// Its size is 24 bytes per run of records in one bin and 8 bytes per window of 16 kbp.
#[derive(Debug, Clone)]
pub struct IndexFragment {
    pub(super) scheme: BinningScheme,
    /// Runs of consecutive records in the same bin, each up to the next one's start.
    pub(super) runs: Vec<Run>,
    /// One part per reference, in order.
    pub(super) parts: Vec<Part>,
    /// Offsets per window, the parts' one after the other.
    pub(super) windows: Vec<u64>,
    /// Records without a reference.
    pub(super) no_coordinate: NoCoordinate,
}

/// Consecutive records that share reference and bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) reference_id: u32,
    pub(super) bin: u32,
    pub(super) start: VirtualOffset,
}

crate::persist_fields!(Run { reference_id, bin, start });

/// Place of a record, as the index sees it.
#[derive(Debug, Clone)]
pub(crate) struct PlacedRecord {
    /// Negative: none.
    pub(crate) reference_id: i32,
    /// Positions on it, 0-based.
    pub(crate) span: Range<i64>,
    pub(crate) is_mapped: bool,
}

/// Entries of one reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) reference_id: u32,
    /// Position of the first and of the last record, for the check of the order.
    pub(super) first_position: i64,
    pub(super) last_position: i64,
    /// Window of the reference that `windows[windows_start]` stands for.
    pub(super) first_window: usize,
    /// Start of this part's windows; they end at the next part's start.
    pub(super) windows_start: usize,
    pub(super) mapped: u64,
    pub(super) unmapped: u64,
}

/// The records without a reference at the end of a file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NoCoordinate {
    pub(super) count: u64,
    /// Start of the first of them.
    pub(super) start: Option<VirtualOffset>,
}

crate::persist_fields!(Part {
    reference_id,
    first_position,
    last_position,
    first_window,
    windows_start,
    mapped,
    unmapped,
});
crate::persist_fields!(NoCoordinate { count, start });
crate::persist_fields!(IndexFragment { scheme, runs, parts, windows, no_coordinate });

impl IndexFragment {
    /// An empty fragment.
    #[must_use]
    pub fn new(scheme: BinningScheme) -> Self {
        Self {
            scheme,
            runs: Vec::new(),
            parts: Vec::new(),
            windows: Vec::new(),
            no_coordinate: NoCoordinate::default(),
        }
    }

    /// Forgets the records and keeps the memory.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.parts.clear();
        self.windows.clear();
        self.no_coordinate = NoCoordinate::default();
    }

    /// Bytes of memory held, for the memory ledger.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.runs.capacity() * size_of::<Run>()
            + self.parts.capacity() * size_of::<Part>()
            + self.windows.capacity() * size_of::<u64>()
    }

    /// Adds the next record of the run.
    ///
    /// `start` is where the record (its `block_size`) begins: the offset of its BGZF block in the
    /// fragment's compressed bytes, and its offset in that block's payload. A record that begins
    /// where a block's payload ends begins at offset 0 of the next block.
    ///
    /// # Errors
    /// As [`IndexFragment::push`].
    pub fn push_record(
        &mut self,
        record: &RecordRef<'_>,
        start: VirtualOffset,
    ) -> Result<(), IndexError> {
        let placed = PlacedRecord {
            reference_id: record.reference_id(),
            span: i64::from(record.position())..record.reference_end(),
            is_mapped: !record.has_flags(Flags::UNMAPPED),
        };
        self.push(placed, start)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`IndexError::Unsorted`] and [`IndexError::OutOfRange`]; the fragment is then unchanged.
    pub(crate) fn push(
        &mut self,
        record: PlacedRecord,
        start: VirtualOffset,
    ) -> Result<(), IndexError> {
        let PlacedRecord { reference_id, span: Range { start: position, end }, is_mapped } = record;
        let Ok(reference) = u32::try_from(reference_id) else {
            self.no_coordinate.count += 1;
            self.no_coordinate.start.get_or_insert(start);
            return Ok(());
        };
        let limit_bp = self.scheme.limit_bp();
        if end < position || end > limit_bp {
            return Err(IndexError::OutOfRange { reference_id, start: position, end, limit_bp });
        }
        // A record on a reference without a position counts as being on its first base.
        let position = position.max(0);
        let end = end.max(position + 1).min(limit_bp);
        self.check_order(reference, position)?;
        let bin = self.scheme.bin(position, end);
        let shift = self.scheme.min_shift();
        let windows = (position >> shift) as usize..((end - 1) >> shift) as usize + 1;
        let windows_start = self.windows.len();
        let first_window = windows.start;
        let part = self.part_of(reference, || Part {
            reference_id: reference,
            first_position: position,
            last_position: position,
            first_window,
            windows_start,
            mapped: 0,
            unmapped: 0,
        });
        part.last_position = position;
        *(if is_mapped { &mut part.mapped } else { &mut part.unmapped }) += 1;
        let base = part.windows_start;
        let covered =
            base + windows.start - part.first_window..base + windows.end - part.first_window;
        if self.windows.len() < covered.end {
            self.windows.resize(covered.end, UNSET);
        }
        for window in &mut self.windows[covered] {
            *window = (*window).min(start.raw());
        }
        let is_same = |run: &Run| run.reference_id == reference && run.bin == bin;
        if !self.runs.last().is_some_and(is_same) {
            self.runs.push(Run { reference_id: reference, bin, start });
        }
        Ok(())
    }

    /// The part of the reference of the last record, which is `new` if that is the first on it.
    fn part_of(&mut self, reference: u32, new: impl FnOnce() -> Part) -> &mut Part {
        if self.parts.last().is_none_or(|part| part.reference_id != reference) {
            self.parts.push(new());
        }
        let last = self.parts.len() - 1;
        &mut self.parts[last]
    }

    fn check_order(&self, reference: u32, position: i64) -> Result<(), IndexError> {
        let is_sorted = self.no_coordinate.count == 0
            && self.parts.last().is_none_or(|part| {
                (part.reference_id, part.last_position) <= (reference, position)
            });
        if is_sorted {
            return Ok(());
        }
        Err(IndexError::Unsorted { reference_id: reference.cast_signed(), position })
    }

    /// The windows of part `index` in [`IndexFragment::windows`].
    pub(super) fn part_windows(&self, index: usize) -> &[u64] {
        let end = self.parts.get(index + 1).map_or(self.windows.len(), |next| next.windows_start);
        &self.windows[self.parts[index].windows_start..end]
    }
}
