//! `seqloom align`: reads to sorted, duplicate-marked, indexed BAM in one process.
//!
//! [`run`] is the whole flow: check the index, open the reads, share out the memory, load the
//! engine, and either sort ([`sorted`]) or stream ([`streamed`]).

mod arguments;
pub(crate) mod certified;
pub(crate) mod checks;
mod common;
mod gapped;
mod header;
mod introns;
pub(crate) mod job;
pub(crate) mod lanes;
mod mates;
mod mode;
pub(crate) mod opened;
mod outcomes;
pub(crate) mod placing;
pub(crate) mod plan;
pub(crate) mod sinks;
pub(crate) mod sorted;
mod spliced;
mod streamed;
pub(crate) mod summary;
mod tally;
mod ungapped;

use std::convert::identity;
use std::num::NonZeroUsize;

use seqloom_align::engine::bwa::BwaEngine;
use seqloom_align::engine::fake::FakeEngine;
use seqloom_align::engine::replicated::Replicated;
use seqloom_align::index::{self, IndexSource};
use seqloom_align::ingest::{Aligner, Batches};
use seqloom_io::AtomicFile;
use seqloom_modes::gapped::GappedEngine;
use seqloom_modes::ungapped::UngappedEngine;
use seqloom_report::run::ThreadSeconds;
use seqloom_runtime::placement;

pub(crate) use arguments::AlignArguments;
pub(crate) use arguments::EngineChoice;
use introns::FirstPass;
use job::{Job, Prepared};
use lanes::InputLanes;
pub(crate) use mode::Mode;
use opened::Lane;
pub(crate) use plan::least_memory_of_pairs;

use crate::allocator;
use crate::recalibration::Recalibration;
use seqloom_terminal::Console;

/// Runs the command.
pub(crate) fn run(arguments: &AlignArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if arguments.run.quiet {
        console.be_quiet();
    }
    let mut inputs = InputLanes::of(arguments)?;
    arguments.output.check_metrics()?;
    checks::check_mode(arguments)?;
    checks::check_options(arguments, &inputs)?;
    let index = index::check(&arguments.reference)?;
    let first_pass = FirstPass::of(arguments, &mut inputs)?;
    let prepared = Job::prepare(arguments, inputs, &index, None, console)?;
    let job = &prepared.job;
    let of_lane = |lane: &Lane| lane.inputs().join(" + ");
    let inputs: Vec<String> = job.lanes.iter().map(of_lane).collect();
    job.run.announce("align", &inputs.join(", "), job.output.path());
    for (lane, files) in job.lanes.iter().zip(&inputs) {
        if let Some(line) = &lane.read_group {
            job.run.console.info(&format!("align: {files}: {}", line.replace('\t', " ")));
        }
    }
    job.announce_lanes();
    job.announce_index();
    let source = |threads| IndexSource { prefix: &arguments.reference, info: &index, threads };
    match (&arguments.algorithm.engine, arguments.mode.mode) {
        (EngineChoice::Bwa, Mode::Ungapped) => {
            let options = arguments.mode.ungapped();
            let load = |threads| Ok(UngappedEngine::load(source(threads), options.clone())?);
            align(load, Batches, prepared)
        }
        (EngineChoice::Bwa, Mode::EndToEnd | Mode::Local) => {
            let options = arguments.mode.gapped();
            align(|threads| Ok(GappedEngine::load(source(threads), options)?), Batches, prepared)
        }
        (EngineChoice::Bwa, Mode::Spliced) => {
            introns::align(arguments, &index, prepared, first_pass, console)
        }
        (EngineChoice::Bwa, Mode::Bwa) => {
            let certified = prepared.job.certified.clone();
            let load = |threads| {
                let mut engine = load_bwa(arguments, &index, threads)?;
                certified.turn_on(&mut engine);
                Ok(engine)
            };
            align(load, identity, prepared)
        }
        (EngineChoice::Fake(options), _) => {
            let lengths = || index.contigs.iter().map(|contig| contig.length.into()).collect();
            align(|_| Ok(FakeEngine::new(options.clone(), lengths())), identity, prepared)
        }
    }
}

/// Loads engines and runs them: as they are if they work by cohorts, else as [`Batches`].
fn align<E: Send, A: Aligner>(
    load: impl Fn(NonZeroUsize) -> seqloom_terminal::Result<E> + Sync,
    aligner: fn(Replicated<E>) -> A,
    prepared: Prepared<'_>,
) -> seqloom_terminal::Result<()> {
    align_between(load, aligner, prepared, |_, _| Ok(()), || Ok(Vec::new()))
}

/// With what is done before reads are placed, and files that are to get their names with the
/// output, which are written once they are.
fn align_between<E: Send, A: Aligner>(
    load: impl Fn(NonZeroUsize) -> seqloom_terminal::Result<E> + Sync,
    aligner: fn(Replicated<E>) -> A,
    prepared: Prepared<'_>,
    before: impl FnOnce(&A, &Job<'_>) -> seqloom_terminal::Result<()>,
    after: impl FnOnce() -> seqloom_terminal::Result<Vec<AtomicFile>>,
) -> seqloom_terminal::Result<()> {
    let Prepared { mut job, first, mut outputs } = prepared;
    let (engine, placed) = allocator::with_own_mappings(|| {
        placing::load(&job.ingest.placement, job.run.threads, load)
    })?;
    let aligner = aligner(engine);
    job.announce_placement(&placed);
    job.announce_certified();
    job.placement = Some(placed);
    job.run.end_phase("load");
    before(&aligner, &job)?;
    // The index keeps its huge pages. In workers' memory they would pass the cap.
    let (totals, mut summary) = placement::with_pages(true, || {
        if job.is_sorted() {
            sorted::align(aligner, &job, first, &mut outputs)
        } else {
            streamed::align(&aligner, &job, first, &mut outputs)
        }
    })?;
    summary::check_none_lost(&totals, &summary)?;
    summary.thread_seconds = ThreadSeconds::of("ingest", &job.trace.threads);
    summary.sidecars.extend(job.late.recalibration.as_ref().and_then(Recalibration::take_report));
    summary.recalibration = job.late.recalibration.as_ref().and_then(Recalibration::take_rows);
    if let Some(outcomes) = job.outcomes.take() {
        let (totals, files) = outcomes.finish();
        summary.sidecars.extend(files);
        summary.outcomes = Some(totals.text());
    }
    summary.sidecars.extend(after()?);
    let (references, ingested) = (job.header.references(), || summary::ingested(&job, &totals));
    job.output.publish(outputs, references, (&mut summary, &job.run), ingested)?;
    summary::close(&job, &totals, &summary);
    Ok(())
}

pub(crate) fn load_bwa(
    arguments: &AlignArguments,
    index: &index::IndexInfo,
    threads: NonZeroUsize,
) -> seqloom_terminal::Result<BwaEngine> {
    let options = arguments.algorithm.bwa_options();
    let source = IndexSource { prefix: &arguments.reference, info: index, threads };
    Ok(if arguments.algorithm.ignore_alt {
        let plain = index::WithoutAlt::of(source.prefix)?;
        BwaEngine::load(IndexSource { prefix: &plain.prefix(), ..source }, &options)?
    } else {
        BwaEngine::load(source, &options)?
    })
}
