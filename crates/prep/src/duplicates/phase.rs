//! The resolve phase: all partitions of read ends, in parallel, to one bitmap.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use seqloom_io::spill::SpillError;
use seqloom_runtime::failure::{Failure, lock};
use seqloom_runtime::pool::{self, WorkerPanic};
use seqloom_runtime::turnstile::Turnstile;

use super::{
    DuplicateMarks, DuplicateMode, DuplicateOptions, FragmentEnd, FragmentResolver, PairEnd,
    resolve_pairs,
};
use crate::collect::{END_PARTITIONS, EndCollector};
use crate::metrics::DuplicationCounters;
use crate::store::{Backing, Chunk, ChunkStore, StoreScratch};

/// Partitions being resolved at a time, per worker.
const INSIDE_PER_WORKER: usize = 1;

/// Why duplicates could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// A spilled chunk could not be read back.
    #[error("{0}")]
    Spill(#[from] SpillError),
    /// A bug.
    #[error("{0}")]
    Panic(#[from] WorkerPanic),
    /// The run was stopped from outside.
    #[error("interrupted")]
    Interrupted,
}

/// Resolves every partition of `ends` for `templates` templates.
///
/// # Errors
/// When a spilled chunk cannot be read back.
pub fn resolve_all(
    ends: EndCollector<'_>,
    templates: u64,
    mode: DuplicateMode,
    options: &DuplicateOptions,
    backing: &Backing,
    threads: NonZeroUsize,
    watch: &dyn Fn() -> bool,
) -> Result<(DuplicateMarks, DuplicationCounters), ResolveError> {
    backing.ledger.charge(DuplicateMarks::size_bytes(templates, mode) as u64);
    let marks = DuplicateMarks::new(templates, mode);
    let turnstile = Turnstile::new(&backing.ledger, INSIDE_PER_WORKER * threads.get());
    let failure = Failure::<ResolveError>::default();
    let total = Mutex::new(None::<DuplicationCounters>);
    let watch = || if watch() { Ok(()) } else { Err(ResolveError::Interrupted) };
    pool::run(
        threads,
        &failure,
        || turnstile.close(),
        &watch,
        |_| {
            let mut counters = DuplicationCounters::default();
            let mut scratch = StoreScratch::new()?;
            while let Some(pass) = turnstile.enter(|ticket| cost_bytes(&ends, ticket)) {
                let partition = pass.ticket() as usize;
                resolve_partition(
                    &ends,
                    partition,
                    options,
                    &marks,
                    &mut counters,
                    backing,
                    &mut scratch,
                )?;
            }
            lock(&total).get_or_insert_default().merge(&counters);
            Ok(())
        },
    )?;
    let mut counters = ends.into_counters();
    let resolved = total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    counters.merge(&resolved.unwrap_or_default());
    Ok((marks, counters))
}

/// Decoded pairs and fragments; markers stream by.
fn cost_bytes(ends: &EndCollector<'_>, ticket: u64) -> Option<u64> {
    let partition = usize::try_from(ticket).ok().filter(|&p| p < END_PARTITIONS)?;
    let entries = ends.pairs.bytes(partition) + ends.fragments.bytes(partition);
    // Encoded and decoded side by side, the decoded ones padded.
    Some(entries * 5 / 2)
}

fn resolve_partition(
    ends: &EndCollector<'_>,
    partition: usize,
    options: &DuplicateOptions,
    marks: &DuplicateMarks,
    counters: &mut DuplicationCounters,
    backing: &Backing,
    scratch: &mut StoreScratch,
) -> Result<(), SpillError> {
    let mut marks = marks;
    let count = |bytes: u64, each: usize| bytes as usize / each;
    let mut pairs = Vec::with_capacity(count(ends.pairs.bytes(partition), PairEnd::BYTES));
    for_each_chunk(&ends.pairs, partition, backing, scratch, |bytes| {
        pairs.extend(EndCollector::pairs_of(bytes));
    })?;
    resolve_pairs(&mut pairs, options, &mut marks, counters);
    drop(pairs);
    let mut fragments =
        Vec::with_capacity(count(ends.fragments.bytes(partition), FragmentEnd::BYTES));
    for_each_chunk(&ends.fragments, partition, backing, scratch, |bytes| {
        fragments.extend(EndCollector::fragments_of(bytes));
    })?;
    let mut resolver = FragmentResolver::new(&mut fragments);
    for_each_chunk(&ends.markers, partition, backing, scratch, |bytes| {
        EndCollector::markers_of(bytes).for_each(|marker| resolver.paired_end_at(&marker));
    })?;
    resolver.finish(&mut marks, counters);
    Ok(())
}

fn for_each_chunk(
    store: &ChunkStore<'_>,
    partition: usize,
    backing: &Backing,
    scratch: &mut StoreScratch,
    mut visit: impl FnMut(&[u8]),
) -> Result<(), SpillError> {
    store.take(partition).into_iter().try_for_each(|chunk: Chunk| {
        visit(&chunk.load(backing, scratch)?.bytes);
        Ok(())
    })
}
