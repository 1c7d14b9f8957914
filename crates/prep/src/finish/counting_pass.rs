//! A look at all stored records before they are finished: in parallel, in no order, with their
//! final duplicate flag. Nothing is taken out of the stores. This is where recalibration counts.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use seqloom_format::bam::RecordRef;
use seqloom_runtime::pool::{self, Watch};

use super::StoredRecords;
use super::error::FinishError;
use super::hooks::{RecordVisitor, VisitorSource};
use crate::duplicates::DuplicateMarks;
use crate::partition::frame::{frames, set_duplicates};
use crate::partition::store::{ChunkStore, StoreScratch};

/// Options of [`counting_pass`].
pub struct CountingPassOptions<'a> {
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Records seen so far.
    pub records: &'a AtomicU64,
    /// Progress and interrupts.
    pub watch: Watch<'a>,
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
    let (marks, seen) = (records.marks, options.records);
    let worker = |_| Ok::<_, FinishError>((visitors.visitor(), StoreScratch::new()?));
    let workers = pool::for_each(
        options.threads,
        chunks(records.stores),
        options.watch,
        worker,
        |(visitor, scratch), SealedChunk { store, partition, index }| {
            let show = |bytes: &mut [u8]| show(bytes, marks, seen, visitor.as_mut());
            store.visit_chunk(partition, index, scratch, show)
        },
    )?;
    workers.into_iter().try_for_each(|(visitor, _)| visitor.finish().map_err(FinishError::Hook))
}

/// A chunk in its place.
struct SealedChunk<'a> {
    store: &'a ChunkStore<'a>,
    partition: usize,
    /// In the partition.
    index: usize,
}

/// Each chunk, sealed.
fn chunks<'a>(stores: &[&'a ChunkStore<'a>]) -> impl Iterator<Item = SealedChunk<'a>> {
    let partitions =
        |&store: &&'a ChunkStore<'a>| (0..store.partitions()).map(move |it| (store, it));
    stores.iter().flat_map(partitions).flat_map(|(store, partition)| {
        store.close(partition);
        let sealed = 0..store.sealed_chunks(partition);
        sealed.map(move |index| SealedChunk { store, partition, index })
    })
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
