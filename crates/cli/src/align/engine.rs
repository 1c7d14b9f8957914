//! The engine of a run, chosen by `--mode`.

use std::convert::identity;
use std::num::NonZeroUsize;

use seqloom_align::engine::bwa::BwaEngine;
use seqloom_align::engine::fake::{FakeEngine, FakeOptions};
use seqloom_align::index::{self, IndexInfo, IndexSource, Readers};
use seqloom_align::ingest::Batches;
use seqloom_modes::gapped::GappedEngine;
use seqloom_modes::ungapped::UngappedEngine;
use seqloom_terminal::{Result, signals};

use super::arguments::{AlignArguments, EngineChoice};
use super::certified::CertifiedRun;
use super::introns::{self, FirstPass};
use super::job::{Job, OpenedJob};
use super::load_and_align::{AlignedJob, load_and_align};
use super::mode::Mode;

/// Aligns by the engine of the job's mode.
///
/// # Errors
/// Errors of the engine, of input and of output.
pub(super) fn align<'a>(
    opened: OpenedJob<'a>,
    index: &IndexInfo,
    first_pass: Option<FirstPass>,
) -> Result<AlignedJob<'a>> {
    let arguments = opened.job.arguments;
    let source = |threads| source(arguments, index, threads);
    match (&arguments.algorithm.engine, arguments.mode.mode) {
        (EngineChoice::OfMode, Mode::Ungapped) => {
            let options = arguments.mode.ungapped();
            let load = |threads| Ok(UngappedEngine::load(source(threads), options.clone())?);
            load_and_align(load, Batches, opened, nothing)
        }
        (EngineChoice::OfMode, Mode::EndToEnd | Mode::Local) => {
            let options = arguments.mode.gapped();
            let load = |threads| Ok(GappedEngine::load(source(threads), options)?);
            load_and_align(load, Batches, opened, nothing)
        }
        (EngineChoice::OfMode, Mode::Spliced) => introns::align(opened, index, first_pass),
        (EngineChoice::OfMode, Mode::Bwa) => {
            let certified = opened.job.certified.clone();
            let load = |threads| load_bwa(arguments, index, &certified, threads);
            load_and_align(load, identity, opened, nothing)
        }
        (EngineChoice::Fake(options), _) => {
            let load = |_| Ok(fake(options.clone(), index));
            load_and_align(load, identity, opened, nothing)
        }
    }
}

/// The index of a run, which a signal stops from being read.
pub(super) fn source<'a>(
    arguments: &'a AlignArguments,
    index: &'a IndexInfo,
    threads: NonZeroUsize,
) -> IndexSource<'a> {
    let readers = Readers { threads, watch: signals::check };
    IndexSource { prefix: &arguments.reference, info: index, readers }
}

/// Between loading and aligning most modes do nothing.
fn nothing<A>(_: &A, _: &Job<'_>) -> Result<()> {
    Ok(())
}

/// Loads bwa's engine, with or without ALT contigs, and turns the certified path on where that is
/// planned.
///
/// # Errors
/// Errors of the index.
pub(crate) fn load_bwa(
    arguments: &AlignArguments,
    index: &IndexInfo,
    certified: &CertifiedRun,
    threads: NonZeroUsize,
) -> Result<BwaEngine> {
    let options = arguments.algorithm.bwa_options();
    let source = source(arguments, index, threads);
    let mut engine = if arguments.algorithm.ignore_alt {
        let plain = index::WithoutAlt::of(source.prefix)?;
        BwaEngine::load(IndexSource { prefix: &plain.prefix(), ..source }, &options)?
    } else {
        BwaEngine::load(source, &options)?
    };
    certified.turn_on(&mut engine);
    Ok(engine)
}

/// The engine that makes results up, for an index of these sequences.
pub(crate) fn fake(options: FakeOptions, index: &IndexInfo) -> FakeEngine {
    let lengths_bp = index.contigs.iter().map(|contig| contig.length.into()).collect();
    FakeEngine::new(options, lengths_bp)
}
