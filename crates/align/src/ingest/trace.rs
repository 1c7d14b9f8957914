//! Where the time of an ingest goes.

use std::sync::atomic::AtomicU64;

use seqloom_runtime::trace::{Stage, ThreadTimes};

/// Time per stage, summed over workers, and counts that grow while ingest runs.
#[derive(Debug, Default)]
pub struct IngestTrace {
    /// Reading, inflating and parsing.
    pub fetch: Stage,
    /// Engine: seeding and extension.
    pub seed: Stage,
    /// Engine: insert-size model.
    pub infer: Stage,
    /// Engine: pairing and emission, with our tags.
    pub emit: Stage,
    /// The sink.
    pub sink: Stage,
    /// Workers with nothing to do.
    pub wait: Stage,
    /// How long each worker had something to do.
    pub threads: ThreadTimes,
    /// Records emitted.
    ///
    /// Relaxed: a count for who watches; the total is read when the workers have ended.
    pub records: AtomicU64,
    /// Templates emitted.
    pub(crate) templates: AtomicU64,
}
