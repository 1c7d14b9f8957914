//! An engine as ingest drives it: cohort by cohort, or batch by batch.

use std::convert::Infallible;
use std::marker::PhantomData;

use super::trace::IngestTrace;
use crate::engine::{
    BatchEngine, CohortEngine, EngineError, EngineReads, Ordinals, RecordSink, SeededBatch,
};

/// A [`CohortEngine`], or a [`BatchEngine`] in [`Batches`].
pub trait Aligner: Sync {
    /// Working memory of one worker.
    type Scratch: Send;
    /// The engine, if it works by cohorts.
    type ByCohorts: CohortEngine<Scratch = Self::Scratch>;

    /// The engine, if pairs wait for what it learns of their cohort.
    fn by_cohorts(&self) -> Option<&Self::ByCohorts>;

    /// Working memory for a new worker.
    ///
    /// # Errors
    /// When the engine cannot allocate it.
    fn scratch(&self) -> Result<Self::Scratch, EngineError>;

    /// Aligns a batch that waits for no cohort; `first_read` is the ordinal of its first read.
    ///
    /// # Errors
    /// When the engine refuses the batch.
    fn align(
        &self,
        scratch: &mut Self::Scratch,
        reads: &EngineReads<'_>,
        first_read: u64,
        trace: &IngestTrace,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError>;

    /// Longest read that the engine searches for, in bases.
    fn longest_read_bases(&self) -> usize;
}

impl<E: CohortEngine> Aligner for E {
    type Scratch = E::Scratch;
    type ByCohorts = E;

    fn by_cohorts(&self) -> Option<&E> {
        Some(self)
    }

    fn scratch(&self) -> Result<E::Scratch, EngineError> {
        CohortEngine::scratch(self)
    }

    fn align(
        &self,
        scratch: &mut E::Scratch,
        reads: &EngineReads<'_>,
        first_read: u64,
        trace: &IngestTrace,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let candidates = trace.seed.time(|| self.seed_extend(scratch, reads))?;
        let ordinals = Ordinals { first_pair: 0, first_single: first_read };
        let seeded = SeededBatch { reads, candidates, model: None, ordinals };
        trace.emit.time(|| self.emit(scratch, seeded, sink))
    }

    fn longest_read_bases(&self) -> usize {
        CohortEngine::longest_read_bases(self)
    }
}

/// An engine that places each batch by itself.
#[derive(Debug)]
pub struct Batches<E>(pub E);

impl<E: BatchEngine> Aligner for Batches<E> {
    type Scratch = E::Scratch;
    type ByCohorts = NoCohorts<E::Scratch>;

    fn by_cohorts(&self) -> Option<&Self::ByCohorts> {
        None
    }

    fn scratch(&self) -> Result<E::Scratch, EngineError> {
        self.0.scratch()
    }

    fn align(
        &self,
        scratch: &mut E::Scratch,
        reads: &EngineReads<'_>,
        first_read: u64,
        trace: &IngestTrace,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        trace.emit.time(|| self.0.align(scratch, reads, first_read, sink))
    }

    fn longest_read_bases(&self) -> usize {
        self.0.longest_read_bases()
    }
}

/// No engine that works by cohorts: there is no value of it.
pub struct NoCohorts<S> {
    never: Infallible,
    scratch: PhantomData<fn() -> S>,
}

impl<S: Send> CohortEngine for NoCohorts<S> {
    type Scratch = S;
    type Candidates = Infallible;
    type Model = Infallible;

    fn scratch(&self) -> Result<S, EngineError> {
        match self.never {}
    }

    fn seed_extend(&self, _: &mut S, _: &EngineReads<'_>) -> Result<Infallible, EngineError> {
        match self.never {}
    }

    fn infer_cohort(&self, _: &[Infallible]) -> Result<Infallible, EngineError> {
        match self.never {}
    }

    fn emit(
        &self,
        _: &mut S,
        _: SeededBatch<'_, Self>,
        _: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        match self.never {}
    }

    fn held_bytes(&self, _: &Infallible) -> u64 {
        match self.never {}
    }

    fn longest_read_bases(&self) -> usize {
        match self.never {}
    }
}
