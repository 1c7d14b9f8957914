//! `seqloom align`: reads to sorted, duplicate-marked, indexed BAM in one process.
//!
//! [`run`] is the whole flow. Its third step, [`engine::align`], chooses the engine of the mode;
//! [`load_and_align`](load_and_align::load_and_align()) loads it and aligns all reads, [`sorted`]
//! or [`streamed`].

mod arguments;
pub(crate) mod certified;
pub(crate) mod checks;
mod engine;
pub(crate) mod header;
mod introns;
pub(crate) mod job;
pub(crate) mod lanes;
mod load_and_align;
pub(crate) mod memory;
mod mode;
pub(crate) mod numa;
pub(crate) mod opened;
mod outcome_counts;
mod outcomes;
pub(crate) mod sinks;
pub(crate) mod sorted;
mod streamed;
pub(crate) mod summary;

use seqloom_align::index;
use seqloom_report::run::ThreadSeconds;
use seqloom_terminal::Console;

pub(crate) use arguments::AlignArguments;
pub(crate) use arguments::EngineChoice;
pub(crate) use engine::{fake, load_bwa};
use introns::FirstPass;
use job::Job;
use lanes::LaneSpecs;
use load_and_align::AlignedJob;
pub(crate) use memory::least_memory_of_pairs;

/// The whole flow: options are checked, input and output opened and `-m` shared out; whatever
/// can be refused is refused here. Then the engine is loaded, reads become sorted, marked records
/// in the output, and that gets its name, with all that goes next to it.
pub(crate) fn run(arguments: &AlignArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if arguments.run.quiet {
        console.be_quiet();
    }
    let mut inputs = LaneSpecs::of(arguments)?;
    arguments.output.check_metrics()?;
    checks::check_mode(arguments)?;
    checks::check_options(arguments, &inputs)?;
    let index = index::check(&arguments.reference)?;
    let first_pass = FirstPass::of(arguments, &mut inputs)?;
    let opened = Job::open(arguments, inputs, &index, None, console)?;
    opened.job.announce();
    let aligned = engine::align(opened, &index, first_pass)?;
    publish(aligned)
}

/// Names the output and the files next to it, once no record is found to be lost, and closes the
/// run.
fn publish(aligned: AlignedJob<'_>) -> seqloom_terminal::Result<()> {
    let AlignedJob { mut job, outputs, totals, mut summary, files } = aligned;
    summary::check_none_lost(&totals, &summary)?;
    summary.thread_seconds = ThreadSeconds::of("ingest", &job.trace.threads);
    if let Some(outcomes) = job.outcomes.take() {
        let (totals, files) = outcomes.finish();
        summary.sidecars.extend(files);
        summary.outcomes = Some(totals.text());
    }
    summary.sidecars.extend(files);
    let (references, ingested) = (job.header.references(), || summary::ingested(&job, &totals));
    job.output.publish(outputs, references, (&mut summary, &job.run), ingested)?;
    summary::close(&job, &totals, &summary);
    Ok(())
}
