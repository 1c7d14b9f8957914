//! Loads an engine and aligns all reads by it, sorted or streamed.

use std::num::NonZeroUsize;

use seqloom_align::engine::Replicated;
use seqloom_align::ingest::{Aligner, IngestTotals};
use seqloom_io::{AtomicFile, Output};
use seqloom_runtime::placement;
use seqloom_terminal::Result;

use super::job::{Job, OpenedJob};
use super::{numa, sorted, streamed};
use crate::allocator;
use crate::output::summary::Summary;

/// A job whose output is complete, but has no name yet.
pub(super) struct AlignedJob<'a> {
    pub(super) job: Job<'a>,
    pub(super) outputs: Vec<Output>,
    pub(super) totals: IngestTotals,
    pub(super) summary: Summary,
    /// Files of the mode that get their names with the output.
    pub(super) files: Vec<AtomicFile>,
}

/// Loads replicas of an engine, then aligns by them: as they are if they work by cohorts, else as
/// [`Batches`]. `before` is what the mode does in between.
///
/// # Errors
/// Errors of the engine, of input and of output.
pub(super) fn load_and_align<'a, E: Send, A: Aligner>(
    load: impl Fn(NonZeroUsize) -> Result<E> + Sync,
    aligner: fn(Replicated<E>) -> A,
    opened: OpenedJob<'a>,
    before: impl FnOnce(&A, &Job<'_>) -> Result<()>,
) -> Result<AlignedJob<'a>> {
    let OpenedJob { mut job, first, mut outputs } = opened;
    let (engine, placed) =
        allocator::with_own_mappings(|| numa::load(&job.ingest.placement, job.run.threads, load))?;
    let aligner = aligner(engine);
    job.announce_placement(&placed);
    job.announce_certified();
    job.placement = Some(placed);
    job.run.end_phase("load");
    before(&aligner, &job)?;
    // The index keeps its huge pages. In workers' memory they would pass the cap.
    let (totals, summary) = placement::with_pages(true, || {
        if job.is_sorted() {
            sorted::align(aligner, &job, first, &mut outputs)
        } else {
            streamed::align(&aligner, &job, first, &mut outputs)
        }
    })?;
    Ok(AlignedJob { job, outputs, totals, summary, files: Vec::new() })
}
