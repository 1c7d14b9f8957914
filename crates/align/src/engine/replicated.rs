//! Several copies of one engine, each with its index on other NUMA nodes.
//!
//! A worker reads the copy that its slot has, or the nearest one (`Plan::group_here`). Candidates
//! hold coordinates and never pointers into an index, so which copy served a batch cannot be seen
//! in any record.

use seqloom_runtime::placement::Plan;

use super::{BatchEngine, CohortEngine, EngineError, EngineReads, RecordSink, SeededBatch};

/// One engine in as many copies as there are groups of NUMA nodes.
#[derive(Debug)]
pub struct Replicated<E> {
    first: E,
    others: Vec<E>,
    plan: Plan,
}

impl<E> Replicated<E> {
    /// The copies of a plan's groups, in the order of the groups.
    pub fn new(first: E, others: Vec<E>, plan: Plan) -> Self {
        Self { first, others, plan }
    }

    /// The copy for the calling thread.
    fn here(&self) -> &E {
        if self.others.is_empty() {
            return &self.first;
        }
        let group = self.plan.group_here();
        group.checked_sub(1).and_then(|at| self.others.get(at)).unwrap_or(&self.first)
    }
}

impl<E: CohortEngine> CohortEngine for Replicated<E> {
    type Scratch = E::Scratch;
    type Candidates = E::Candidates;
    type Model = E::Model;

    fn scratch(&self) -> Result<E::Scratch, EngineError> {
        self.here().scratch()
    }

    fn seed_extend(
        &self,
        scratch: &mut E::Scratch,
        reads: &EngineReads<'_>,
    ) -> Result<E::Candidates, EngineError> {
        self.here().seed_extend(scratch, reads)
    }

    fn infer_cohort(&self, candidates: &[E::Candidates]) -> Result<E::Model, EngineError> {
        self.here().infer_cohort(candidates)
    }

    fn emit(
        &self,
        scratch: &mut E::Scratch,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let SeededBatch { reads, candidates, model, ordinals } = seeded;
        let seeded = SeededBatch { reads, candidates, model, ordinals };
        self.here().emit(scratch, seeded, sink)
    }

    fn held_bytes(&self, candidates: &E::Candidates) -> u64 {
        self.first.held_bytes(candidates)
    }

    fn longest_read_bases(&self) -> usize {
        self.first.longest_read_bases()
    }
}

impl<E: BatchEngine> BatchEngine for Replicated<E> {
    type Scratch = E::Scratch;

    fn scratch(&self) -> Result<E::Scratch, EngineError> {
        self.here().scratch()
    }

    fn align(
        &self,
        scratch: &mut E::Scratch,
        reads: &EngineReads<'_>,
        first_read: u64,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        self.here().align(scratch, reads, first_read, sink)
    }

    fn longest_read_bases(&self) -> usize {
        self.first.longest_read_bases()
    }
}
