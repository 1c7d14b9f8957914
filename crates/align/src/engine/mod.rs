//! The alignment algorithms, behind two traits.
//!
//! A [`BatchEngine`] places each batch by itself, in one call. A [`CohortEngine`] needs a statistic
//! of the whole cohort (the insert-size distribution) before it pairs reads, so a cohort's batches
//! go `seed_extend` (many threads) -> `infer_cohort` (one short step) -> `emit` (many threads).
//! Ingest drives both as an [`Aligner`](crate::ingest::Aligner):
//!
//! ```text
//!  seqloom-modes                     this crate                        ingest
//!
//!  ungapped ┐
//!  gapped   ├─ Placer ── batch_engine! ──► BatchEngine ──► Batches ──┐
//!  spliced  ┘  place a group,              align a batch             │
//!              report a template                                     ├──► Aligner ──► workers
//!                                                                    │    align, or by_cohorts
//!              BwaEngine ────────────────► CohortEngine ─────────────┘    and its three phases
//!              (FakeEngine in tests)       seed_extend ─► infer_cohort ─► emit
//!
//!  Replicated<E>, one copy of E per NUMA node, is either trait that E is.
//! ```
//!
//! An engine starts no threads, opens no files after loading, and keeps nothing between calls but
//! the caller's scratch.
//!
//! **Replicas.** A loaded index may exist several times in memory (one per NUMA node). Candidates
//! hold coordinates, never pointers into an index, so *any replica may serve any batch of any
//! cohort*: the worker's scratch decides which one it reads. The cohort sequence stays global.

use seqloom_runtime::error::{Class, Place, RunError};

pub mod bwa;
#[cfg_attr(not(feature = "fake-engine"), path = "no_fake.rs")]
pub mod fake;
mod replicated;

pub use replicated::Replicated;

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

/// What an engine works on in one call: pairs, then single reads.
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

/// Takes packed BAM record bodies (without the block size) in input order: pairs, first mate's
/// records before the second's, then singles.
pub trait RecordSink {
    /// One record; `body` is valid during the call only.
    fn record(&mut self, origin: Origin, body: &[u8]);
}

/// What an engine cannot do.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An option value that the engine cannot honour.
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
        /// The problem.
        problem: String,
    },
}

impl RunError for EngineError {
    fn class(&self) -> Class {
        match self {
            Self::Option(_) => Class::Usage,
            Self::Read { .. } => Class::Input,
            Self::Failed(_) => Class::Bug,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Read { name, .. } => Place::default().at_name(name),
            Self::Option(_) | Self::Failed(_) => Place::default(),
        }
    }
}

/// An algorithm that places each batch by itself.
pub trait BatchEngine: Sync {
    /// Working memory of one worker.
    type Scratch: Send;

    /// Working memory for a new worker.
    ///
    /// # Errors
    /// When the engine cannot allocate it.
    fn scratch(&self) -> Result<Self::Scratch, EngineError>;

    /// Aligns a batch and hands out its records. `first_read` is the ordinal of its first read in
    /// the whole input; engines break ties by hashing ordinals.
    ///
    /// # Errors
    /// When the engine refuses the batch.
    fn align(
        &self,
        scratch: &mut Self::Scratch,
        reads: &EngineReads<'_>,
        first_read: u64,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError>;

    /// Longest read that it searches for, in bases. It makes unmapped records with the tag
    /// YF:Z:LN of longer ones.
    fn longest_read_bases(&self) -> usize;
}

/// An algorithm that learns the insert sizes of a cohort before it pairs; see the module
/// documentation for its phases.
pub trait CohortEngine: Sync {
    /// Working memory of one worker.
    type Scratch: Send;
    /// What `seed_extend` found for one batch. It holds neither names nor bases nor qualities.
    type Candidates: Send;
    /// What `infer_cohort` learned.
    type Model: Send + Sync;

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
    /// # Errors
    /// When the engine refuses the batch.
    fn emit(
        &self,
        scratch: &mut Self::Scratch,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError>;

    /// Memory that `candidates` really hold, in bytes.
    fn held_bytes(&self, candidates: &Self::Candidates) -> u64;

    /// Longest read that it searches for, in bases. Longer ones come without bases; whoever calls
    /// puts these back into their unmapped records.
    fn longest_read_bases(&self) -> usize;
}

/// A batch on its way through [`CohortEngine::emit`].
pub struct SeededBatch<'a, E: CohortEngine + ?Sized> {
    /// The reads, as [`CohortEngine::seed_extend`] had them.
    pub reads: &'a EngineReads<'a>,
    /// What it found.
    pub candidates: E::Candidates,
    /// The model of the cohort; `None` only for a batch without pairs.
    pub model: Option<&'a E::Model>,
    /// Where the batch is in the whole input.
    pub ordinals: Ordinals,
}
