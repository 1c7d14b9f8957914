//! The streamed flow: records leave in the order of the input, as soon as they are made.

use std::sync::atomic::Ordering;

use seqloom_align::ingest::{self, Aligner, IngestTotals};
use seqloom_io::Output;
use seqloom_io::reads::InputBlock;
use seqloom_prep::pipeline::Phase;

use super::job::Job;
use super::outcomes::Judged;
use super::sinks::StreamSink;
use super::summary::ingest_stages;
use crate::output::progress::weighted;
use crate::output::summary::Summary;

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn align<A: Aligner>(
    aligner: &A,
    job: &Job<'_>,
    first: Vec<Vec<InputBlock>>,
    outputs: &mut [Output],
) -> seqloom_terminal::Result<(IngestTotals, Summary)> {
    job.output.write_header(&job.header, outputs)?;
    let sink = StreamSink::new(job.output.encoding(), job.header.references(), outputs);
    job.run.plan_phases(const { &weighted([1.0, 0.0, 0.0, 0.0, 0.0]) });
    // Relaxed: a count to be shown.
    let watch = || job.watch(Phase::Ingest.name(), job.trace.records.load(Ordering::Relaxed));
    let judged = Judged { sink: &sink, outcomes: job.outcomes.as_ref() };
    // A sheet is not streamed: there is one lane.
    let lanes = job.lane_inputs(first, std::slice::from_ref(&judged));
    let totals = ingest::run(lanes, aligner, &job.ingest, &job.trace, &watch)?.totals;
    let tally = sink.into_tally();
    job.output.close(None, outputs)?;
    job.run.end_phase(Phase::Ingest.name());
    Ok((totals, Summary::streamed(ingest_stages(&job.trace), tally)))
}
