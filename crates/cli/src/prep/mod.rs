//! `seqloom prep`: aligned reads to sorted, duplicate-marked, indexed BAM in one pass.
//!
//! [`run`] is the whole flow: open the input, share out the memory, ingest through the steps into
//! partitions, resolve duplicates, finish partitions in order.

mod arguments;
mod flow;
mod job;
mod plan;
mod summary;

pub(crate) use arguments::PrepArguments;
use job::{Job, Prepared};
use summary::Counted;

use crate::console::Console;

/// Runs the command.
pub(crate) fn run(arguments: &PrepArguments, console: &Console) -> anyhow::Result<()> {
    if arguments.run.quiet {
        console.be_quiet();
    }
    let Prepared { job, mut output } = Job::prepare(arguments, console)?;
    job.announce();
    let summary = flow::prepare(&job, &mut output)?;
    summary.check_none_lost()?;
    let written_bytes = output.written_bytes();
    job.output.publish(output, summary.index.as_deref())?;
    let references = job.header.references();
    let Counted { duplicates, metrics } = &summary.counted;
    job.output.write_metrics(references, &summary.tally, duplicates.as_ref())?;
    job.output.write_quality_metrics(metrics)?;
    job.output.write_report(|| Ok(summary.report(&job, written_bytes).to_json()?))?;
    summary.close(&job);
    Ok(())
}
