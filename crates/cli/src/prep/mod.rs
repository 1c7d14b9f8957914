//! `seqloom prep`: aligned reads to sorted, duplicate-marked, indexed BAM in one pass.
//!
//! [`run`] opens the input and shares out the memory, [`flow::run`] ingests through the steps
//! into partitions and runs the pipeline, [`make`] gives the output its name.

pub(crate) mod arguments;
mod flow;
mod job;
mod memory;
mod summary;

pub(crate) use arguments::PrepArguments;
use job::{Job, OpenedJob};
use seqloom_io::Output;
use seqloom_runtime::placement;
use seqloom_terminal::Console;

use crate::output::resume::RunCheckpoints;

/// Opens input and output and makes the output. What `--resume` keeps is removed then, or, after a
/// failure, named.
pub(crate) fn run(arguments: &PrepArguments, console: &Console) -> seqloom_terminal::Result<()> {
    if arguments.run.quiet {
        console.be_quiet();
    }
    let OpenedJob { job, output, mut checkpoints } = Job::open(arguments, console)?;
    job.run.announce("prep", &job.inputs(), job.output.path());
    let outcome = make(&job, output, checkpoints.as_mut());
    match checkpoints {
        Some(checkpoints) if outcome.is_ok() => checkpoints.close(&job.run),
        Some(checkpoints) => checkpoints.advice().iter().for_each(|it| job.run.console.info(it)),
        None => {}
    }
    outcome
}

/// Makes the output and all that goes with it.
fn make(
    job: &Job<'_>,
    mut output: Output,
    mut checkpoints: Option<&mut RunCheckpoints>,
) -> seqloom_terminal::Result<()> {
    let continued = checkpoints.as_ref().and_then(|it| it.continued());
    // Huge pages in workers' memory would pass the cap.
    let (totals, mut summary) =
        placement::with_pages(true, || flow::run(job, &mut output, &mut checkpoints))?;
    summary::check_none_lost(&totals, &summary)?;
    let ingested = || summary::ingested(job, &totals, continued);
    let references = job.header.references();
    job.output.publish(vec![output], references, (&mut summary, &job.run), ingested)?;
    summary::close(job, &totals, &summary);
    Ok(())
}
