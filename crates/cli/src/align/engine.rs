//! The engine of a run: chosen by `--mode`, loaded, and driven through ingest, with what follows it
//! in a sorted run.

use std::convert::identity;
use std::num::NonZeroUsize;

use seqloom_align::engine::Replicated;
use seqloom_align::engine::bwa::BwaEngine;
use seqloom_align::engine::fake::FakeEngine;
use seqloom_align::index::{self, IndexInfo, IndexSource};
use seqloom_align::ingest::{Aligner, Batches, IngestTotals};
use seqloom_io::{AtomicFile, Output};
use seqloom_modes::gapped::GappedEngine;
use seqloom_modes::ungapped::UngappedEngine;
use seqloom_runtime::placement;
use seqloom_terminal::Result;

use super::arguments::{AlignArguments, EngineChoice};
use super::introns::{self, FirstPass};
use super::job::{Job, PreparedJob};
use super::mode::Mode;
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

/// Aligns by the engine of the job's mode.
///
/// # Errors
/// Those of the engine, of input and of output.
pub(super) fn align<'a>(
    prepared: PreparedJob<'a>,
    index: &IndexInfo,
    first_pass: Option<FirstPass>,
) -> Result<AlignedJob<'a>> {
    let arguments = prepared.job.arguments;
    let source = |threads| IndexSource { prefix: &arguments.reference, info: index, threads };
    match (&arguments.algorithm.engine, arguments.mode.mode) {
        (EngineChoice::OfMode, Mode::Ungapped) => {
            let options = arguments.mode.ungapped();
            let load = |threads| Ok(UngappedEngine::load(source(threads), options.clone())?);
            align_by(load, Batches, prepared, nothing)
        }
        (EngineChoice::OfMode, Mode::EndToEnd | Mode::Local) => {
            let options = arguments.mode.gapped();
            let load = |threads| Ok(GappedEngine::load(source(threads), options)?);
            align_by(load, Batches, prepared, nothing)
        }
        (EngineChoice::OfMode, Mode::Spliced) => introns::align(prepared, index, first_pass),
        (EngineChoice::OfMode, Mode::Bwa) => {
            let certified = prepared.job.certified.clone();
            let load = |threads| {
                let mut engine = load_bwa(arguments, index, threads)?;
                certified.turn_on(&mut engine);
                Ok(engine)
            };
            align_by(load, identity, prepared, nothing)
        }
        (EngineChoice::Fake(options), _) => {
            let lengths = || index.contigs.iter().map(|contig| contig.length.into()).collect();
            let load = |_| Ok(FakeEngine::new(options.clone(), lengths()));
            align_by(load, identity, prepared, nothing)
        }
    }
}

/// What most modes do between loading and aligning.
fn nothing<A>(_: &A, _: &Job<'_>) -> Result<()> {
    Ok(())
}

/// Loads replicas of an engine, then aligns by them: as they are if they work by cohorts, else as
/// [`Batches`]. `before` is what the mode does in between.
///
/// # Errors
/// Those of the engine, of input and of output.
pub(super) fn align_by<'a, E: Send, A: Aligner>(
    load: impl Fn(NonZeroUsize) -> Result<E> + Sync,
    aligner: fn(Replicated<E>) -> A,
    prepared: PreparedJob<'a>,
    before: impl FnOnce(&A, &Job<'_>) -> Result<()>,
) -> Result<AlignedJob<'a>> {
    let PreparedJob { mut job, first, mut outputs } = prepared;
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

/// Loads bwa's engine, with or without ALT contigs.
///
/// # Errors
/// Those of the index.
pub(crate) fn load_bwa(
    arguments: &AlignArguments,
    index: &IndexInfo,
    threads: NonZeroUsize,
) -> Result<BwaEngine> {
    let options = arguments.algorithm.bwa_options();
    let source = IndexSource { prefix: &arguments.reference, info: index, threads };
    Ok(if arguments.algorithm.ignore_alt {
        let plain = index::WithoutAlt::of(source.prefix)?;
        BwaEngine::load(IndexSource { prefix: &plain.prefix(), ..source }, &options)?
    } else {
        BwaEngine::load(source, &options)?
    })
}
