//! The streamed flow: records leave in the order of the input, as soon as they are made.

use std::sync::atomic::Ordering;

use seqloom_align::engine::AlignmentEngine;
use seqloom_align::ingest;
use seqloom_format::bgzf::EOF_BLOCK;
use seqloom_io::sink::output::Output;
use seqloom_io::source::InputBlock;
use seqloom_prep::encode::Encoding;

use super::job::Job;
use super::publish;
use super::sinks::StreamSink;
use super::summary::Summary;

/// Runs the flow; the output is complete but has no name yet.
pub(super) fn align<E: AlignmentEngine>(
    engine: &E,
    job: &Job<'_>,
    first: Vec<InputBlock>,
    output: &mut Output,
) -> anyhow::Result<Summary> {
    publish::write_header(job, output)?;
    let sink = StreamSink::new(job.encoding(), job.header.references(), output);
    let watch = || job.watch("align", job.trace.records.load(Ordering::Relaxed));
    let totals = ingest::run(&job.source, first, engine, &sink, &job.ingest, &job.trace, &watch)?;
    let tally = sink.into_tally();
    if matches!(job.encoding(), Encoding::Bam { .. }) {
        output.write(&EOF_BLOCK)?;
    }
    job.end_phase("ingest");
    Ok(Summary::streamed(totals, tally))
}
