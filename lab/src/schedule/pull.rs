//! Workers claim: there is no thread that feeds, and none that writes. This is `align` itself.
//!
//! A worker takes the task furthest down the line that is ready: it emits a batch, aligns one, or
//! claims a chunk of the input and parses it.

use seqloom_align::engine::CohortEngine;
use seqloom_align::ingest::{self, HeldLimits, IngestOptions, IngestTrace, LaneInput};
use seqloom_runtime::machine;

use super::aligning::{COHORT_BASES, Job, ScheduleError, Told};

/// Candidates that may wait for their cohort's end, beyond the oldest cohort.
const AHEAD_BYTES: u64 = 256 << 20;

/// Runs the whole input through the engine.
pub(super) fn run<E: CohortEngine>(job: &Job<'_, E>) -> Result<Told, ScheduleError> {
    let options = IngestOptions {
        threads: job.threads,
        cores: machine::available_cores(),
        cohort_bases: COHORT_BASES,
        held_limits: HeldLimits::of_one_lane(AHEAD_BYTES, u64::MAX),
        placement: job.placement.clone(),
    };
    let trace = IngestTrace::default();
    let go_on = || Ok(());
    let lanes = vec![LaneInput::whole(job.source, job.pairing, job.sink)];
    ingest::run(lanes, job.engine, &options, &trace, &go_on)?;
    Ok(Told { sleeps: trace.wait.visits(), ..Told::default() })
}
