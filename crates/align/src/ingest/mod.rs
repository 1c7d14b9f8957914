//! The ingest phase: from input files to packed templates, every worker doing whichever is next, of
//! whichever lane.

mod aligner;
mod lanes;
mod scheduler;
mod trace;
mod work;

use std::num::NonZeroUsize;

use seqloom_format::PackedTemplates;
use seqloom_io::reads::{InputBlock, ReadSource, ReadsError};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::flow;
use seqloom_runtime::memory::ByteSize;
use seqloom_runtime::placement::Plan;
use seqloom_runtime::pool::{Stopped, Watch};

use crate::cohort::{Batch, CohortRange, CutTotals, Pairing};
use crate::engine::EngineError;
use crate::input::error::CohortError;
use crate::input::mates::BamTotals;
use crate::input::tags::RecordTags;
use crate::records::tagged::EmitError;
use crate::records::unsearched::UnsearchedReads;
pub use aligner::{Aligner, Batches};
pub use scheduler::HeldLimits;
pub use trace::IngestTrace;
use work::Ingest;

/// Takes the packed templates of each batch. Called by many workers at once, in any order.
pub trait BatchSink: Sync {
    /// What can go wrong.
    type Error: std::error::Error + Send + Sync + 'static;
    /// Working memory of one worker.
    type Scratch: Send;

    /// Working memory for a new worker.
    ///
    /// # Errors
    /// When it cannot be made.
    fn scratch(&self) -> Result<Self::Scratch, Self::Error>;

    /// Takes templates of a batch, whose `sequence` (0, 1, 2, ...) is its place in the output
    /// order: the last of them, or some, the rest of which follows from the same worker.
    ///
    /// # Errors
    /// When they cannot be stored or written, or a record is malformed.
    fn accept(
        &self,
        scratch: &mut Self::Scratch,
        batch: &Batch,
        templates: &PackedTemplates,
        part: BatchPart,
    ) -> Result<(), Self::Error>;

    /// No further batch of the lane comes.
    fn end(&self, end: LaneEnd);
}

/// Which templates of a batch a sink gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchPart {
    /// Some of so many that they should not be held at once.
    Some,
    /// All, or those after the parts before.
    Last,
}

/// How a lane ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneEnd {
    /// All batches have been taken.
    Complete,
    /// It has failed, or the run: whoever waits in the sink is to return.
    Failed,
}

/// An input that is aligned by itself, and where its records go.
pub struct LaneInput<'a, S> {
    /// One or two files.
    pub source: &'a ReadSource,
    /// Blocks that the caller has fetched already.
    pub first: Vec<InputBlock>,
    /// How reads form templates.
    pub pairing: Pairing,
    /// Which cohorts of the input; the source starts where they do.
    pub range: CohortRange,
    /// Tags that every record gets.
    pub tags: RecordTags,
    /// Takes its batches.
    pub sink: &'a S,
}

impl<'a, S> LaneInput<'a, S> {
    /// A whole input, of which nothing has been fetched, without tags.
    #[must_use]
    pub fn whole(source: &'a ReadSource, pairing: Pairing, sink: &'a S) -> Self {
        let (range, tags) = (CohortRange::default(), RecordTags::default());
        Self { source, first: Vec::new(), pairing, range, tags, sink }
    }
}

/// How inputs are cut and run.
#[derive(Debug, Clone)]
pub struct IngestOptions {
    /// How many workers.
    pub threads: NonZeroUsize,
    /// Cores that the process may use.
    pub cores: NonZeroUsize,
    /// `-K`: bases per cohort.
    pub cohort_bases: u64,
    /// Memory that candidates may hold between seeding and emission.
    pub held_limits: HeldLimits,
    /// Where workers run and have their memory.
    pub placement: Plan,
}

/// Why ingest failed.
#[derive(Debug, thiserror::Error)]
pub enum IngestError<S: std::error::Error> {
    /// Malformed or unpaired input.
    #[error(transparent)]
    Input(#[from] CohortError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The engine's records could not be completed.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// The sink failed.
    #[error(transparent)]
    Sink(S),
    /// The workers were stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// A worker could not be put where it belongs.
    #[error("cannot set the CPU affinity or memory policy of a worker thread: {0}")]
    Placement(#[source] std::io::Error),
    /// One cohort does not fit the memory.
    #[error(
        "one cohort (-K {cohort_bases}) needs more than {} of memory, over the {} that -m leaves \
         for it; raise -m (or lower -K, which changes results)",
        ByteSize(*.held_bytes), ByteSize(*.limit_bytes)
    )]
    CohortTooLarge {
        /// `-K`.
        cohort_bases: u64,
        /// What was held when it was noticed.
        held_bytes: u64,
        /// What may be held.
        limit_bytes: u64,
    },
}

impl<S: RunError> RunError for IngestError<S> {
    fn class(&self) -> Class {
        match self {
            Self::Input(input) => input.class(),
            Self::Engine(engine) => engine.class(),
            Self::Emit(emit) => emit.class(),
            Self::Sink(sink) => sink.class(),
            Self::Stopped(stop) => stop.class(),
            Self::Placement(_) => Class::System,
            Self::CohortTooLarge { .. } => Class::Usage,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Input(input) => input.place(),
            Self::Engine(engine) => engine.place(),
            Self::Emit(emit) => emit.place(),
            Self::Sink(sink) => sink.place(),
            Self::Stopped(_) | Self::Placement(_) | Self::CohortTooLarge { .. } => Place::default(),
        }
    }
}

impl<S: std::error::Error> From<ReadsError> for IngestError<S> {
    fn from(error: ReadsError) -> Self {
        Self::Input(error.into())
    }
}

impl<S: std::error::Error> IngestError<S> {
    /// Whether it concerns one lane, which others have nothing to do with.
    fn is_of_lane(&self) -> bool {
        use IngestError::{CohortTooLarge, Emit, Engine, Input};
        matches!(self, Input(_) | Engine(_) | Emit(_) | CohortTooLarge { .. })
    }
}

/// What ingest did.
#[derive(Debug, Clone, Default)]
pub struct IngestTotals {
    /// Reads in the input.
    pub reads: u64,
    /// Templates in the input.
    pub templates: u64,
    /// Records emitted.
    pub records: u64,
    /// The most memory that candidates held.
    pub peak_held_bytes: u64,
    /// What was found in BAM input.
    pub bam: BamTotals,
    /// Reads that were not searched for because of their length.
    pub outside: UnsearchedReads,
}

impl IngestTotals {
    /// Adds what was found in another input.
    fn add(&mut self, cut: CutTotals, bam: BamTotals) {
        self.reads += cut.reads;
        self.templates += cut.templates;
        self.bam.aligned_reads += bam.aligned_reads;
        self.bam.left_out_records += bam.left_out_records;
        self.bam.reads_without_mate += bam.reads_without_mate;
    }
}

/// What ingest did with all lanes, and how many templates each has.
#[derive(Debug, Clone, Default)]
pub struct Ingested {
    /// All lanes together.
    pub totals: IngestTotals,
    /// Templates of each lane.
    pub lane_templates: Vec<u64>,
}

/// Runs all lanes through `aligner` into their sinks, as many side by side as
/// [`HeldLimits::lanes`] says.
///
/// # Errors
/// The first failure of any worker that is of no lane. Where lanes fail, the failure of the first
/// of them, for which those before it are gone through to their ends.
pub fn run<A: Aligner, S: BatchSink>(
    lanes: Vec<LaneInput<'_, S>>,
    aligner: &A,
    options: &IngestOptions,
    trace: &IngestTrace,
    watch: Watch<'_>,
) -> Result<Ingested, IngestError<S::Error>> {
    if lanes.is_empty() {
        return Ok(Ingested::default());
    }
    let ingest = Ingest::new(lanes, aligner, options, trace);
    flow::run(&ingest, options.threads, watch)?;
    ingest.finish()
}
