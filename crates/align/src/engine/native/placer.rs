//! What our own engines have in common: they learn nothing of a cohort, and do all their work when
//! a batch's records are handed out.

use super::checked;
use super::query::LONGEST_READ;
use crate::engine::copied_reads::CopiedReads;
use crate::engine::{AlignmentEngine, EngineError, EngineReads, Ordinals, Read, RecordSink};

/// The reads of a batch as an engine places them.
pub struct Batch<'r> {
    /// Trimmed; mates of pairs next to each other, then single reads.
    pub(super) reads: Vec<Read<'r>>,
    /// Pairs of them.
    pub(super) pairs: usize,
    /// Number of the first read in the input.
    pub(super) first_ordinal: u64,
}

/// An engine that needs no more than the reads of a batch.
pub trait Placer: Sync {
    /// Working memory of one worker.
    type Scratch: Default + Send;

    /// What `--mode` calls it.
    const MODE: &str;
    /// The shortest read that it takes, in bases, but for those without any.
    const SHORTEST_READ: usize;

    /// Bases that are left out at the 5' and the 3' end of reads.
    fn trim(&self) -> [usize; 2];

    /// Places the reads of a batch and hands out their records.
    ///
    /// # Errors
    /// A read that the mode cannot report.
    fn place_batch(
        &self,
        batch: &Batch<'_>,
        scratch: &mut Self::Scratch,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError>;
}

impl<P: Placer> AlignmentEngine for P {
    type Scratch = P::Scratch;
    type Candidates = CopiedReads;
    type Model = ();

    const NEEDS_COHORTS: bool = false;
    const MANY_RECORDS: bool = true;

    fn scratch(&self) -> Result<P::Scratch, EngineError> {
        Ok(P::Scratch::default())
    }

    fn seed_extend(
        &self,
        _scratch: &mut P::Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<CopiedReads, EngineError> {
        Ok(CopiedReads::of(reads))
    }

    fn infer_cohort(&self, _candidates: &[CopiedReads]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        scratch: &mut P::Scratch,
        candidates: CopiedReads,
        _model: Option<&()>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let take = |read| checked(read, self.trim(), P::SHORTEST_READ, P::MODE);
        let reads = candidates.reads().map(take).collect::<Result<_, _>>()?;
        let (pairs, first_ordinal) = (candidates.pairs(), ordinals.first_single);
        self.place_batch(&Batch { reads, pairs, first_ordinal }, scratch, sink)
    }

    fn held_bytes(&self, candidates: &CopiedReads) -> u64 {
        candidates.held_bytes()
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ + self.trim().iter().sum::<usize>()
    }
}
