//! Sorted runs in the spill file, and their merge.

use std::cmp::Ordering;

use seqloom_format::bam::RecordRef;
use seqloom_io::spill::{Content, SpillExtent};

use super::error::FinishError;
use crate::partition::frame::{FRAME_BYTES, append_frame, framed};
use crate::partition::order::{PrefixKeys, SortOrder};
use crate::partition::store::{Backing, StoreScratch};

/// Bytes of one piece of a spilled run: what the merge holds per run.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// A sorted run in the spill file.
pub(super) type Run = Vec<SpillExtent>;

/// Writes a sorted run piece by piece.
#[derive(Default)]
pub(super) struct RunWriter {
    run: Run,
    piece: Vec<u8>,
}

impl RunWriter {
    /// Adds the next record.
    pub(super) fn push(
        &mut self,
        ordinal: u64,
        body: &[u8],
        backing: &Backing,
        scratch: &mut StoreScratch,
    ) -> Result<(), FinishError> {
        if self.piece.len() + FRAME_BYTES + body.len() > PIECE_BYTES {
            self.flush(backing, scratch)?;
        }
        append_frame(ordinal, body, &mut self.piece);
        Ok(())
    }

    fn flush(&mut self, backing: &Backing, scratch: &mut StoreScratch) -> Result<(), FinishError> {
        if !self.piece.is_empty() {
            self.run.push(scratch.write(backing, (&self.piece, Content::Records))?);
            self.piece.clear();
        }
        Ok(())
    }

    /// The run, all of it spilled.
    pub(super) fn finish(
        mut self,
        backing: &Backing,
        scratch: &mut StoreScratch,
    ) -> Result<Run, FinishError> {
        self.flush(backing, scratch)?;
        Ok(self.run)
    }
}

/// Reads one run, piece by piece.
struct Cursor {
    pieces: std::vec::IntoIter<SpillExtent>,
    piece: Vec<u8>,
    offset: usize,
    /// Key and ordinal of the current record.
    head: (u64, u64),
}

impl Cursor {
    fn frame(&self) -> Option<(u64, &[u8])> {
        framed(&self.piece[self.offset..])
    }

    /// Reads key and ordinal of the current record, and the next piece if need be; false at the
    /// end of the run.
    fn look(
        &mut self,
        keys: &mut PrefixKeys,
        backing: &Backing,
        scratch: &mut StoreScratch,
    ) -> Result<bool, FinishError> {
        if self.offset == self.piece.len() {
            let Some(extent) = self.pieces.next() else { return Ok(false) };
            self.piece.clear();
            self.offset = 0;
            scratch.read(backing, extent, &mut self.piece)?;
        }
        let Some((ordinal, body)) = self.frame() else { return Ok(false) };
        self.head = (keys.key(&RecordRef::new(body)?, ordinal), ordinal);
        Ok(true)
    }
}

/// A binary heap of cursors, whose smallest is at the front. (The one of the standard library
/// cannot compare what its items point at.)
struct Heads {
    cursors: Vec<Cursor>,
    order: SortOrder,
}

impl Heads {
    fn is_less(&self, left: usize, right: usize) -> bool {
        let (left, right) = (&self.cursors[left], &self.cursors[right]);
        let by_body = || match self.order.is_key_whole() {
            true => Ordering::Equal,
            false => compare_bodies(self.order, left.frame(), right.frame()),
        };
        let keys = left.head.0.cmp(&right.head.0);
        keys.then_with(by_body).then_with(|| left.head.1.cmp(&right.head.1)).is_lt()
    }

    /// Puts the cursor at `at` where it belongs among those after it.
    fn sift_down(&mut self, mut at: usize) {
        loop {
            let first = 2 * at + 1;
            if first >= self.cursors.len() {
                return;
            }
            let second = first + 1;
            let has_second = second < self.cursors.len();
            let child = if has_second && self.is_less(second, first) { second } else { first };
            if !self.is_less(child, at) {
                return;
            }
            self.cursors.swap(at, child);
            at = child;
        }
    }
}

/// Compares records that were checked when their keys were made.
pub(super) fn compare_bodies(
    order: SortOrder,
    left: Option<(u64, &[u8])>,
    right: Option<(u64, &[u8])>,
) -> Ordering {
    let (Some((_, left)), Some((_, right))) = (left, right) else { return Ordering::Equal };
    match (RecordRef::new(left), RecordRef::new(right)) {
        (Ok(left), Ok(right)) => order.compare(&left, &right),
        _ => Ordering::Equal,
    }
}

/// Merges runs; `keys` has taken note of all their records.
pub(super) fn merge(
    (order, backing): (SortOrder, &Backing),
    runs: Vec<Run>,
    keys: &mut PrefixKeys,
    scratch: &mut StoreScratch,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), FinishError>,
) -> Result<(), FinishError> {
    let mut heads = Heads { cursors: Vec::with_capacity(runs.len()), order };
    for run in runs {
        let pieces = run.into_iter();
        let mut cursor = Cursor { pieces, piece: Vec::new(), offset: 0, head: (0, 0) };
        if cursor.look(keys, backing, scratch)? {
            heads.cursors.push(cursor);
        }
    }
    (0..heads.cursors.len() / 2).rev().for_each(|at| heads.sift_down(at));
    while let Some(cursor) = heads.cursors.first_mut() {
        if let Some((ordinal, body)) = cursor.frame() {
            visit(ordinal, body)?;
            cursor.offset += FRAME_BYTES + body.len();
        }
        if !cursor.look(keys, backing, scratch)? {
            heads.cursors.swap_remove(0);
        }
        heads.sift_down(0);
    }
    Ok(())
}
