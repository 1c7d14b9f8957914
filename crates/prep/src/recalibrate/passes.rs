//! Counting all stored records within a bound of memory.
//!
//! Tables of all read groups, one for each worker, are the fastest, and usually there is room for
//! them. Where there is not, a first look at the records says which qualities and lengths there
//! are; workers then share as many tables as there is room for. Where not even one has room, the
//! records are counted in several passes, each of which counts some qualities of some read groups.
//! What was counted is stored, quality by quality, as temporary data.

use std::sync::atomic::Ordering;

use seqloom_format::Persist;

use super::counts::{Counts, Extent};
use super::view::{CountedQuality, StoredCounts};
use super::visit::{CountingVisitors, ExtentVisitors};
use super::{Applier, Counter, QUALITIES, RecalibrationOptions};
use crate::finish::{CountingPassOptions, FinishError, StoredRecords, counting_pass};
use crate::partition::StoreScratch;

/// What tables may take for each worker: of what a run needs for each at least (24 MiB), less a
/// chunk of records as it is stored and as it is read, and what a long read takes on its way.
const WORKER_BYTES: u64 = 12 << 20;
/// What a row by covariate takes while a report is written: the row, its cells, its text.
const REPORT_ROW_BYTES: u64 = 256;
/// What a quality of a read group takes in all tables that have one row for it: where its cells
/// are stored, its row in memory, the cells and the text of that.
const QUALITY_BYTES: u64 = 384;

/// Memory that recalibration with tables of `options`, of so many read groups, may need besides
/// that of its workers.
#[must_use]
pub fn most_memory_bytes(options: &RecalibrationOptions, groups: usize) -> u64 {
    let row_cells = options.row_bytes(options.max_cycle) / size_of::<[u64; 2]>() as u64;
    let by_quality = groups as u64 * QUALITIES as u64 * QUALITY_BYTES;
    Applier::most_bytes(options, groups) + row_cells * REPORT_ROW_BYTES + by_quality
}

/// Tables that a pass counts in.
struct Tables {
    /// Room for each read group.
    extents: Vec<Extent>,
    /// Tables of all of them that have room; none where not even one has.
    copies: u64,
}

/// Counts all of `records`.
///
/// # Errors
/// A record that cannot be counted; temporary data that cannot be written or read back.
pub(crate) fn count_stored(
    counter: &Counter<'_>,
    records: &StoredRecords<'_>,
    options: &CountingPassOptions<'_>,
) -> Result<StoredCounts, FinishError> {
    let (threads, full) = (options.threads.get() as u64, counter.full_extents());
    let full_bytes = tables_bytes(counter.options(), &full);
    let workers_bytes = threads.saturating_mul(WORKER_BYTES);
    let requested_bytes = full_bytes.saturating_mul(threads);
    let more_bytes = requested_bytes.saturating_sub(workers_bytes);
    let charge = records.backing.ledger.charge_at_most(more_bytes);
    let room_bytes = workers_bytes + charge.bytes();
    let tables = if requested_bytes <= room_bytes {
        Tables { extents: full, copies: threads }
    } else {
        let visitors = ExtentVisitors::new(counter);
        counting_pass(records, options, &visitors)?;
        let extents = visitors.extents();
        let bytes = tables_bytes(counter.options(), &extents);
        Tables { extents, copies: (room_bytes / bytes.max(1)).min(threads) }
    };
    let row_bytes = |extent: Extent| counter.options().row_bytes(extent.cycles);
    let pass_bytes = if tables.copies == 0 { room_bytes } else { u64::MAX };
    let mut counts = StoredCounts::default();
    for extents in Passes::new(&tables.extents, pass_bytes, row_bytes) {
        // Relaxed: no worker runs between passes.
        options.records.store(0, Ordering::Relaxed);
        let new = |_| Counts::new(counter.options(), &extents);
        let copies: Vec<_> = (0..tables.copies.max(1)).map(new).collect();
        counting_pass(records, options, &CountingVisitors::new(counter, &copies))?;
        store(copies, &mut counts, records)?;
    }
    Ok(counts)
}

/// Memory of a table of all read groups.
fn tables_bytes(options: &RecalibrationOptions, extents: &[Extent]) -> u64 {
    extents.iter().map(|extent| extent.rows() * options.row_bytes(extent.cycles)).sum()
}

/// Stores what was counted in tables of the same size.
fn store(
    copies: Vec<Counts>,
    counts: &mut StoredCounts,
    records: &StoredRecords<'_>,
) -> Result<(), FinishError> {
    let mut copies = copies.into_iter();
    let Some(mut sum) = copies.next() else { return Ok(()) };
    copies.for_each(|other| sum.merge(other));
    let mut scratch = StoreScratch::new()?;
    for (index, group) in sum.take_groups() {
        for quality in 0..QUALITIES as u8 {
            let rows = group.row(quality);
            if !rows.is_empty() {
                let cells = rows.to_state().into();
                let counted = CountedQuality { group: index as u32, quality, cells };
                counts.push(&counted, records.backing, &mut scratch)?;
            }
        }
    }
    Ok(())
}

/// Rows of each pass: as many as have room, and one at least.
struct Passes<'a, B> {
    extents: &'a [Extent],
    room_bytes: u64,
    row_bytes: B,
    /// The next read group and quality.
    next: (usize, usize),
}

impl<'a, B: Fn(Extent) -> u64> Passes<'a, B> {
    fn new(extents: &'a [Extent], room_bytes: u64, row_bytes: B) -> Self {
        Self { extents, room_bytes, row_bytes, next: (0, 0) }
    }
}

impl<B: Fn(Extent) -> u64> Iterator for Passes<'_, B> {
    type Item = Vec<Extent>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut pass = vec![Extent::default(); self.extents.len()];
        let (mut bytes, mut is_empty) = (0_u64, true);
        while let Some(&extent) = self.extents.get(self.next.0) {
            let (group, quality) = self.next;
            if extent.qualities >> quality & 1 == 1 {
                bytes = bytes.saturating_add((self.row_bytes)(extent));
                if bytes > self.room_bytes && !is_empty {
                    break;
                }
                is_empty = false;
                pass[group].cycles = extent.cycles;
                pass[group].qualities |= 1 << quality;
            }
            self.next = if quality + 1 < QUALITIES { (group, quality + 1) } else { (group + 1, 0) };
        }
        (!is_empty).then_some(pass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn passes_have_every_row_once_and_fit(
            extents in prop::collection::vec((any::<u128>(), 1..9_u32), 0..9),
            room_bytes in 0..2000_u64,
        ) {
            let all = Extent::all(0).qualities;
            let extent = |&(qualities, cycles): &(u128, u32)| Extent {
                qualities: qualities & all,
                cycles,
            };
            let extents: Vec<_> = extents.iter().map(extent).collect();
            let row_bytes = |extent: Extent| u64::from(extent.cycles) * 10;
            let mut sum = vec![0; extents.len()];
            for pass in Passes::new(&extents, room_bytes, row_bytes) {
                let rows: u64 = pass.iter().map(|it| it.rows()).sum();
                let bytes: u64 = pass.iter().map(|&it| it.rows() * row_bytes(it)).sum();
                prop_assert!(rows == 1 || (rows > 1 && bytes <= room_bytes));
                for (sum, extent) in sum.iter_mut().zip(pass) {
                    prop_assert_eq!(*sum & extent.qualities, 0);
                    *sum |= extent.qualities;
                }
            }
            let expected: Vec<_> = extents.iter().map(|it| it.qualities).collect();
            prop_assert_eq!(sum, expected);
        }
    }

    #[test]
    fn few_read_groups_of_short_reads_need_little() {
        let options = RecalibrationOptions::default();
        assert!(most_memory_bytes(&options, 1) < 1 << 20);
        let long = RecalibrationOptions { max_cycle: 1 << 16, ..options };
        assert!(most_memory_bytes(&long, 1) > 32 << 20);
        let tables = tables_bytes(&long, &[Extent { qualities: 1, cycles: 1 << 16 }]);
        assert!(tables < WORKER_BYTES, "one quality of one read group always has room");
    }
}
