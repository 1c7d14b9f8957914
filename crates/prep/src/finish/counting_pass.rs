//! A look at all stored records before they are finished: in parallel, in no order, with their
//! final duplicate flag. Nothing is taken out of the stores. This is where recalibration counts.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use seqloom_format::bam::RecordRef;
use seqloom_runtime::failure::Failure;
use seqloom_runtime::pool;

use super::hooks::{RecordVisitor, VisitorSource};
use super::{FinishError, StoredRecords};
use crate::duplicates::DuplicateMarks;
use crate::partition::frame::{frames, set_duplicates};
use crate::partition::store::{ChunkStore, StoreScratch};

/// What [`counting_pass`] needs.
pub struct CountingPassOptions<'a> {
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Records seen so far.
    pub records: &'a AtomicU64,
    /// Called now and then while the workers run; `false` stops them.
    pub watch: &'a dyn Fn() -> bool,
}

/// Sealed chunks of one partition.
struct PartitionChunks<'a> {
    store: &'a ChunkStore<'a>,
    partition: usize,
    /// Number of its first chunk, counted over all regions.
    first_chunk: usize,
}

/// Shows every one of `records` to the visitor of some worker. Chunks in memory are read in
/// place, spilled ones read back one at a time per worker; all stay where they are. Nothing may be
/// appended meanwhile.
///
/// # Errors
/// The first failure of any worker or visitor.
pub(crate) fn counting_pass(
    records: &StoredRecords<'_>,
    options: &CountingPassOptions<'_>,
    visitors: &dyn VisitorSource,
) -> Result<(), FinishError> {
    let (regions, chunks) = regions(records.stores);
    let next = AtomicUsize::new(0);
    let failure = Failure::default();
    let (marks, seen) = (records.marks, options.records);
    let work = |_| {
        let mut visitor = visitors.visitor();
        let mut scratch = StoreScratch::new()?;
        while !failure.stopped() {
            // Relaxed: every number is given once; chunks were closed before the workers began.
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            if chunk >= chunks {
                return visitor.finish().map_err(FinishError::Hook);
            }
            let after = regions.partition_point(|region| region.first_chunk <= chunk);
            let Some(region) = regions[..after].last() else { continue };
            let index = chunk - region.first_chunk;
            let (store, partition) = (region.store, region.partition);
            store.visit_chunk(partition, index, &mut scratch, |bytes| {
                show(bytes, marks, seen, visitor.as_mut())
            })?;
        }
        Ok(())
    };
    pool::run(options.threads, &failure, || (), options.watch, work)
}

/// Closes all chunks and numbers them.
fn regions<'a>(stores: &[&'a ChunkStore<'a>]) -> (Vec<PartitionChunks<'a>>, usize) {
    let (mut regions, mut first_chunk) = (Vec::new(), 0);
    for &store in stores {
        for partition in 0..store.partitions() {
            store.close(partition);
            let chunks = store.sealed_chunks(partition);
            if chunks > 0 {
                regions.push(PartitionChunks { store, partition, first_chunk });
                first_chunk += chunks;
            }
        }
    }
    (regions, first_chunk)
}

fn show(
    bytes: &mut [u8],
    marks: Option<&DuplicateMarks>,
    seen: &AtomicU64,
    visitor: &mut dyn RecordVisitor,
) -> Result<(), FinishError> {
    if let Some(marks) = marks {
        set_duplicates(bytes, marks)?;
    }
    let mut records = 0;
    for (_, ordinal, body) in frames(bytes) {
        visitor.visit(ordinal, &RecordRef::new(body)?).map_err(FinishError::Hook)?;
        records += 1;
    }
    // Relaxed: a count for who watches.
    seen.fetch_add(records, Ordering::Relaxed);
    Ok(())
}
