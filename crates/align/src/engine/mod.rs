//! The alignment algorithm behind one trait, in three phases.
//!
//! Paired reads need a statistic of their whole cohort (the insert-size distribution) between the
//! phases, so a cohort's batches go `seed_extend` (many threads) -> `infer_cohort` (one short step)
//! -> `emit` (many threads). An engine starts no threads, opens no files after loading, and keeps
//! nothing between calls but the caller's scratch.
//!
//! **Replicas.** A loaded index may exist several times in memory (one per NUMA node). Candidates
//! hold coordinates, never pointers into an index, so *any replica may serve any batch of any
//! cohort*: the worker's scratch decides which one it reads. The cohort sequence stays global.

use seqloom_runtime::error::{Class, Place, RunError};

pub mod bwa;
mod copied_reads;
#[cfg_attr(not(feature = "fake-engine"), path = "no_fake.rs")]
pub mod fake;
pub mod fence;
pub mod lockstep;
pub mod native;
pub mod replicated;

pub use copied_reads::CopiedReads;

/// One unaligned read, borrowed from the input.
#[derive(Debug, Clone, Copy)]
pub struct Read<'a> {
    /// Name without mate suffix.
    pub name: &'a [u8],
    /// ASCII bases.
    pub bases: &'a [u8],
    /// ASCII Phred+33 qualities, as many as bases; `None` when the input has none.
    pub qualities: Option<&'a [u8]>,
}

/// What one call of [`AlignmentEngine::seed_extend`] works on: pairs, then single reads.
#[derive(Debug, Default)]
pub struct EngineReads<'a> {
    /// Mates, first and second.
    pub pairs: Vec<[Read<'a>; 2]>,
    /// Reads without a mate.
    pub singles: Vec<Read<'a>>,
}

/// Which template of the batch a record belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Index into [`EngineReads::pairs`].
    Pair(usize),
    /// Index into [`EngineReads::singles`].
    Single(usize),
}

/// Position of a batch in the whole input: engines break ties by hashing these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ordinals {
    /// Ordinal of the batch's first pair.
    pub first_pair: u64,
    /// Ordinal of the batch's first single read.
    pub first_single: u64,
}

/// Takes packed BAM record bodies (no block size in front) in input order: pairs, first mate's
/// records before the second's, then singles.
pub trait RecordSink {
    /// One record; `body` is valid during the call only.
    fn record(&mut self, origin: Origin, body: &[u8]);
}

/// What an engine cannot do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The index could not be loaded.
    #[error("the engine could not load the index {prefix}: {message}")]
    Load {
        /// Index prefix.
        prefix: String,
        /// The engine's words.
        message: String,
    },
    /// The loaded index is not the one that was checked.
    #[error("the engine loaded another index than {prefix}: {message}")]
    WrongIndex {
        /// Index prefix.
        prefix: String,
        /// What differs.
        message: String,
    },
    /// An option value the engine cannot honour.
    #[error("{0}")]
    Option(String),
    /// The engine refused a batch.
    #[error("the alignment engine failed: {0}")]
    Failed(String),
    /// A read that cannot become a record.
    #[error("read '{name}': {problem}")]
    Read {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The engine's output could not be captured.
    #[error("the engine's messages could not be redirected: {0}")]
    Fence(std::io::Error),
}

impl RunError for EngineError {
    fn class(&self) -> Class {
        match self {
            Self::Option(_) => Class::Usage,
            Self::Load { .. } | Self::WrongIndex { .. } | Self::Read { .. } => Class::Input,
            Self::Failed(_) => Class::Bug,
            Self::Fence(_) => Class::System,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Load { prefix, .. } | Self::WrongIndex { prefix, .. } => {
                Place { file: Some(prefix.clone()), ..Place::default() }
            }
            Self::Read { name, .. } => Place::default().at_name(name),
            Self::Option(_) | Self::Failed(_) | Self::Fence(_) => Place::default(),
        }
    }
}

/// An alignment algorithm; see the module documentation for the phases.
pub trait AlignmentEngine: Sync {
    /// Working memory of one worker.
    type Scratch: Send;
    /// What `seed_extend` found for one batch; owns all it needs.
    type Candidates: Send;
    /// What `infer_cohort` learned.
    type Model: Send + Sync;

    /// Whether pairs need what `infer_cohort` learns; batches are emitted as soon as they are
    /// seeded where not.
    const NEEDS_COHORTS: bool = true;

    /// Whether a batch may have so many records that they are not to be held at once.
    const MANY_RECORDS: bool = false;

    /// Whether it takes reads above [`AlignmentEngine::longest_read_bases`], too, and makes
    /// unmapped records of them. Others get them without bases, which `emit` puts back.
    const TAKES_LONGER: bool = false;

    /// Working memory for a new worker.
    ///
    /// # Errors
    /// When the engine cannot allocate it.
    fn scratch(&self) -> Result<Self::Scratch, EngineError>;

    /// Finds candidate alignments of every read of a batch. Independent of all other batches.
    ///
    /// # Errors
    /// When the engine refuses the batch.
    fn seed_extend(
        &self,
        scratch: &mut Self::Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<Self::Candidates, EngineError>;

    /// Learns the insert-size model from all batches of one cohort, in input order.
    ///
    /// # Errors
    /// When the engine refuses the cohort.
    fn infer_cohort(&self, candidates: &[Self::Candidates]) -> Result<Self::Model, EngineError>;

    /// Pairs, rescues, chooses primaries and hands out the records of one batch.
    ///
    /// `model` may be `None` only for a batch without pairs, or where none is needed.
    ///
    /// # Errors
    /// When the engine refuses the batch.
    fn emit(
        &self,
        scratch: &mut Self::Scratch,
        candidates: Self::Candidates,
        model: Option<&Self::Model>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError>;

    /// Memory that `candidates` really hold, in bytes.
    fn held_bytes(&self, candidates: &Self::Candidates) -> u64;

    /// Longest read that it searches for, in bases; longer ones come out unmapped.
    fn longest_read_bases(&self) -> usize;
}
