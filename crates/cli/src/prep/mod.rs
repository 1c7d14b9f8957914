//! `seqloom prep`: aligned reads to sorted, duplicate-marked, indexed BAM in one pass.
//!
//! [`run`] is the whole flow: open the input, share out the memory, ingest through the steps into
//! partitions, resolve duplicates, finish partitions in order.

mod arguments;
mod checkpoints;
mod flow;
mod job;
mod plan;
mod summary;

pub(crate) use arguments::PrepArguments;
use job::{Job, Prepared};
use seqloom_io::sink::output::Output;
use summary::Counted;

use crate::console::Console;
use crate::output::resume::Kept;

/// Runs the command.
pub(crate) fn run(arguments: &PrepArguments, console: &Console) -> anyhow::Result<()> {
    if arguments.run.quiet {
        console.be_quiet();
    }
    let Prepared { job, output, mut kept } = Job::prepare(arguments, console)?;
    job.announce();
    let outcome = make(&job, output, kept.as_mut());
    match kept {
        Some(kept) if outcome.is_ok() => kept.close(&job.run),
        Some(kept) => kept.advice().iter().for_each(|advice| job.run.console.info(advice)),
        None => {}
    }
    outcome
}

/// Makes the output and all that goes with it.
fn make(job: &Job<'_>, mut output: Output, mut kept: Option<&mut Kept>) -> anyhow::Result<()> {
    let continued = kept.as_ref().and_then(|kept| kept.continued());
    let summary = flow::prepare(job, &mut output, &mut kept)?;
    summary.check_none_lost()?;
    let written_bytes = output.written_bytes();
    job.output.publish(output, summary.index.as_deref())?;
    let references = job.header.references();
    let Counted { duplicates, metrics } = &summary.counted;
    job.output.write_metrics(references, &summary.tally, duplicates.as_ref())?;
    job.output.write_quality_metrics(metrics)?;
    job.output.write_report(|| Ok(summary.report(job, written_bytes, continued).to_json()?))?;
    summary.close(job);
    Ok(())
}
